// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import Testing

@Suite("JSON")
struct JSONTests {
    @Test(
        "A document survives reading and writing",
        arguments: [
            #"{"a":[1,-2,true,false,null,"x"],"b":{"c":9007199254740993}}"#, #""\u00e9\n\t""#, "[]", "{}", "0",
            #"[0.5]"#,
            #"{"emoji":"\ud83d\ude00"}"#,
        ])
    func roundTrip(text: String) throws {
        let value = try JSONParser.parse(text)
        #expect(try JSONParser.parse(value.text) == value)
    }

    @Test(
        "What is not exactly one JSON value is refused with a place",
        arguments: [
            "", "{", "[1,]", "{\"a\":1,}", "{a:1}", "01", "1.", "1e", "+1", "nul", "\"\u{1}\"", "\"\\x\"",
            "\"\\ud800\"", "1 2",
            "{\"a\":1,\"a\":2}", "[1 2]", "\"open", "{\"a\" 1}", "1e999",
        ])
    func malformed(text: String) {
        let error = #expect(throws: NacreError.self) { try JSONParser.parse(text) }
        #expect(error?.code == "json.malformed")
        #expect(error?.message.contains("line") == true)
    }

    @Test("Duplicate keys are refused, because two readers could pick different ones")
    func duplicateKeys() {
        #expect(throws: NacreError.self) { try JSONParser.parse(#"{"admin":false,"admin":true}"#) }
    }

    @Test("Deep nesting is refused instead of exhausting the stack")
    func depth() {
        let text = String(repeating: "[", count: 100_000)
        #expect(throws: NacreError.self) { try JSONParser.parse(text) }
    }

    @Test("Invalid UTF-8 is refused")
    func invalidUTF8() {
        #expect(throws: NacreError.self) { try JSONParser.parse([0x22, 0xC3, 0x28, 0x22] as [UInt8]) }
    }

    @Test("Random bytes never trap, and what parses is stable")
    func fuzz() {
        var generator = SplitMix(state: 7)
        let alphabet = Array("{}[]\",:0123456789.eE+-truefalsn\\u dé\n".utf8)
        for _ in 0..<20_000 {
            let count = Int(generator.next() % 24)
            let bytes = (0..<count).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] }
            guard let value = try? JSONParser.parse(bytes) else { continue }
            #expect((try? JSONParser.parse(value.bytes)) == value)
        }
    }
}

/// A small repeatable generator for fuzzing.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
