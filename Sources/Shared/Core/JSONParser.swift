// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// A strict JSON reader (RFC 8259): one value, no duplicate keys, bounded depth, exact integers, valid UTF-8.
///
/// Duplicate keys are refused because two readers that pick different ones is a way around a check.
public struct JSONParser {
    /// How deep arrays and objects may nest.
    public static let maximumDepth = 128

    private let bytes: [UInt8]
    private var position = 0

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Reads exactly one value.
    ///
    /// - Throws: `NacreError` with code `json.malformed` that names line and column.
    public static func parse(_ bytes: some Collection<UInt8>) throws(NacreError) -> JSONValue {
        var parser = JSONParser(Array(bytes))
        parser.skipSpace()
        let value = try parser.value(depth: 0)
        parser.skipSpace()
        guard parser.position == parser.bytes.count else { throw parser.fault("text after the value") }
        return value
    }

    /// Reads exactly one value.
    public static func parse(_ text: some StringProtocol) throws(NacreError) -> JSONValue {
        try parse(Array(text.utf8))
    }

    private func fault(_ reason: String) -> NacreError {
        var line = 1
        var column = 1
        for byte in bytes.prefix(position) {
            if byte == UInt8(ascii: "\n") { (line, column) = (line + 1, 1) } else { column += 1 }
        }
        return NacreError("json.malformed", "This is not JSON: \(reason) at line \(line), column \(column).")
    }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func value(depth: Int) throws(NacreError) -> JSONValue {
        guard depth < Self.maximumDepth else { throw fault("nesting deeper than \(Self.maximumDepth)") }
        switch current {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case nil: throw fault("the text ends where a value should be")
        default: return try number()
        }
    }

    private mutating func word(_ text: String, _ value: JSONValue) throws(NacreError) -> JSONValue {
        guard bytes[position...].starts(with: text.utf8) else { throw fault("an unknown word") }
        position += text.utf8.count
        return value
    }

    private mutating func object(depth: Int) throws(NacreError) -> JSONValue {
        position += 1
        var members: [String: JSONValue] = [:]
        skipSpace()
        if current == UInt8(ascii: "}") {
            position += 1
            return .object(members)
        }
        while true {
            skipSpace()
            guard current == UInt8(ascii: "\"") else { throw fault("a key must be a string in double quotes") }
            let key = try string()
            guard members[key] == nil else { throw fault("the key \"\(key)\" a second time") }
            skipSpace()
            guard current == UInt8(ascii: ":") else { throw fault("no colon after the key") }
            position += 1
            skipSpace()
            members[key] = try value(depth: depth + 1)
            skipSpace()
            switch current {
            case UInt8(ascii: ","): position += 1
            case UInt8(ascii: "}"):
                position += 1
                return .object(members)
            default: throw fault("neither a comma nor a closing brace")
            }
        }
    }

    private mutating func array(depth: Int) throws(NacreError) -> JSONValue {
        position += 1
        var items: [JSONValue] = []
        skipSpace()
        if current == UInt8(ascii: "]") {
            position += 1
            return .array(items)
        }
        while true {
            skipSpace()
            items.append(try value(depth: depth + 1))
            skipSpace()
            switch current {
            case UInt8(ascii: ","): position += 1
            case UInt8(ascii: "]"):
                position += 1
                return .array(items)
            default: throw fault("neither a comma nor a closing bracket")
            }
        }
    }

    private mutating func number() throws(NacreError) -> JSONValue {
        let start = position
        if current == UInt8(ascii: "-") { position += 1 }
        let first = position
        digits()
        guard position > first else { throw fault("an unknown word") }
        guard position - first == 1 || bytes[first] != UInt8(ascii: "0") else { throw fault("a leading zero") }
        var isWhole = true
        if current == UInt8(ascii: ".") {
            isWhole = false
            position += 1
            try someDigits()
        }
        if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
            isWhole = false
            position += 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position += 1 }
            try someDigits()
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isWhole, let value = Int64(text) { return .integer(value) }
        guard let value = Double(text), value.isFinite else { throw fault("a number that is too large") }
        return .number(value)
    }

    private mutating func digits() {
        while let byte = current, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
    }

    private mutating func someDigits() throws(NacreError) {
        let start = position
        digits()
        guard position > start else { throw fault("a number without digits") }
    }

    private mutating func string() throws(NacreError) -> String {
        position += 1
        // Most strings hold nothing that must be replaced: they are taken whole.
        let start = position
        position = bytes.withUnsafeBufferPointer { bytes in
            var place = start
            while place < bytes.count, bytes[place] >= 0x20, bytes[place] != 0x22, bytes[place] != 0x5C { place += 1 }
            return place
        }
        var text = Array(bytes[start..<position])
        while let byte = current {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let result = String(validating: text, as: UTF8.self) else {
                    throw fault("text that is not UTF-8")
                }
                return result
            case UInt8(ascii: "\\"): try escape(into: &text)
            case 0..<0x20: throw fault("a control character inside a string")
            default: text.append(byte)
            }
        }
        throw fault("a string without an end")
    }

    private mutating func escape(into text: inout [UInt8]) throws(NacreError) {
        guard let byte = current else { throw fault("a string without an end") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            var code = try fourDigits()
            if code >= 0xD800, code < 0xDC00 {
                guard bytes[position...].starts(with: "\\u".utf8) else { throw fault("half of a surrogate pair") }
                position += 2
                let low = try fourDigits()
                guard low >= 0xDC00, low < 0xE000 else { throw fault("half of a surrogate pair") }
                code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(code) else { throw fault("half of a surrogate pair") }
            text.append(contentsOf: String(Character(scalar)).utf8)
        default: throw fault("an unknown escape")
        }
    }

    private mutating func fourDigits() throws(NacreError) -> UInt32 {
        guard position + 4 <= bytes.count,
            let pair = Hex.decode(String(decoding: bytes[position..<position + 4], as: UTF8.self)), pair.count == 2
        else { throw fault("an escape without four digits") }
        position += 4
        return UInt32(pair[0]) << 8 | UInt32(pair[1])
    }
}
