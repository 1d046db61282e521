// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP
import Testing

@Suite("Fields")
struct FieldTests {
    @Test(
        "Lists are split and lower-cased by bytes, whatever Unicode would make of them",
        arguments: [
            ("Close, Upgrade", ["close", "upgrade"]), (" a ,,\tb", ["a", "b"]), ("", []),
            ("6.6.6.6\u{600}, 203.0.113.9", ["6.6.6.6\u{600}", "203.0.113.9"]), ("a,\u{301}b", ["a", "\u{301}b"]),
            ("chun\u{212A}ed", ["chun\u{212A}ed"]),
        ])
    func tokens(_ value: String, _ expected: [String]) {
        let found = (["X-List": value] as HTTPFields).tokens("x-list")
        #expect(found.map { Array($0.utf8) } == expected.map { Array($0.utf8) })
    }

    @Test(
        "The media type ends at the semicolon's byte",
        arguments: [
            ("Text/HTML; charset=utf-8", "text/html"), ("text/event-stream;\u{301}x", "text/event-stream"),
            (" application/json ", "application/json"), ("", ""), (";", ""), ("text/\u{212A}", "text/\u{212A}"),
        ])
    func mediaType(_ value: String, _ expected: String) {
        #expect(Array((["Content-Type": value] as HTTPFields).mediaType.utf8) == Array(expected.utf8))
        #expect(HTTPFields().mediaType.isEmpty)
    }

    @Test("A form is cut at the bytes of its signs, as every other reader of it does")
    func form() throws {
        let fields = try #require(FormFields(decoding: "a=1&\u{301}b=2&c\u{301}=\u{301}3&=4"))
        #expect(fields.pairs.map { Array($0.name.utf8) } == ["a", "\u{301}b", "c\u{301}", ""].map { Array($0.utf8) })
        #expect(fields.pairs.map { Array($0.value.utf8) } == ["1", "2", "\u{301}3", "4"].map { Array($0.utf8) })
    }

    @Test(
        "Names are equal when their lower-cased bytes are",
        arguments: [
            ("Content-Type", "content-type", true), ("a", "ab", false), ("K", "\u{212A}", false),
            ("\u{C9}", "\u{E9}", false), ("e\u{301}", "\u{E9}", false), ("@[`{", "@[`{", true), ("@", "`", false),
        ])
    func names(_ a: String, _ b: String, _ isEqual: Bool) {
        #expect(equalNames(a, b) == isEqual)
        #expect((Array(a.asciiLowercased.utf8) == Array(b.asciiLowercased.utf8)) == isEqual)
    }

    @Test("Parts keep or drop what is empty, and the last takes the rest")
    func parts() {
        #expect("a;;b;".parts(at: ";") == ["a", "b"])
        #expect("a;;b;".parts(at: ";", keepingEmpty: true) == ["a", "", "b", ""])
        #expect("a=b=c".parts(at: "=", most: 2, keepingEmpty: true) == ["a", "b=c"])
        #expect("".parts(at: ";", keepingEmpty: true) == [""])
    }
}
