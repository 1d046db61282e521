// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacrePorts
import Testing

@Suite struct DeepLinkTests {
    static func code(_ text: String) -> NacreError.Code? {
        do throws(NacreError) {
            _ = try DeepLink(parsing: text, schemes: ["stmessages", "org.example.app"])
            return nil
        } catch { return error.code }
    }

    @Test("A link is split and decoded")
    func split() throws {
        let link = try DeepLink(parsing: "stmessages://Auth/a%2Fb?token=abc%2F1&flow=x#y", schemes: ["stmessages"])
        #expect(link.host == "auth")
        #expect(link.path == "/a/b")
        #expect(link["token"] == "abc/1")
        #expect(link["flow"] == "x")
        let bare = try DeepLink(parsing: "org.example.app:/oauth2redirect?code=1", schemes: ["org.example.app"])
        #expect(bare.host.isEmpty && bare.path == "/oauth2redirect")
    }

    @Test(
        "HO-9: a link of another app is ignored",
        arguments: [
            "https://mail.example/", "stmessages2://auth", "STMESSAGES://auth", "stmessage://auth", "file:///x",
        ])
    func foreign(text: String) { #expect(Self.code(text) == "link.foreign") }

    @Test("A link of 1 MB is refused")
    func tooLong() {
        #expect(Self.code("stmessages://auth?token=" + String(repeating: "a", count: 1 << 20)) == "link.too_long")
        let longest = "stmessages://auth?token="
        #expect(Self.code(longest + String(repeating: "a", count: DeepLink.longest - longest.utf8.count)) == nil)
        #expect(Self.code(longest + String(repeating: "a", count: DeepLink.longest)) == "link.too_long")
    }

    @Test(
        "A malformed link is refused",
        arguments: [
            "", "stmessages", "stmessages:", "stmessages:auth", "stmessages://a b", "stmessages://user@auth?token=1",
            "stmessages://auth:80/", "stmessages://auth?token=%", "stmessages://auth?token=%ZZ",
            "stmessages://auth/%FF",
            "stmessages://auth\\x", "stmessages://auth?token=é", "stmessages://auth?token=1\n", "stmessages://[::1]/",
        ])
    func malformed(text: String) { #expect(Self.code(text) == "link.malformed") }

    @Test("A link that names one thing twice is refused: nobody may guess which one counts")
    func twice() {
        #expect(Self.code("stmessages://auth?token=1&token=2") == "link.malformed")
        #expect(Self.code("stmessages://auth?flow=1&token=2&flow=1") == "link.malformed")
    }

    static let schemes: [(String, Bool)] = [
        ("stmessages", true), ("org.example.app", true), ("a+b-c.1", true), ("", false), ("StMessages", false),
        ("st_messages", false), ("1st", false), ("st messages", false), ("stmessages:", false), ("https", false),
        ("mailto", false), ("é", false),
    ]

    @Test("SH-4: the grammar of a scheme", arguments: schemes)
    func scheme(name: String, valid: Bool) { #expect((LinkScheme.fault(name) == nil) == valid) }
}
