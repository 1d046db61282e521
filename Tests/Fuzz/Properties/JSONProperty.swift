// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// A JSON text that is taken has no raw control character, and its value survives being written and read again.
enum JSONProperty {
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        guard let value = try? JSONParser.parse(bytes) else { return false }
        try demand(bytes.allSatisfy { $0 >= 32 || [9, 10, 13].contains($0) }, "taken with a raw control character")
        try demand(String(validating: bytes, as: UTF8.self) != nil, "taken although no UTF-8")
        let written = value.bytes
        let again: JSONValue
        do { again = try JSONParser.parse(written) } catch { throw Violation("not read again: \(error)") }
        try demand(again.bytes == written, "another text when written twice: \(again.text) for \(value.text)")
        try demand(same(again, value), "another value when read again: \(again.text)")
        return true
    }

    /// Equal, scalar by scalar; a whole number may come back as an integer.
    private static func same(_ a: JSONValue, _ b: JSONValue) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let x), .bool(let y)): x == y
        case (.string(let x), .string(let y)): x.utf8.elementsEqual(y.utf8)
        case (.integer(let x), .integer(let y)): x == y
        case (.integer(let x), .number(let y)), (.number(let y), .integer(let x)): Double(x) == y
        case (.number(let x), .number(let y)): x == y
        case (.array(let x), .array(let y)): x.count == y.count && zip(x, y).allSatisfy { same($0, $1) }
        case (.object(let x), .object(let y)):
            x.count == y.count && x.allSatisfy { key, value in y[key].map { same($0, value) } ?? false }
        default: false
        }
    }
}
