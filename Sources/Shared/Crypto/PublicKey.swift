// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import COpenSSL
public import NacreCore

/// A key that verifies signatures.
public struct PublicKey: Sendable {
    let handle: KeyHandle

    init(handle: KeyHandle) { self.handle = handle }

    /// The one algorithm this key verifies.
    public var algorithm: SignatureAlgorithm { handle.algorithm }

    /// The key of a PEM text (`BEGIN PUBLIC KEY`, RFC 5280 SubjectPublicKeyInfo).
    ///
    /// - Throws: `crypto.pem`, or `crypto.key_kind` for a kind or size that is not used.
    public init(pem: String) throws(NacreError) {
        let key = withTextBIO(pem) { PEM_read_bio_PUBKEY($0, nil, { _, _, _, _ in -1 }, nil) }
        guard let key else {
            throw opensslFault("crypto.pem", "This is not a public key in PEM form; it begins with BEGIN PUBLIC KEY.")
        }
        handle = try KeyHandle(adopting: key)
    }

    /// The key of these numbers.
    ///
    /// - Throws: `crypto.key_components` when they make no key, such as a point that is not on the curve.
    public init(_ components: PublicKeyComponents) throws(NacreError) {
        let fault = NacreError("crypto.key_components", "These numbers make no public key.")
        defer { ERR_clear_error() }
        let key: OpaquePointer?
        switch components {
        case .ed25519(let bytes):
            key = bytes.count == 32 ? EVP_PKEY_new_raw_public_key_ex(nil, "ED25519", nil, bytes, bytes.count) : nil
        case .p256(let x, let y):
            let point = [4] + x + y
            key = x.count == 32 && y.count == 32 ? nacre_p256_public(point, point.count) : nil
        case .rsa(let modulus, let exponent):
            guard modulus.count <= 1024, !exponent.isEmpty, exponent.count <= 8 else { throw fault }
            key = nacre_rsa_public(modulus, Int32(modulus.count), exponent, Int32(exponent.count))
        }
        guard let key else { throw fault }
        handle = try KeyHandle(adopting: key)
        let check = EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
        defer { EVP_PKEY_CTX_free(check) }
        guard EVP_PKEY_public_check(check) == 1 else { throw fault }
    }

    /// The key in PEM form (`BEGIN PUBLIC KEY`).
    public var pem: String { withMemoryBIO { PEM_write_bio_PUBKEY($0, handle.pointer) } ?? "" }

    /// The numbers of the key.
    public var components: PublicKeyComponents {
        switch algorithm {
        case .edDSA:
            var bytes = [UInt8](repeating: 0, count: 32)
            var count = 32
            EVP_PKEY_get_raw_public_key(handle.pointer, &bytes, &count)
            return .ed25519(bytes)
        case .es256: return .p256(x: number("qx", width: 32), y: number("qy", width: 32))
        case .rs256: return .rsa(modulus: number("n"), exponent: number("e"))
        }
    }

    private func number(_ name: String, width: Int? = nil) -> [UInt8] {
        var value: OpaquePointer?
        EVP_PKEY_get_bn_param(handle.pointer, name, &value)
        defer { BN_free(value) }
        var out = [UInt8](repeating: 0, count: width ?? Int((BN_num_bits(value) + 7) / 8))
        BN_bn2binpad(value, &out, Int32(out.count))
        return out
    }
}
