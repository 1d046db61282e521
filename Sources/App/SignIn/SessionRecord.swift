// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreWire

/// The session as it rests in the secret store: cookies, CSRF token and the last known profile.
struct SessionRecord {
    /// The API origin it belongs to; a session of another server is none.
    let origin: String
    let cookies: JSONValue
    let csrf: String?
    let profile: UserProfile?
    /// The sign-in it came from, so that a kill between storing and clearing the attempt is understood.
    let attempt: String?
    /// The `flow` of that sign-in, by which the browser knows which session to sign out (HO-7).
    let handoff: String?

    var bytes: [UInt8] {
        JSONValue.object([
            "version": 1, "origin": .string(origin), "cookies": cookies, "csrf": JSONValue(csrf),
            "profile": profile?.json ?? .null, "attempt": JSONValue(attempt), "handoff": JSONValue(handoff),
        ]).bytes
    }

    init(
        origin: String, cookies: JSONValue, csrf: String?, profile: UserProfile?, attempt: String?, handoff: String?
    ) {
        self.origin = origin
        self.cookies = cookies
        self.csrf = csrf
        self.profile = profile
        self.attempt = attempt
        self.handoff = handoff
    }

    /// Nil when it is not a record of this version.
    init?(parsing bytes: [UInt8]) {
        guard let value = try? JSONParser.parse(bytes), value["version"] == 1, let origin = value["origin"]?.string,
            let cookies = value["cookies"], cookies.array != nil
        else { return nil }
        self.origin = origin
        self.cookies = cookies
        csrf = value["csrf"]?.string
        profile = value["profile"].flatMap { try? UserProfile(json: $0) }
        attempt = value["attempt"]?.string
        handoff = value["handoff"]?.string
    }
}
