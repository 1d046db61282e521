// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import COpenSSL
public import NacreCore

// Blocks signed as RSASSA-PKCS1-v1_5 signs them (RFC 8017 section 8.2), but without the prefix that names a hash function:
// what the update format of the source system holds. Only for that format; everything else uses `signature(of:)`.

extension PrivateKey {
    /// A new RSA key of 2048 bits with the exponent 65537. Takes up to a second: not on the cooperative pool.
    ///
    /// - Throws: `crypto.generate`.
    public static func generateRSA2048() throws(NacreError) -> PrivateKey {
        let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048) == 1,
            EVP_PKEY_generate(context, &key) == 1, let key
        else { throw opensslFault("crypto.generate", "Making an RSA key failed; try again.") }
        return try PrivateKey(adopting: key)
    }

    /// `payload` in a type-1 block (`00 01 FF … 00 payload`), raised to the private exponent. The same payload gives the
    /// same block.
    ///
    /// - Throws: `crypto.sign` for another kind of key, or a payload longer than the key minus 11 bytes.
    public func rsaBlock(of payload: [UInt8]) throws(NacreError) -> [UInt8] {
        let context = EVP_PKEY_CTX_new_from_pkey(nil, handle.pointer, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var length = Int(EVP_PKEY_get_size(handle.pointer))
        var out = [UInt8](repeating: 0, count: max(length, 1))
        guard algorithm == .rs256, EVP_PKEY_sign_init(context) == 1,
            EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1,
            EVP_PKEY_sign(context, &out, &length, payload, payload.count) == 1
        else { throw opensslFault("crypto.sign", "Signing failed; this needs an RSA key.") }
        return Array(out.prefix(length))
    }

    /// The key in PKCS #1 PEM form (`BEGIN RSA PRIVATE KEY`): a secret. Nil for another kind of key.
    public var pkcs1PEM: String? {
        algorithm == .rs256 ? withMemoryBIO { nacre_rsa_write_pkcs1($0, handle.pointer, 1) } : nil
    }
}

extension PublicKey {
    /// The RSA key of a PEM text in PKCS #1 form (`BEGIN RSA PUBLIC KEY`).
    ///
    /// - Throws: `crypto.pem`, `crypto.key_kind`.
    public init(pkcs1PEM pem: String) throws(NacreError) {
        let bytes = Array(pem.utf8)
        // OpenSSL's decoder would take the other form as well.
        guard pem.contains("-----BEGIN RSA PUBLIC KEY-----"), let key = nacre_rsa_public_pkcs1(bytes, bytes.count)
        else {
            throw opensslFault(
                "crypto.pem", "This is not an RSA public key in PKCS #1 form; it begins with BEGIN RSA PUBLIC KEY.")
        }
        self.init(handle: try KeyHandle(adopting: key))
    }

    /// The key in PKCS #1 PEM form (`BEGIN RSA PUBLIC KEY`). Nil for another kind of key.
    public var pkcs1PEM: String? {
        algorithm == .rs256 ? withMemoryBIO { nacre_rsa_write_pkcs1($0, handle.pointer, 0) } : nil
    }

    /// Bits of an RSA key's modulus; nil for another kind.
    public var rsaBits: Int? { algorithm == .rs256 ? Int(EVP_PKEY_get_bits(handle.pointer)) : nil }

    /// The payload of a block that the private half made, or nil.
    ///
    /// Strict (RFC 8017 section 9.2): exactly as long as the key, `00 01`, at least eight `FF` and nothing else before the
    /// `00`. A reader that skips any of this takes blocks that nobody signed.
    public func payload(ofBlock block: [UInt8]) -> [UInt8]? {
        let size = Int(EVP_PKEY_get_size(handle.pointer))
        guard algorithm == .rs256, block.count == size else { return nil }
        let context = EVP_PKEY_CTX_new_from_pkey(nil, handle.pointer, nil)
        defer { EVP_PKEY_CTX_free(context) }
        defer { ERR_clear_error() }
        var plain = [UInt8](repeating: 0, count: size)
        var length = size
        // Unpadded here, so that the rules below are the only ones.
        guard EVP_PKEY_verify_recover_init(context) == 1, EVP_PKEY_CTX_set_rsa_padding(context, RSA_NO_PADDING) == 1,
            EVP_PKEY_verify_recover(context, &plain, &length, block, block.count) == 1, length == size
        else { return nil }
        guard plain[0] == 0, plain[1] == 1 else { return nil }  // guard: rsa-block-type
        guard let end = plain[2...].firstIndex(where: { $0 != 0xFF }), plain[end] == 0 else {  // guard: rsa-block-fill
            return nil
        }
        guard end - 2 >= 8 else { return nil }  // guard: rsa-block-fill-length
        return Array(plain[(end + 1)...])
    }
}
