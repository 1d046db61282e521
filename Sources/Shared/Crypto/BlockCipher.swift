// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import COpenSSL
public import NacreCore

/// AES-128 in CBC mode with PKCS #7 padding (NIST SP 800-38A, RFC 5652 section 6.3), piece by piece.
///
/// It proves nothing: what comes out must be checked against a signed digest. Only for the update format of the source
/// system; everything else is sealed with `SealingKey`.
public struct AES128CBC: ~Copyable {
    /// Bytes of a key, of an initialisation vector and of a block.
    public static let blockSize = 16

    /// Which way.
    public enum Direction: Sendable {
        case encrypt, decrypt
    }

    private let context: OpaquePointer

    /// - Throws: `crypto.key` when key or vector are not 16 bytes.
    public init(_ direction: Direction, key: [UInt8], vector: [UInt8]) throws(NacreError) {
        guard key.count == Self.blockSize, vector.count == Self.blockSize else {
            throw NacreError("crypto.key", "An AES-128 key and its vector have 16 bytes each.")
        }
        guard let context = EVP_CIPHER_CTX_new() else {
            throw opensslFault("crypto.cipher", "There is no memory for a cipher.")
        }
        guard EVP_CipherInit_ex2(context, EVP_aes_128_cbc(), key, vector, direction == .encrypt ? 1 : 0, nil) == 1
        else {
            EVP_CIPHER_CTX_free(context)
            throw opensslFault("crypto.cipher", "The cipher could not be set up.")
        }
        self.context = context
    }

    deinit { EVP_CIPHER_CTX_free(context) }

    /// The next bytes, and what they gave.
    public mutating func update(_ bytes: [UInt8]) throws(NacreError) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: bytes.count + Self.blockSize)
        var length: Int32 = 0
        guard EVP_CipherUpdate(context, &out, &length, bytes, Int32(clamping: bytes.count)) == 1 else {
            throw opensslFault("crypto.cipher", "The bytes could not be taken.")
        }
        return Array(out.prefix(Int(length)))
    }

    /// The last block.
    ///
    /// - Throws: `crypto.cipher` when the bytes were not whole blocks or their padding is wrong.
    public consuming func finish() throws(NacreError) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: Self.blockSize)
        var length: Int32 = 0
        guard EVP_CipherFinal_ex(context, &out, &length) == 1 else {
            throw opensslFault("crypto.cipher", "The encrypted bytes do not end as they should.")
        }
        return Array(out.prefix(Int(length)))
    }
}
