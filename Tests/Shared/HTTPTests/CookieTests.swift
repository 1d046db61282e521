// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Testing

@Suite("Cookies (RFC 6265bis, NB-7)")
struct CookieTests {
    private let now = Instant(seconds: 1_700_000_000)

    struct Row: Sendable, CustomTestStringConvertible {
        let set: String
        let from: String
        let to: String
        let sent: Bool
        var testDescription: String { "\(set) | \(from) → \(to): \(sent)" }
    }

    @Test(
        "Which cookies go where",
        arguments: [
            Row(set: "a=1", from: "https://mail.example.org/x/y", to: "https://mail.example.org/x/z", sent: true),
            Row(set: "a=1", from: "https://mail.example.org/x/y", to: "https://mail.example.org/other", sent: false),
            Row(set: "a=1; Path=/", from: "https://mail.example.org/x", to: "https://example.org/", sent: false),
            Row(
                set: "a=1; Path=/", from: "https://mail.example.org/x", to: "https://sub.mail.example.org/", sent: false
            ),
            Row(
                set: "a=1; Path=/; Domain=example.org", from: "https://mail.example.org/", to: "https://x.example.org/",
                sent: true),
            Row(
                set: "a=1; Path=/; Domain=org", from: "https://mail.example.org/", to: "https://mail.example.org/",
                sent: false),
            Row(set: "a=1; Path=/; Domain=co.uk", from: "https://a.co.uk/", to: "https://b.co.uk/", sent: false),
            Row(
                set: "a=1; Path=/; Domain=evil.org", from: "https://mail.example.org/", to: "https://evil.org/",
                sent: false),
            Row(set: "a=1; Path=/; Secure", from: "https://h.example/", to: "http://h.example/", sent: false),
            Row(set: "a=1; Path=/; Secure", from: "http://h.example/", to: "https://h.example/", sent: false),
            Row(set: "a=1; Path=/; Max-Age=0", from: "https://h.example/", to: "https://h.example/", sent: false),
            Row(
                set: "a=1; Path=/; Expires=Wed, 21 Oct 2015 07:28:00 GMT", from: "https://h.example/",
                to: "https://h.example/", sent: false),
            Row(
                set: "a=1; Path=/; Expires=Wed, 21-Oct-2037 07:28:00 GMT", from: "https://h.example/",
                to: "https://h.example/", sent: true),
            Row(set: "__Host-a=1; Path=/", from: "https://h.example/", to: "https://h.example/", sent: false),
            Row(set: "__Host-a=1; Path=/; Secure", from: "https://h.example/", to: "https://h.example/", sent: true),
            Row(set: "__Secure-a=1; Path=/", from: "https://h.example/", to: "https://h.example/", sent: false),
            Row(set: "a=1; Path=/foo", from: "https://h.example/", to: "https://h.example/foobar", sent: false),
            Row(set: "a=1; Path=/foo", from: "https://h.example/", to: "https://h.example/foo/bar", sent: true),
            Row(set: "=1; Path=/", from: "https://h.example/", to: "https://h.example/", sent: false),
            Row(set: "novalue", from: "https://h.example/", to: "https://h.example/", sent: false),
            Row(
                set: "a=1; Domain=127.0.0.1; Path=/", from: "http://127.0.0.1:8901/", to: "http://127.0.0.1:8902/",
                sent: true),
            Row(set: "a=1; Path=/; Secure", from: "http://localhost:8901/", to: "http://localhost:8901/", sent: true),
        ])
    func rows(row: Row) throws {
        let jar = CookieJar()
        jar.store(["Set-Cookie": row.set], from: try WebURL(row.from), now: now)
        #expect((jar.header(for: try WebURL(row.to), now: now) != nil) == row.sent)
    }

    @Test("Several Set-Cookie fields with commas in dates stay apart, longer paths first")
    func order() throws {
        let jar = CookieJar()
        let url = try WebURL("https://h.example/a/b/c")
        var fields = HTTPFields()
        fields.append("Set-Cookie", "x=1; Path=/; Expires=Wed, 21 Oct 2037 07:28:00 GMT")
        fields.append("Set-Cookie", "y=2; Path=/a/b; Expires=Wed, 21 Oct 2037 07:28:00 GMT")
        jar.store(fields, from: url, now: now)
        #expect(jar.header(for: url, now: now) == "y=2; x=1")
    }

    @Test(
        "A separator counts as a byte, whatever mark follows it: nothing that is sent reads as two cookies",
        arguments: [
            ("a=1;\u{301}x=2; Path=/", "a=1"), ("a=1;\u{338}b=2; Path=/", "a=1"), ("a\u{301}=1; Path=/", "a\u{301}=1"),
            ("a=\u{338}1; Path=/", "a=\u{338}1"), ("a=1\u{37E}b=2; Path=/", "a=1\u{37E}b=2"),
            ("a=1; Path=/;\u{301}; Domain=evil.org", nil), ("__Host-\u{301}a=1; Path=/", nil),
        ] as [(String, String?)])
    func separators(set: String, sent: String?) throws {
        let (jar, url) = (CookieJar(), try WebURL("https://mail.example.org/"))
        jar.store(["Set-Cookie": set], from: url, now: now)
        let header = jar.header(for: url, now: now)
        #expect(header.map { Array($0.utf8) } == sent.map { Array($0.utf8) })
    }

    @Test("An archive brings back session cookies too, and a later one replaces its elder")
    func archive() throws {
        let url = try WebURL("https://h.example/")
        let jar = CookieJar()
        jar.store(["Set-Cookie": "sessionid=old; Path=/; HttpOnly"], from: url, now: now)
        jar.store(["Set-Cookie": "sessionid=new; Path=/; HttpOnly"], from: url, now: now)
        let copy = CookieJar()
        copy.restore(jar.archive)
        #expect(copy.header(for: url, now: now) == "sessionid=new")
    }

    @Test("A plain-http answer cannot overwrite a Secure cookie")
    func overwrite() throws {
        let jar = CookieJar()
        jar.store(["Set-Cookie": "s=good; Path=/; Secure"], from: try WebURL("https://h.example/"), now: now)
        jar.store(["Set-Cookie": "s=evil; Path=/"], from: try WebURL("http://h.example/"), now: now)
        #expect(jar.header(for: try WebURL("https://h.example/"), now: now) == "s=good")
    }

    @Test("A flood of cookies stays bounded")
    func flood() throws {
        let jar = CookieJar()
        let url = try WebURL("https://h.example/")
        for index in 0..<200 { jar.store(["Set-Cookie": "c\(index)=1; Path=/"], from: url, now: now) }
        #expect(jar.cookies(for: url, now: now).count == 50)
    }
}
