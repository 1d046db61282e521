// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import COpenSSL

/// SHA-256 (FIPS 180-4).
public enum SHA256 {
    /// How many bytes a digest has.
    public static let length = 32

    /// The digest of these bytes.
    public static func hash(_ bytes: some Collection<UInt8>) -> [UInt8] { digest(bytes, EVP_sha256()) }

    /// The digest of this text's UTF-8.
    public static func hash(_ text: some StringProtocol) -> [UInt8] { hash(Array(text.utf8)) }
}

/// SHA-512 (FIPS 180-4).
public enum SHA512 {
    /// The digest of these bytes.
    public static func hash(_ bytes: some Collection<UInt8>) -> [UInt8] { digest(bytes, EVP_sha512()) }
}

/// SHA-1 (FIPS 180-4), for the WebSocket handshake alone (RFC 6455 section 4.2.2), where it protects nothing.
package enum SHA1 {
    /// The digest of UTF-8 text: 20 bytes.
    package static func hash(_ text: some StringProtocol) -> [UInt8] { digest(Array(text.utf8), EVP_sha1()) }
}

private func digest(_ bytes: some Collection<UInt8>, _ kind: OpaquePointer?) -> [UInt8] {
    var out = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var length: UInt32 = 0
    let input = Array(bytes)
    // Fails only when memory is gone; a wrong digest must never be returned.
    precondition(EVP_Digest(input, input.count, &out, &length, kind, nil) == 1, "OpenSSL cannot digest")
    return Array(out.prefix(Int(length)))
}

/// SHA-256 of bytes that arrive in pieces.
public struct SHA256Hasher: ~Copyable {
    private let context: OpaquePointer

    /// A digest of nothing yet.
    public init() {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
            preconditionFailure("OpenSSL cannot digest")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    /// Takes the next bytes.
    public mutating func update(_ bytes: [UInt8]) {
        precondition(EVP_DigestUpdate(context, bytes, bytes.count) == 1, "OpenSSL cannot digest")
    }

    /// The digest of everything taken.
    public consuming func finish() -> [UInt8] {
        var out = [UInt8](repeating: 0, count: SHA256.length)
        precondition(EVP_DigestFinal_ex(context, &out, nil) == 1, "OpenSSL cannot digest")
        return out
    }
}
