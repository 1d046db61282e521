// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreSessions

/// The cookies that bind round trips to the browser that began them: one for each, so that nothing is shared between
/// round trips that overlap, and none of them can be lost or diverted by another's answer (HO-2, HO-4).
///
/// Over https their names have the prefix `__Host-` (RFC 6265bis section 4.1.3.2), under which a browser takes no cookie
/// from another host of the same site: nobody can plant a round trip of their own.
struct RoundTripCookies: Sendable {
    /// So many round trips may be open in one browser; more push out the oldest.
    static let maximum = 20

    let secure: Bool

    private var prefix: String { (secure ? "__Host-" : "") + "nacre_rt_" }  // guard: round-trip-prefix

    /// The cookie of the round trip that goes under `state`.
    ///
    /// Its name tells only what the address of the callback tells as well; the secret is its value.
    func cookie(_ state: String) -> SessionCookie {
        named(prefix + Hex.encode(SHA256.hash(state).prefix(8)))  // guard: round-trip-name
    }

    private func isWellFormed(_ name: String) -> Bool {
        guard name.hasPrefix(prefix), name.utf8.count == prefix.utf8.count + 16 else { return false }
        return name.utf8.dropFirst(prefix.utf8.count).allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
        }
    }

    private func named(_ name: String) -> SessionCookie {
        SessionCookie(name: name, path: secure ? "/" : "/api/v1.0/", secure: secure)
    }

    /// The `Set-Cookie` values that begin the round trip `state` under `secret`, and end the oldest that `fields` carry
    /// beyond the maximum, so that a browser whose ways are never finished does not carry more and more.
    func begin(_ state: String, secret: String, carrying fields: [String]) -> [String] {
        let new = cookie(state)
        var open: [String] = []
        for (name, _) in CookieFields.pairs(fields) where isWellFormed(name) && name != new.name {
            if !open.contains(name) { open.append(name) }
        }
        // Browsers send the cookie that is oldest first (RFC 6265 section 5.4).
        let surplus = open.dropLast(Self.maximum - 1)  // guard: round-trip-surplus
        return [new.set(secret, age: PendingStore.lifetime)] + surplus.map { named($0).removal }
    }
}
