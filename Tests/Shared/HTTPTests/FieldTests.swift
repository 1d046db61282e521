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
}
