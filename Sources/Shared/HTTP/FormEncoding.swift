// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// Percent-encoding and `application/x-www-form-urlencoded` (WHATWG URL section 5).
public enum PercentEncoding {
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// One byte as an escape.
    package static func escape(_ byte: UInt8) -> String {
        let digits = Array("0123456789ABCDEF")
        return "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
    }

    /// The text with everything but unreserved characters (RFC 3986 section 2.3) encoded.
    public static func encode(_ text: some StringProtocol) -> String {
        var out: [UInt8] = []
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in text.utf8 {
            if isUnreserved(byte) {
                out.append(byte)
            } else {
                out += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// The decoded text, or nil when an escape is broken or the result is not UTF-8.
    public static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        let isPlain = text.utf8.allSatisfy { $0 != UInt8(ascii: "%") && !(plusIsSpace && $0 == UInt8(ascii: "+")) }
        if isPlain { return String(text) }
        return decodeBytes(text, plusIsSpace: plusIsSpace).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// The decoded bytes, or nil when an escape is broken.
    package static func decodeBytes(_ text: some StringProtocol, plusIsSpace: Bool = false) -> [UInt8]? {
        var out: [UInt8] = []
        let bytes = Array(text.utf8)
        var index = 0
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "%"):
                guard index + 2 < bytes.count, let high = Hex.digit(bytes[index + 1]),
                    let low = Hex.digit(bytes[index + 2])
                else { return nil }
                out.append(high << 4 | low)
                index += 3
            case UInt8(ascii: "+") where plusIsSpace:
                out.append(0x20)
                index += 1
            default:
                out.append(bytes[index])
                index += 1
            }
        }
        return out
    }
}

/// Names and values of a query or form, in order, names possibly repeated.
public struct FormFields: Sendable, ExpressibleByDictionaryLiteral {
    /// The pairs in order.
    public private(set) var pairs: [(name: String, value: String)] = []

    /// No pairs.
    public init() {}
    /// Pairs in this order.
    public init(dictionaryLiteral elements: (String, String)...) { pairs = elements.map { ($0.0, $0.1) } }

    /// The pairs of an encoded text; a pair that does not decode makes the whole text nil.
    public init?(decoding text: some StringProtocol) {
        for part in text.parts(at: "&") {  // guard: form-by-bytes
            let halves = part.parts(at: "=", most: 2, keepingEmpty: true)
            guard let name = PercentEncoding.decode(halves[0], plusIsSpace: true),
                let value = PercentEncoding.decode(halves.count > 1 ? halves[1] : "", plusIsSpace: true)
            else { return nil }
            pairs.append((name, value))
        }
    }

    /// The first value of `name`.
    public subscript(name: String) -> String? { pairs.first { $0.name == name }?.value }

    /// Every value of `name`.
    public func values(_ name: String) -> [String] { pairs.filter { $0.name == name }.map(\.value) }

    /// Adds a pair at the end.
    public mutating func append(_ name: String, _ value: String) { pairs.append((name, value)) }

    /// The encoded text.
    public var encoded: String {
        pairs.map { PercentEncoding.encode($0.name) + "=" + PercentEncoding.encode($0.value) }.joined(separator: "&")
    }
}
