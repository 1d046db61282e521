// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreJOSE

/// A token that verifies is one that was signed: nothing but the published examples passes with the published keys.
enum JWSProperty {
    private struct Example: Sendable {
        let key: JWSVerificationKey
        /// Header, dot and payload, as signed.
        let signed: String
    }

    private static let claims =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

    /// RFC 7515 appendix A.1 and A.3, RFC 8037 appendix A.4.
    private static let examples: [Example] = [
        Example(
            key: .sharedSecret(
                bytes("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow")),
            signed: "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\(claims)"),
        Example(
            key: key(
                .p256(
                    x: bytes("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"),
                    y: bytes("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"))),
            signed: "eyJhbGciOiJFUzI1NiJ9.\(claims)"),
        Example(
            key: key(.ed25519(bytes("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"))),
            signed: "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"),
    ]

    private static func bytes(_ text: String) -> [UInt8] { Base64URL.decode(text) ?? [] }

    private static func key(_ components: PublicKeyComponents) -> JWSVerificationKey {
        guard let key = try? PublicKey(components) else { preconditionFailure("a published key is one") }
        return .publicKey(key)
    }

    /// Whether the bytes are a token that one of the keys verifies.
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        guard let token = String(validating: bytes, as: UTF8.self), let jws = try? JWS(parsing: token) else {
            return false
        }
        try demand(bytes.allSatisfy { $0 > 32 && $0 < 127 }, "taken with a byte outside base64url")
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        try demand(parts.count == 3, "taken with \(parts.count) parts")
        for part in parts {
            let decoded = Base64URL.decode(part) ?? []
            try demand(Base64URL.encode(decoded) == part, "\(part) is a second spelling of its bytes")
        }
        var verified = 0
        for example in examples {
            guard let payload = try? jws.verifiedPayload(with: example.key) else { continue }
            verified += 1
            try demand(parts[0] + "." + parts[1] == example.signed, "verifies, although nobody signed it")
            try demand(Base64URL.encode(payload) == parts[1], "gives another payload than the signed one")
        }
        try demand(verified < 2, "verifies with two keys")
        return verified == 1
    }
}

/// Any payload, signed, verifies with its key alone, and with no byte of the token changed.
enum SigningProperty {
    private static let keys: [PrivateKey] = (0..<2).map { index in
        guard let key = try? PrivateKey(ed25519Seed: [UInt8](repeating: UInt8(index), count: 32)) else {
            preconditionFailure("32 bytes are a key")
        }
        return key
    }

    @Sendable static func check(_ payload: [UInt8]) throws(Violation) -> Bool {
        let (own, stranger) = (
            JWSVerificationKey.publicKey(keys[0].publicKey), JWSVerificationKey.publicKey(keys[1].publicKey)
        )
        // The payload is the key's name as well: it must not get out of the header.
        guard let token = try? JWS.sign(payload, with: keys[0], keyID: String(decoding: payload, as: UTF8.self)) else {
            throw Violation("not signed")
        }
        guard token.utf8.count <= JWS.maximumLength else { return false }
        guard let jws = try? JWS(parsing: token) else { throw Violation("signed, but not read") }
        let name = jws.header.keyID ?? ""
        try demand(name.utf8.elementsEqual(String(decoding: payload, as: UTF8.self).utf8), "another key name: \(name)")
        try demand((try? jws.verifiedPayload(with: own)) == payload, "not verified by its own key")
        try demand((try? jws.verifiedPayload(with: stranger)) == nil, "verified by a stranger's key")
        var changed = Array(token.utf8)
        let place = fingerprint(payload) % changed.count
        changed[place] ^= UInt8(1 << (fingerprint(payload) / changed.count % 7))
        let text = String(decoding: changed, as: UTF8.self)
        let passed = try? JWS(parsing: text).verifiedPayload(with: own)
        try demand(passed == nil, "verified although byte \(place) was changed")
        return true
    }
}
