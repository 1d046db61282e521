// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Testing

/// The whole behaviour of the jar, rule by rule; section numbers are RFC 6265bis's.
@Suite("NB-7: the cookie jar, rule by rule")
struct CookieTableTests {
    private static let now = Instant(seconds: 1_700_000_000)  // 2023-11-14T22:13:20Z
    fileprivate static let site = "https://mail.example.org/a/b"

    struct Row: Sendable, CustomTestStringConvertible {
        let rule: String
        let set: String
        let from: String
        let to: String
        /// The Cookie field that results.
        let sent: String?
        var testDescription: String { "\(rule): \(set)" }

        init(
            _ rule: String, _ set: String, from: String = CookieTableTests.site, to: String = CookieTableTests.site,
            _ sent: String?
        ) {
            self.rule = rule
            self.set = set
            self.from = from
            self.to = to
            self.sent = sent
        }
    }

    private static let parsing = [
        Row("5.6 name and value are trimmed", " a  =  1  ; Path=/", "a=1"),
        Row("5.6 the value may hold an equals sign", "a=b=c==; Path=/", "a=b=c=="),
        Row("5.6 quotes are part of the value", "a=\"1 2\"; Path=/", "a=\"1 2\""),
        Row("5.6 an empty value is a value", "a=; Path=/", "a="),
        Row("5.6 a control character refuses all of it", "a=1\u{1}; Path=/", nil),
        Row("5.6 a tab is allowed", "a=1\t2; Path=/", "a=1\t2"),
        Row("5.6 a newline refuses all of it", "a=1\nb=2; Path=/", nil),
        Row("a cookie without a name reads as another one when sent: refused", "=a=1; Path=/", nil),
        Row(
            "5.6 4096 bytes are the most", "a=" + String(repeating: "x", count: 4095) + "; Path=/",
            "a=" + String(repeating: "x", count: 4095)),
        Row("5.6 4097 are too many", "a=" + String(repeating: "x", count: 4096) + "; Path=/", nil),
        Row(
            "5.6 an attribute beyond 1024 bytes is ignored",
            "a=1; Path=/; Domain=" + String(repeating: "x", count: 1025), "a=1"),
        Row("5.6 attribute names have no case", "a=1; pATH=/; sECURE; hTTPoNLY", "a=1"),
        Row("5.6 unknown attributes are ignored", "a=1; Path=/; Priority=High; Partitioned; Whatever=1", "a=1"),
    ]
    private static let expiry = [
        Row("5.6.1 commas in Expires", "a=1; Path=/; Expires=Wed, 21 Oct 2037 07:28:00 GMT", "a=1"),
        Row("5.6.1 a date that is over", "a=1; Path=/; Expires=Wed, 21 Oct 2015 07:28:00 GMT", nil),
        Row("5.1.1 the old asctime form", "a=1; Path=/; Expires=Wed Oct 21 07:28:00 2037", "a=1"),
        Row("5.1.1 dashes and two digits of a year", "a=1; Path=/; Expires=Wednesday, 21-Oct-69 07:28:00 GMT", "a=1"),
        Row(
            "5.1.1 two digits from 70 are of the last century", "a=1; Path=/; Expires=Wed, 21-Oct-70 07:28:00 GMT", nil),
        Row(
            "5.1.1 one digit of a day, a month in full, time first", "a=1; Path=/; Expires=07:28:00 1 october 2037",
            "a=1"),
        Row("5.1.1 letters behind the seconds", "a=1; Path=/; Expires=21 Oct 2037 07:28:00GMT+1", "a=1"),
        Row("5.1.1 no such day: the attribute is ignored", "a=1; Path=/; Expires=Mon, 31 Feb 2015 07:28:00 GMT", "a=1"),
        Row("5.1.1 a leap day", "a=1; Path=/; Expires=Sat, 29 Feb 2020 07:28:00 GMT", nil),
        Row("5.1.1 no leap day in 1900", "a=1; Path=/; Expires=29 Feb 1900 07:28:00 GMT", "a=1"),
        Row("5.1.1 hour 24: ignored", "a=1; Path=/; Expires=21 Oct 2015 24:00:00 GMT", "a=1"),
        Row("5.1.1 a year before 1601: ignored", "a=1; Path=/; Expires=21 Oct 1600 00:00:00 GMT", "a=1"),
        Row("5.1.1 no date at all: ignored", "a=1; Path=/; Expires=tomorrow", "a=1"),
        Row(
            "5.1.1 three digits are a year, the next number is the day", "a=1; Path=/; Expires=021 Oct 15 07:28:00", nil
        ),
        Row("5.6.2 Max-Age zero ends it", "a=1; Path=/; Max-Age=0", nil),
        Row("5.6.2 Max-Age below zero ends it", "a=1; Path=/; Max-Age=-99999999999999999999", nil),
        Row("5.6.2 Max-Age with a plus sign is ignored", "a=1; Path=/; Max-Age=+0", "a=1"),
        Row("5.6.2 Max-Age that is no number is ignored", "a=1; Path=/; Max-Age=0x0", "a=1"),
        Row("5.6.2 an empty Max-Age is ignored", "a=1; Path=/; Max-Age=", "a=1"),
        Row("5.6.2 a huge Max-Age is long", "a=1; Path=/; Max-Age=99999999999999999999999", "a=1"),
        Row(
            "5.7.3 Max-Age before Expires, whatever their order",
            "a=1; Path=/; Max-Age=60; Expires=Wed, 21 Oct 2015 07:28:00 GMT", "a=1"),
        Row("5.7.3 and the other way round", "a=1; Path=/; Expires=Wed, 21 Oct 2037 07:28:00 GMT; Max-Age=0", nil),
    ]
    private static let domains = [
        Row("5.7.3 without Domain: that host only", "a=1; Path=/", to: "https://x.mail.example.org/", nil),
        Row(
            "5.7.3 Domain reaches names below", "a=1; Path=/; Domain=mail.example.org",
            to: "https://x.mail.example.org/", "a=1"),
        Row(
            "5.7.3 Domain may name a parent", "a=1; Path=/; Domain=example.org", to: "https://other.example.org/", "a=1"
        ),
        Row(
            "5.6.3 a leading dot means nothing", "a=1; Path=/; Domain=.example.org", to: "https://other.example.org/",
            "a=1"),
        Row("5.6.3 Domain has no case", "a=1; Path=/; Domain=EXAMPLE.ORG", to: "https://other.example.org/", "a=1"),
        Row("5.7.3 an empty Domain is none", "a=1; Path=/; Domain=", "a=1"),
        Row(
            "5.7.3 of several the last counts: a stranger's then one's own",
            "a=1; Path=/; Domain=evil.test; Domain=example.org", "a=1"),
        Row("5.7.3 and one's own then a stranger's", "a=1; Path=/; Domain=example.org; Domain=evil.test", nil),
        Row("5.7.3 a stranger's", "a=1; Path=/; Domain=evil.test", nil),
        Row("5.1.3 a longer name that only ends alike", "a=1; Path=/; Domain=ple.org", nil),
        Row(
            "5.7.3 a name below one's own", "a=1; Path=/; Domain=x.mail.example.org", to: "https://x.mail.example.org/",
            nil),
        Row("5.7.3 a public suffix", "a=1; Path=/; Domain=org", nil),
        Row(
            "5.7.3 a public suffix of two labels", "a=1; Path=/; Domain=co.uk", from: "https://a.co.uk/",
            to: "https://a.co.uk/", nil),
        Row(
            "5.7.3 a private suffix", "a=1; Path=/; Domain=github.io", from: "https://a.github.io/",
            to: "https://b.github.io/", nil),
        Row(
            "5.7.3 a host that is itself a suffix keeps its own", "a=1; Path=/; Domain=github.io",
            from: "https://github.io/", to: "https://github.io/", "a=1"),
        Row(
            "5.7.3 and nobody else's", "a=1; Path=/; Domain=github.io", from: "https://github.io/",
            to: "https://b.github.io/", nil),
        Row(
            "5.1.3 an address is no domain", "a=1; Path=/; Domain=0.0.1", from: "http://127.0.0.1/",
            to: "http://127.0.0.1/", nil),
        Row("5.1.3 nor is one in brackets", "a=1; Path=/", from: "https://[::1]/", to: "https://[::1]/", "a=1"),
        Row("8.5 ports share cookies", "a=1; Path=/", from: "https://h.example:8443/", to: "https://h.example/", "a=1"),
        Row("5.7.3 a final dot is another name", "a=1; Path=/; Domain=example.org.", nil),
    ]
    private static let paths = [
        Row("5.1.4 the default path is the folder", "a=1", to: "https://mail.example.org/a/c", "a=1"),
        Row("5.1.4 and not beside it", "a=1", to: "https://mail.example.org/ab", nil),
        Row(
            "5.1.4 of a file at the root it is the root", "a=1", from: "https://h.example/x",
            to: "https://h.example/y/z", "a=1"),
        Row(
            "5.6.4 a path that does not begin with a slash is none", "a=1; Path=x", to: "https://mail.example.org/a/c",
            "a=1"),
        Row("5.6.4 an empty last Path is the default path", "a=1; Path=/; Path=", to: "https://mail.example.org/", nil),
        Row("5.1.4 whole segments only", "a=1; Path=/foo", to: "https://mail.example.org/foobar", nil),
        Row("5.1.4 the path itself", "a=1; Path=/foo", to: "https://mail.example.org/foo?x", "a=1"),
        Row("5.1.4 below it", "a=1; Path=/foo/", to: "https://mail.example.org/foo/bar", "a=1"),
        Row("5.1.4 a final slash wants one", "a=1; Path=/foo/", to: "https://mail.example.org/foo", nil),
        Row("5.1.4 paths have case", "a=1; Path=/Foo", to: "https://mail.example.org/foo", nil),
    ]
    private static let security = [
        Row(
            "5.7.3 Secure from plain http is refused", "a=1; Path=/; Secure", from: "http://h.example/",
            to: "https://h.example/", nil),
        Row(
            "5.8.3 Secure does not go over plain http", "a=1; Path=/; Secure", from: "https://h.example/",
            to: "http://h.example/", nil),
        Row(
            "loopback counts as secure, for development", "a=1; Path=/; Secure", from: "http://localhost:8901/",
            to: "http://localhost:8901/", "a=1"),
        Row("5.7.3 SameSite=None needs Secure", "a=1; Path=/; SameSite=None", nil),
        Row("5.7.3 with it, it is kept", "a=1; Path=/; SameSite=None; Secure", "a=1"),
        Row("5.6.7 an unknown SameSite is none at all", "a=1; Path=/; SameSite=Whatever", "a=1"),
        Row("NB-1: Strict goes with the app's requests", "a=1; Path=/; SameSite=Strict", "a=1"),
        Row("5.7.3 __Secure- needs Secure", "__Secure-a=1; Path=/", nil),
        Row("5.7.3 __Secure- with it", "__Secure-a=1; Path=/; Secure; Domain=example.org", "__Secure-a=1"),
        Row("5.7.3 prefixes have no case", "__SECURE-a=1; Path=/", nil),
        Row("5.7.3 __Host- whole", "__Host-a=1; Path=/; Secure", "__Host-a=1"),
        Row("5.7.3 __Host- without Secure", "__Host-a=1; Path=/", nil),
        Row("5.7.3 __Host- with a Domain", "__Host-a=1; Path=/; Secure; Domain=mail.example.org", nil),
        Row("5.7.3 __Host- with another path", "__Host-a=1; Path=/a; Secure", nil),
        Row(
            "5.7.3 __Host- must name its path", "__Host-a=1; Secure", from: "https://mail.example.org/",
            to: "https://mail.example.org/", nil),
    ]

    @Test("One cookie: read, kept, sent", arguments: parsing + expiry + domains + paths + security)
    func row(_ row: Row) throws {
        let jar = CookieJar()
        jar.store(["Set-Cookie": row.set], from: try WebURL(row.from), now: Self.now)
        #expect(jar.header(for: try WebURL(row.to), now: Self.now) == row.sent)
    }

    @Test("5.5: nothing outlives 400 days, and everything ends at its moment")
    func ends() throws {
        let (jar, url) = (CookieJar(), try WebURL(Self.site))
        jar.store(["Set-Cookie": "long=1; Path=/; Max-Age=999999999"], from: url, now: Self.now)
        jar.store(["Set-Cookie": "short=1; Path=/; Max-Age=60"], from: url, now: Self.now)
        #expect(jar.header(for: url, now: Self.now + .seconds(59)) == "long=1; short=1")
        #expect(jar.header(for: url, now: Self.now + .seconds(60)) == "long=1")
        #expect(jar.header(for: url, now: Self.now + .seconds(400 * 86400)) == nil)
    }

    @Test("5.8.3: longer paths first, then the order in which they came, also of one moment")
    func order() throws {
        let (jar, url) = (CookieJar(), try WebURL("https://h.example/a/b/c"))
        for text in ["z=1; Path=/", "y=2; Path=/", "x=3; Path=/a/b", "w=4; Path=/a"] {
            jar.store(["Set-Cookie": text], from: url, now: Self.now)
        }
        #expect(jar.header(for: url, now: Self.now) == "x=3; w=4; z=1; y=2")
        // A new value keeps the place of the old one.
        jar.store(["Set-Cookie": "z=9; Path=/"], from: url, now: Self.now + .seconds(9))
        #expect(jar.header(for: url, now: Self.now + .seconds(9)) == "x=3; w=4; z=9; y=2")
    }

    @Test("5.7.3: name, domain, host-only and path together are one cookie")
    func identity() throws {
        let (jar, url) = (CookieJar(), try WebURL(Self.site))
        for text in ["a=1; Path=/", "a=2; Path=/a", "a=3; Path=/; Domain=mail.example.org", "a=4; Path=/"] {
            jar.store(["Set-Cookie": text], from: url, now: Self.now)
        }
        #expect(jar.header(for: url, now: Self.now) == "a=2; a=4; a=3")
        jar.store(["Set-Cookie": "a=; Path=/; Max-Age=0"], from: url, now: Self.now)
        #expect(jar.header(for: url, now: Self.now) == "a=2; a=3")
    }

    @Test(
        "5.7.3: a plain-http answer neither overwrites nor hides a Secure cookie",
        arguments: [
            ("s=evil; Path=/", "http://mail.example.org/"), ("s=evil; Path=/a", "http://mail.example.org/"),
            ("s=evil; Path=/; Domain=example.org", "http://mail.example.org/"),
            ("s=evil; Path=/; Domain=example.org", "http://other.example.org/"),
        ])
    func shadow(_ text: String, _ from: String) throws {
        let (jar, url) = (CookieJar(), try WebURL(Self.site))
        jar.store(["Set-Cookie": "s=good; Path=/; Secure"], from: url, now: Self.now)
        jar.store(["Set-Cookie": text], from: try WebURL(from), now: Self.now)
        #expect(jar.header(for: url, now: Self.now) == "s=good")
    }

    // MARK: Limits

    @Test("5.7.3: beyond 50 of a domain, those without Secure go first, then the longest unused: the session stays")
    func domainLimit() throws {
        let (jar, url) = (CookieJar(), try WebURL("https://h.example/"))
        jar.store(["Set-Cookie": "sessionid=1; Path=/; Secure; HttpOnly"], from: url, now: Self.now)
        for index in 0..<200 { jar.store(["Set-Cookie": "c\(index)=1; Path=/"], from: url, now: Self.now) }
        let kept = jar.cookies(for: url, now: Self.now).map(\.name)
        #expect(kept.count == 50)
        #expect(kept.contains("sessionid"))
        #expect(kept.contains("c199") && !kept.contains("c0"))
    }

    @Test("5.7.3: of equals the one that was not sent for the longest time goes")
    func leastRecentlyUsed() throws {
        let (jar, root) = (CookieJar(), try WebURL("https://h.example/"))
        for index in 0..<50 { jar.store(["Set-Cookie": "c\(index)=1; Path=/p\(index)"], from: root, now: Self.now) }
        _ = jar.header(for: try WebURL("https://h.example/p0"), now: Self.now)
        jar.store(["Set-Cookie": "new=1; Path=/"], from: root, now: Self.now)
        #expect(jar.header(for: try WebURL("https://h.example/p0"), now: Self.now) == "c0=1; new=1")
        #expect(jar.header(for: try WebURL("https://h.example/p1"), now: Self.now) == "new=1")
    }

    @Test("500 in all, whatever number of domains")
    func totalLimit() throws {
        let jar = CookieJar()
        for index in 0..<600 {
            let url = try WebURL("https://h\(index).example/")
            jar.store(["Set-Cookie": "a=1; Path=/"], from: url, now: Self.now)
        }
        #expect(jar.archive.array?.count == 500)
    }

    // MARK: Keeping

    @Test("The archive keeps everything of a cookie, session cookies too; what is over does not come back")
    func archive() throws {
        let (jar, url) = (CookieJar(), try WebURL(Self.site))
        for text in [
            "s=1; Path=/; Secure; HttpOnly; SameSite=Strict", "d=2; Path=/; Domain=example.org; Max-Age=60", "n=3",
        ] { jar.store(["Set-Cookie": text], from: url, now: Self.now) }
        let copy = CookieJar()
        copy.restore(jar.archive)
        #expect(copy.cookies(for: url, now: Self.now) == jar.cookies(for: url, now: Self.now))
        #expect(copy.cookies(for: url, now: Self.now).first?.sameSite == .strict)
        #expect(copy.header(for: url, now: Self.now + .seconds(61)) == "n=3; s=1")
    }

    @Test("An archive from before SameSite was kept is still read")
    func olderArchive() throws {
        let jar = CookieJar()
        jar.restore([
            [
                "name": "s", "value": "1", "domain": "mail.example.org", "hostOnly": true, "path": "/", "secure": true,
                "httpOnly": true, "expires": .null, "created": .integer(Self.now.milliseconds),
            ]
        ])
        #expect(jar.header(for: try WebURL(Self.site), now: Self.now) == "s=1")
    }

    @Test("Whether anything changed is told, so that only changes are written")
    func changes() throws {
        let (jar, url) = (CookieJar(), try WebURL(Self.site))
        #expect(jar.store(["Set-Cookie": "a=1; Path=/"], from: url, now: Self.now))
        #expect(!jar.store(["Set-Cookie": "a=1; Path=/"], from: url, now: Self.now))
        #expect(!jar.store(["Set-Cookie": "a=1; Path=/; Domain=evil.test"], from: url, now: Self.now))
        _ = jar.header(for: url, now: Self.now)
        #expect(!jar.store(["Set-Cookie": "a=1; Path=/"], from: url, now: Self.now))
        jar.removeAll()
        #expect(jar.isEmpty)
    }
}
