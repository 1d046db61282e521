// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreJOSE

/// A key set that is read holds keys that survive being written and read again, and nothing private.
enum KeySetProperty {
    private static func isExact(_ key: JSONWebKey) -> Bool { key.key.algorithm != .rs256 }

    /// Whether the bytes are a set with at least one usable key.
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        guard let set = try? JSONWebKeySet(parsing: bytes) else { return false }
        try demand(set.keys.count <= JSONWebKeySet.maximumCount, "\(set.keys.count) keys")
        let written = set.json
        for key in written["keys"]?.array ?? [] {
            let names = Set((key.object ?? [:]).keys)
            try demand(
                names.isSubset(of: ["kty", "crv", "x", "y", "n", "e", "kid", "alg", "use"]), "writes \(names.sorted())")
        }
        guard let again = try? JSONWebKeySet(parsing: written.bytes) else { throw Violation("not read again") }
        // OpenSSL tries an RSA modulus with a random witness: one with a middling factor is refused now and then.
        let isWhole = again.keys.count == set.keys.count
        let numbers = set.keys.map(\.key.components)
        try demand(again.keys.allSatisfy { numbers.contains($0.key.components) }, "another key when read again")
        try demand(
            again.keys.count(where: isExact) == set.keys.count(where: isExact), "a key fewer when read again")
        try demand(!isWhole || again.json.bytes == written.bytes, "other names when read again")
        for key in set.keys {
            // No key takes an empty signature or one of zeros.
            try demand(!key.key.isValid([], for: bytes), "takes an empty signature")
            try demand(!key.key.isValid([UInt8](repeating: 0, count: 64), for: bytes), "takes a signature of zeros")
        }
        return !set.keys.isEmpty
    }
}

/// Claims that are read have sane times and survive being written and read again.
enum ClaimsProperty {
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        guard let claims = try? JWTClaims(parsing: bytes) else { return false }
        let year10000 = Instant(seconds: 253_402_300_800)
        for time in [claims.expiry, claims.notBefore, claims.issuedAt, claims.authenticationTime] {
            guard let time else { continue }
            try demand(time >= Instant(seconds: 0) && time < year10000, "a time outside the calendar: \(time)")
        }
        let named: [(String, Bool)] = [
            ("exp", claims.expiry != nil), ("nbf", claims.notBefore != nil), ("iat", claims.issuedAt != nil),
            ("auth_time", claims.authenticationTime != nil), ("iss", claims.issuer != nil),
            ("sub", claims.subject != nil), ("nonce", claims.nonce != nil), ("sid", claims.sessionID != nil),
            ("azp", claims.authorizedParty != nil), ("acr", claims.authenticationContext != nil),
        ]
        for (name, isRead) in named where (claims.members[name] != nil) != isRead {
            throw Violation("\"\(name)\" is there and not read")
        }
        let written = JSONValue.object(claims.members).bytes
        guard let again = try? JWTClaims(parsing: written) else { throw Violation("not read again") }
        try demand(again.expiry == claims.expiry && again.audience == claims.audience, "other claims when read again")
        try demand(JSONValue.object(again.members).bytes == written, "other members when read again")
        return true
    }
}
