// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import COpenSSL
public import NacreCore

/// A 256-bit key that seals small values: AES-256-GCM with associated data.
///
/// A sealed box is one version byte (1), 12 random bytes of nonce, the ciphertext and 16 bytes of tag. One key may seal
/// about 2³² values before random nonces become a risk (NIST SP 800-38D section 8.3).
public struct SealingKey: Sendable {
    /// How many bytes a key has.
    public static let length = 32
    /// How much longer a sealed box is than what it holds.
    public static let overhead = 1 + nonceLength + tagLength

    private static let version: UInt8 = 1
    private static let nonceLength = 12
    private static let tagLength = 16
    private let key: [UInt8]

    /// The key of these 32 bytes.
    ///
    /// - Throws: `crypto.key` when the length differs.
    public init(_ bytes: some Collection<UInt8>) throws(NacreError) {
        guard bytes.count == Self.length else {
            throw NacreError("crypto.key", "A sealing key has \(Self.length) bytes, not \(bytes.count).")
        }
        key = Array(bytes)
    }

    /// A new random key; store `bytes` where secrets live.
    public init(random: any RandomSource) { key = random.bytes(Self.length) }

    /// The bytes of the key, for a secret store.
    public var bytes: [UInt8] { key }

    /// A sealed box of `plaintext`, bound to `context` (which the box does not hold and `open` must repeat).
    public func seal(
        _ plaintext: some Collection<UInt8>, context: some Collection<UInt8>, random: any RandomSource = SystemRandom()
    ) throws(NacreError) -> [UInt8] {
        let nonce = random.bytes(Self.nonceLength)
        let input = Array(plaintext)
        let associated = Array(context)
        var output = [UInt8](repeating: 0, count: input.count)
        var tag = [UInt8](repeating: 0, count: Self.tagLength)
        let cipher = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(cipher) }
        var count: Int32 = 0
        guard input.count <= Int(Int32.max), associated.count <= Int(Int32.max),
            EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), nil, key, nonce) == 1,
            associated.isEmpty || EVP_EncryptUpdate(cipher, nil, &count, associated, Int32(associated.count)) == 1,
            input.isEmpty || EVP_EncryptUpdate(cipher, &output, &count, input, Int32(input.count)) == 1,
            EVP_EncryptFinal_ex(cipher, &tag, &count) == 1,
            EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagLength), &tag) == 1
        else { throw opensslFault("crypto.seal", "Sealing failed; try again.") }
        return [Self.version] + nonce + output + tag
    }

    /// What `box` holds, if this key and `context` sealed it.
    ///
    /// - Throws: `crypto.open` when the box was altered, belongs to another context or key, or has another version.
    public func open(
        _ box: some Collection<UInt8>, context: some Collection<UInt8>
    ) throws(NacreError) -> [UInt8] {
        let bytes = Array(box)
        let fault = NacreError(
            "crypto.open", "A sealed value does not open: it was altered, or it belongs to another key or place.")
        guard bytes.count >= Self.overhead, bytes[0] == Self.version else { throw fault }
        let nonce = Array(bytes[1..<1 + Self.nonceLength])
        let input = Array(bytes[(1 + Self.nonceLength)..<(bytes.count - Self.tagLength)])
        var tag = Array(bytes.suffix(Self.tagLength))
        let associated = Array(context)
        var output = [UInt8](repeating: 0, count: max(input.count, 1))
        var rest = [UInt8](repeating: 0, count: 16)
        let cipher = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(cipher) }
        var count: Int32 = 0
        guard input.count <= Int(Int32.max), associated.count <= Int(Int32.max),
            EVP_DecryptInit_ex(cipher, EVP_aes_256_gcm(), nil, key, nonce) == 1,
            associated.isEmpty || EVP_DecryptUpdate(cipher, nil, &count, associated, Int32(associated.count)) == 1,
            input.isEmpty || EVP_DecryptUpdate(cipher, &output, &count, input, Int32(input.count)) == 1,
            EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagLength), &tag) == 1,
            EVP_DecryptFinal_ex(cipher, &rest, &count) == 1
        else {
            ERR_clear_error()
            throw fault
        }
        return Array(output.prefix(input.count))
    }
}
