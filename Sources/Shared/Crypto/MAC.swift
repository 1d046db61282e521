// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import COpenSSL
import NacreCore

/// HMAC with SHA-256 (RFC 2104).
public enum HMACSHA256 {
    /// The authentication code of `message` under `key`.
    public static func authenticate(_ message: some Collection<UInt8>, key: some Collection<UInt8>) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: SHA256.length)
        var length = 0
        let input = Array(message)
        // OpenSSL refuses a null key pointer; one zero byte is the same key as none (RFC 2104 pads with zeros).
        let secret = key.isEmpty ? [0] : Array(key)
        let done = EVP_Q_mac(
            nil, "HMAC", nil, "SHA256", nil, secret, secret.count, input, input.count, &out, out.count, &length)
        precondition(done != nil && length == out.count, "OpenSSL cannot authenticate")
        return out
    }

    /// Whether `code` authenticates `message` under `key`; constant time in the code.
    public static func isValid(
        _ code: some Collection<UInt8>, for message: some Collection<UInt8>, key: some Collection<UInt8>
    ) -> Bool {
        constantTimeEqual(authenticate(message, key: key), Array(code))
    }
}

/// HKDF with SHA-256 (RFC 5869): keys for separate purposes out of one secret.
public enum HKDFSHA256 {
    /// `count` bytes (at most 8160) for the purpose that `info` names.
    public static func derive(
        from secret: some Collection<UInt8>, salt: [UInt8] = [], info: some StringProtocol, count: Int = 32
    ) -> [UInt8] {
        derive(from: secret, salt: salt, infoBytes: Array(info.utf8), count: count)
    }

    /// `count` bytes (at most 8160) for the purpose that `infoBytes` names.
    public static func derive(
        from secret: some Collection<UInt8>, salt: [UInt8], infoBytes: [UInt8], count: Int
    ) -> [UInt8] {
        precondition((0...255 * SHA256.length).contains(count), "HKDF gives at most 8160 bytes")
        let extracted = HMACSHA256.authenticate(
            secret, key: salt.isEmpty ? [UInt8](repeating: 0, count: SHA256.length) : salt)
        var out: [UInt8] = []
        var block: [UInt8] = []
        var counter: UInt8 = 1
        while out.count < count {
            block = HMACSHA256.authenticate(block + infoBytes + [counter], key: extracted)
            out += block
            counter &+= 1
        }
        return Array(out.prefix(count))
    }
}
