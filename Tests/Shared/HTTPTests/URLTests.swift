// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Testing

@Suite("URLs and origins")
struct URLTests {
    @Test(
        "Absolute URLs split without decoding",
        arguments: [
            ("https://Mail.Example.org", "https://mail.example.org", "/"),
            ("http://localhost:8901/a%2Fb?c=d#e", "http://localhost:8901", "/a%2Fb?c=d"),
            ("https://h.example:443?x", "https://h.example", "/?x"), ("http://[::1]:80/", "http://[::1]", "/"),
        ])
    func split(text: String, origin: String, target: String) throws {
        let url = try WebURL(text)
        #expect(url.origin.description == origin)
        #expect(url.target == target)
    }

    @Test(
        "Malformed URLs are refused",
        arguments: [
            "mail.example.org", "ftp://h/", "https://", "https://user@h/", "https://h:0/", "https://h:99999/",
            "https://h:x/",
            "https://a b/", "https://h/\n", "https://h\\evil/", "https://é.example/",
        ])
    func malformed(text: String) { #expect(throws: NacreError.self) { try WebURL(text) } }

    @Test(
        "Same site follows the public suffix list and the scheme",
        arguments: [
            ("https://app.mail.example.org", "https://mail.example.org", true),
            ("https://localhost", "https://localhost:8901", true),
            ("https://a.github.io", "https://b.github.io", false),
            ("https://a.example.org", "http://a.example.org", false),
            ("https://a.example.org", "https://example.com", false), ("https://127.0.0.1", "https://127.0.0.2", false),
        ])
    func sameSite(a: String, b: String, same: Bool) throws {
        #expect(try PublicSuffix.isSameSite(Origin(a), Origin(b)) == same)
    }

    @Test("Forms round-trip any text", arguments: ["a b", "é&=+%", "", "?#/\\", "日本"])
    func forms(text: String) {
        let encoded = FormFields(dictionaryLiteral: ("k", text)).encoded
        #expect(FormFields(decoding: encoded)?["k"] == text)
    }

    @Test("Broken escapes are refused", arguments: ["%", "%1", "%zz", "%ff"])
    func brokenEscapes(text: String) { #expect(PercentEncoding.decode(text) == nil) }
}
