// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import Testing

@testable import MessagesBackend

@Suite("Texts, moments and cursors")
struct TextTests {
    @Test(
        "A moment is RFC 3339 in UTC",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1_767_600_720_123, "2026-01-05T08:12:00.123Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_000, "2024-02-29T23:59:59.000Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"), (-2_208_988_800_000, "1900-01-01T00:00:00.000Z"),
        ])
    func moments(milliseconds: Int64, text: String) {
        #expect(Instant(milliseconds: milliseconds).timestamp == text)
    }

    @Test(
        "A snippet is what the message itself says",
        arguments: [
            ("> Are you coming?\n\nYes.", nil, "Yes."), ("> only\n> a quote", nil, "> only > a quote"),
            ("two\n\n  lines\tand tabs", nil, "two lines and tabs"),
            (nil, "<style>p{color:red}</style><p>Hello &amp; <b>good</b>&nbsp;day</p>", "Hello & good day"),
            (nil, "<!-- hidden > text -->shown<script>if (a<b) hidden()</script>", "shown"),
            (nil, "<p>cut <!-- never closed", "cut"), (nil, "1 &lt; 2 &unknown; <", "1 < 2 &unknown;"),
            (nil, nil, ""), ("", "<p>only html</p>", ""),
        ] as [(String?, String?, String)])
    func snippets(text: String?, html: String?, expected: String) {
        #expect(Snippet.make(text: text, html: html) == expected)
    }

    @Test("A snippet ends after 160 characters, within a word if need be")
    func longSnippet() {
        #expect(Snippet.make(text: String(repeating: "ab ", count: 500), html: nil).count <= 160)
        #expect(Snippet.make(text: String(repeating: "x", count: 5000), html: nil).count == 160)
    }

    @Test(
        "Search folds case, accents and vowel points",
        arguments: [
            ("Été", "ete"), ("CŒUR", "coeur"), ("e\u{301}", "e"), ("שָׁלוֹם", "שלום"), ("Straße", "strasse"),
            ("l’île", "l'ile"), ("灯塔", "灯塔"),
        ])
    func folding(text: String, folded: String) { #expect(SearchText.folded(text) == folded) }

    @Test("A cursor survives the journey through its text", arguments: [(0, 1), (1_767_600_720_000, 42), (-5, 7)])
    func cursors(lastAt: Int64, row: Int64) throws {
        let cursor = Cursor(lastAt: lastAt, row: row)
        #expect(try Cursor(cursor.text) == cursor)
    }

    @Test(
        "An address is read as people write it",
        arguments: [
            ("Ann <ann@example.org>", "Ann", "ann@example.org"), ("ann@example.org", "", "ann@example.org"),
            ("\"x@y.test\" <z@y.test>", "x@y.test", "z@y.test"),
            ("<b>Parcel</b> Service <p@y.test>", "<b>Parcel</b> Service", "p@y.test"),
        ])
    func addresses(text: String, name: String, email: String) {
        #expect(Address(text) == Address(name: name, email: email))
    }
}
