// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Base64url without padding (RFC 4648 section 5), as PKCE, JOSE and our tokens use it.
public enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The text of these bytes, without padding.
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        String(decoding: encoded(bytes, alphabet: alphabet), as: UTF8.self)
    }

    /// The bytes of this text, or nil when it has padding, foreign characters, an impossible length or stray low bits.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? { decoded(text.utf8, alphabet: alphabet) }

    static func encoded(_ bytes: some Collection<UInt8>, alphabet: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity((bytes.count * 4 + 2) / 3)
        var buffer: UInt32 = 0
        var bits = 0
        for byte in bytes {
            buffer = (buffer << 8) | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                out.append(alphabet[Int((buffer >> UInt32(bits)) & 63)])
            }
        }
        if bits > 0 { out.append(alphabet[Int((buffer << UInt32(6 - bits)) & 63)]) }
        return out
    }

    static func decoded(_ text: some Collection<UInt8>, alphabet: [UInt8]) -> [UInt8]? {
        let count = text.count
        guard count % 4 != 1 else { return nil }
        guard let out = text.withContiguousStorageIfAvailable({ decoded($0, alphabet) }) else {
            return Array(text).withUnsafeBufferPointer { decoded($0, alphabet) }
        }
        return out
    }

    /// By a table and without bounds checks: bodies of many megabytes come by here.
    private static func decoded(_ text: UnsafeBufferPointer<UInt8>, _ alphabet: [UInt8]) -> [UInt8]? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { values in
            values.initialize(repeating: 255)
            for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
            var isCanonical = true
            let out = [UInt8](unsafeUninitializedCapacity: text.count * 3 / 4) { out, written in
                var buffer: UInt32 = 0
                var bits: UInt32 = 0
                var index = 0
                while index < text.count {
                    let value = values[Int(text[index])]
                    if value == 255 { break }
                    index += 1
                    buffer = (buffer << 6) | UInt32(value)
                    bits += 6
                    if bits >= 8 {
                        bits -= 8
                        out[written] = UInt8(truncatingIfNeeded: buffer >> bits)
                        written += 1
                    }
                }
                // Left-over bits must be zero, or one value would have several spellings.
                isCanonical = index == text.count && buffer & ((1 << bits) - 1) == 0
            }
            return isCanonical ? out : nil
        }
    }
}

/// Base64 with padding (RFC 4648 section 4), as HTTP Basic and PEM use it.
public enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The text of these bytes, padded.
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        var out = Base64URL.encoded(bytes, alphabet: alphabet)
        while out.count % 4 != 0 { out.append(UInt8(ascii: "=")) }
        return String(decoding: out, as: UTF8.self)
    }

    /// The bytes of this padded text, or nil when it is not canonical base64.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let bytes = Array(text.utf8)
        guard bytes.count % 4 == 0 else { return nil }
        var end = bytes.count
        while end > 0, bytes.count - end < 2, bytes[end - 1] == UInt8(ascii: "=") { end -= 1 }
        return Base64URL.decoded(bytes[..<end], alphabet: alphabet)
    }
}

/// Lower-case hexadecimal.
public enum Hex {
    /// Two digits per byte.
    public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var out: [UInt8] = []
        for byte in bytes {
            out.append(digits[Int(byte >> 4)])
            out.append(digits[Int(byte & 15)])
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// The bytes of this text (either case), or nil.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let bytes = Array(text.utf8)
        guard bytes.count % 2 == 0 else { return nil }
        var out: [UInt8] = []
        for index in stride(from: 0, to: bytes.count, by: 2) {
            guard let high = digit(bytes[index]), let low = digit(bytes[index + 1]) else { return nil }
            out.append(high << 4 | low)
        }
        return out
    }

    /// The value of one digit, or nil.
    package static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// Whether two secrets are equal, in time that depends on their lengths only.
public func constantTimeEqual(_ a: some Collection<UInt8>, _ b: some Collection<UInt8>) -> Bool {
    guard a.count == b.count else { return false }
    var difference: UInt8 = 0
    for (x, y) in zip(a, b) { difference |= x ^ y }
    return difference == 0
}
