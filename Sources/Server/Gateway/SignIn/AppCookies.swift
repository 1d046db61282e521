// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreSessions

/// The cookies by which a system browser can sign out the sessions it has handed to the app of one scheme, and do nothing
/// else (HO-7).
///
/// Several people may use one app, and a person several accounts: each hand-off whose app has sent a `flow` has a
/// cookie of its own, so that signing out one session never reaches another's. Beside it stands one for the newest hand-off
/// of the scheme, which is all that an app can ask for that does not say which session it means.
struct AppCookies: Sendable {
    /// So many hand-offs of a scheme are remembered in one browser; more push out the oldest.
    static let maximum = 20

    let scheme: String
    let secure: Bool

    /// No scheme holds an underscore, so that no two cookies have one name.
    private var prefix: String { "nacre_app_\(scheme)_" }

    /// The cookie of the session whose sign-in went under `flow`; that of the newest hand-off where there is none.
    func cookie(of flow: String?) -> SessionCookie {
        guard let flow else { return named("nacre_app_\(scheme)") }
        return named(prefix + Hex.encode(SHA256.hash(flow).prefix(8)))  // guard: app-cookie-of-session
    }

    private func named(_ name: String) -> SessionCookie {
        SessionCookie(name: name, path: "/api/v1.0/", secure: secure)
    }

    /// The `Set-Cookie` values of a hand-off under `flow`, which end the oldest that `fields` carry beyond the maximum.
    func set(_ handle: String, flow: String?, age: Duration, carrying fields: [String]) -> [String] {
        let newest = cookie(of: nil).set(handle, age: age)
        guard let flow else { return [newest] }
        let own = cookie(of: flow)
        var known: [String] = []
        for (name, _) in CookieFields.pairs(fields) where isWellFormed(name) && name != own.name {
            if !known.contains(name) { known.append(name) }
        }
        // Browsers send the cookie that is oldest first (RFC 6265 section 5.4).
        let surplus = known.dropLast(Self.maximum - 1)  // guard: app-cookie-surplus
        return [newest, own.set(handle, age: age)] + surplus.map { named($0).removal }
    }

    /// The `Set-Cookie` values that take away what a sign-out under `flow` has ended.
    func removals(of flow: String?, carrying fields: [String]) -> [String] {
        let (own, newest) = (cookie(of: flow), cookie(of: nil))
        guard flow != nil, let handle = own.handle(in: fields) else { return [own.removal] }
        // The newest hand-off's cookie goes with it only where it is the same session's.
        return newest.handle(in: fields) == handle ? [own.removal, newest.removal] : [own.removal]
    }

    private func isWellFormed(_ name: String) -> Bool {
        guard name.hasPrefix(prefix), name.utf8.count == prefix.utf8.count + 16 else { return false }
        return name.utf8.dropFirst(prefix.utf8.count).allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
        }
    }
}
