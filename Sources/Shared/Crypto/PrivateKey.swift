// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import COpenSSL
public import NacreCore

/// A key that signs. Its text forms are secrets.
public struct PrivateKey: Sendable {
    let handle: KeyHandle

    /// The one algorithm this key signs with.
    public var algorithm: SignatureAlgorithm { handle.algorithm }

    /// A new key from OpenSSL's generator. RSA (3072 bits) takes up to a second: not on the cooperative pool.
    ///
    /// - Throws: `crypto.generate`.
    public static func generate(_ algorithm: SignatureAlgorithm) throws(NacreError) -> PrivateKey {
        let kind =
            switch algorithm {
            case .es256: "EC"
            case .rs256: "RSA"
            case .edDSA: "ED25519"
            }
        let context = EVP_PKEY_CTX_new_from_name(nil, kind, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1,
            algorithm != .es256 || EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
            algorithm != .rs256 || EVP_PKEY_CTX_set_rsa_keygen_bits(context, 3072) == 1,
            EVP_PKEY_generate(context, &key) == 1, let key
        else { throw opensslFault("crypto.generate", "Making a \(algorithm.rawValue) key failed; try again.") }
        return PrivateKey(handle: try KeyHandle(adopting: key))
    }

    private init(handle: KeyHandle) { self.handle = handle }

    init(adopting key: OpaquePointer) throws(NacreError) { handle = try KeyHandle(adopting: key) }

    /// The key of a PEM text (`BEGIN PRIVATE KEY`, PKCS #8 without a passphrase; older forms are read too).
    ///
    /// - Throws: `crypto.pem`, or `crypto.key_kind` for a kind or size that is not used.
    public init(pem: String) throws(NacreError) {
        // The callback answers the question for a passphrase with a refusal; OpenSSL would ask on the terminal.
        let key = withTextBIO(pem) { PEM_read_bio_PrivateKey($0, nil, { _, _, _, _ in -1 }, nil) }
        guard let key else {
            throw opensslFault(
                "crypto.pem", "This is not a private key in PEM form without a passphrase (BEGIN PRIVATE KEY).")
        }
        handle = try KeyHandle(adopting: key)
    }

    /// The Ed25519 key of this 32-byte seed (RFC 8032 section 5.1.5).
    ///
    /// - Throws: `crypto.key` when the length differs.
    public init(ed25519Seed seed: [UInt8]) throws(NacreError) {
        guard seed.count == 32, let key = EVP_PKEY_new_raw_private_key_ex(nil, "ED25519", nil, seed, seed.count) else {
            throw opensslFault("crypto.key", "An Ed25519 seed has 32 bytes, not \(seed.count).")
        }
        handle = try KeyHandle(adopting: key)
    }

    /// The key in PEM form (PKCS #8, `BEGIN PRIVATE KEY`, no passphrase): a secret.
    public var pem: String {
        withMemoryBIO { PEM_write_bio_PKCS8PrivateKey($0, handle.pointer, nil, nil, 0, nil, nil) } ?? ""
    }

    /// The key that verifies what this one signs.
    public var publicKey: PublicKey {
        // The private handle would do; going through the numbers makes sure that nothing private can leak from it.
        guard let key = try? PublicKey(PublicKey(handle: handle).components) else {
            preconditionFailure("a private key has a public half")
        }
        return key
    }
}
