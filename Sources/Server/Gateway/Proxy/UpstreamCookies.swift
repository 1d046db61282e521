// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP
import NacreSessions

/// Which cookies are the gateway's own: the upstream neither sees nor sets them.
struct OwnCookies: Sendable {
    /// The session's cookie.
    let session: String
    /// The cookie of the CSRF style, which is ours once there is a session.
    let token: String?

    /// Whether a cookie of this name opens a session or a round trip.
    func contains(_ name: String) -> Bool {
        // guard: own-cookies
        name == session || name.hasPrefix("nacre_") || name.hasPrefix("__Host-nacre_")
    }

    /// The one `Cookie` field for the upstream, or nil.
    func outgoing(_ fields: [String], hasSession: Bool) -> String? {
        CookieFields.text(fields) { contains($0) || (hasSession && $0 == token) }
    }

    /// The upstream's `Set-Cookie` values that may pass.
    func incoming(_ values: [String], hasSession: Bool) -> [String] {
        values.filter { value in
            // In bytes, as browsers read it: with what follows it a sign may be part of a longer `Character`.
            let pair = value.utf8.prefix { $0 != UInt8(ascii: ";") }  // guard: upstream-cookie-bytes
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")) else { return false }
            let name = Substring(pair[..<equals]).trimmingSpaces()
            // Browsers keep "=sessionid=x" as a cookie without a name and send it as "sessionid=x".
            guard !name.isEmpty else { return false }  // guard: nameless-cookie
            return !contains(name) && !(hasSession && name == token)
        }
    }
}
