// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import COpenSSL
import CSodium
import NacreCore

/// The signature algorithms of this toolkit, by their JOSE names (RFC 7518 section 3.1, RFC 8037). The kind of a key
/// decides its algorithm; a message never does.
public enum SignatureAlgorithm: String, Sendable, CaseIterable {
    /// ECDSA on P-256 with SHA-256; a signature is 64 bytes, r then s.
    case es256 = "ES256"
    /// RSASSA-PKCS1-v1_5 with SHA-256, keys of 2048 to 8192 bits.
    case rs256 = "RS256"
    /// Ed25519.
    case edDSA = "EdDSA"
}

/// Owns one OpenSSL key and frees it.
final class KeyHandle: Sendable {
    // An EVP_PKEY is reference counted and immutable once made; OpenSSL allows concurrent signing and verifying with it.
    nonisolated(unsafe) let pointer: OpaquePointer
    let algorithm: SignatureAlgorithm

    /// Takes ownership of `pointer`, and refuses kinds and sizes that this toolkit does not use.
    init(adopting pointer: OpaquePointer) throws(NacreError) {
        guard let algorithm = Self.algorithm(of: pointer) else {
            EVP_PKEY_free(pointer)
            throw NacreError(
                "crypto.key_kind", "Only P-256, Ed25519 and RSA keys of 2048 to 8192 bits are used; make another key.")
        }
        self.pointer = pointer
        self.algorithm = algorithm
    }

    deinit { EVP_PKEY_free(pointer) }

    /// OpenSSL takes points of small order too (RFC 8032 section 8.9 leaves it open): such a key takes one signature
    /// for many messages, and nobody has its private half.
    private static func isInMainSubgroup(_ key: OpaquePointer) -> Bool {
        var bytes = [UInt8](repeating: 0, count: 32)
        var count = 32
        guard EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1, count == 32 else { return false }
        return crypto_core_ed25519_is_valid_point(bytes) == 1  // guard: crypto-small-order
    }

    private static func algorithm(of key: OpaquePointer) -> SignatureAlgorithm? {
        if EVP_PKEY_is_a(key, "ED25519") == 1 { return isInMainSubgroup(key) ? .edDSA : nil }
        if EVP_PKEY_is_a(key, "RSA") == 1 {
            return (2048...8192).contains(EVP_PKEY_get_bits(key)) ? .rs256 : nil  // guard: crypto-key-size
        }
        guard EVP_PKEY_is_a(key, "EC") == 1 else { return nil }
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 else { return nil }
        let group = String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return group == "prime256v1" || group == "P-256" ? .es256 : nil
    }
}

/// The numbers that make a public key, as a JWK writes them: big-endian, coordinates of P-256 always 32 bytes.
public enum PublicKeyComponents: Hashable, Sendable {
    case p256(x: [UInt8], y: [UInt8])
    case rsa(modulus: [UInt8], exponent: [UInt8])
    case ed25519([UInt8])
}
