// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import Testing

@testable import NacreLinux

@Suite("The system's proxy")
struct SystemProxyTests {
    @Test(
        "The resolver's answer becomes one proxy that the client speaks",
        arguments: [
            (["direct://"], nil, nil),
            ([], nil, nil),
            (["http://proxy.example.org:3128"], "http://proxy.example.org:3128", "http://proxy.example.org:3128"),
            (["HTTP://p:80", "direct://"], "http://p:80", "http://p:80"),
            (["direct://", "http://p:80"], nil, nil),
            (["socks5://s:1080", "http://p:80"], "http://p:80", "socks5h://s:1080"),
            (["https://p:443", "http://p:80"], "http://p:80", "https://p:443"),
            (["socks4://s:1080", "http://p:80"], "http://p:80", "socks4a://s:1080"),
        ] as [([String], String?, String?)])
    func choice(_ uris: [String], _ tunnel: String?, _ curl: String?) throws {
        #expect(try ProxyAnswer.choice(uris, client: .tunnel) == tunnel)
        #expect(try ProxyAnswer.choice(uris, client: .curl) == curl)
    }

    @Test(
        "A proxy that is not spoken is an error that says so, never a direct connection",
        arguments: [
            ["socks5://s:1080"], ["socks://s:1080", "direct://"], ["https://p:443"], ["quic://p:1", "direct://"],
        ])
    func unsupported(_ uris: [String]) {
        let error = #expect(throws: NacreError.self) { try ProxyAnswer.choice(uris, client: .tunnel) }
        #expect(error?.code == "proxy.unsupported")
        #expect(error?.message.contains("http proxy") == true)
    }

    @Test("No proxy's credentials get into the error")
    func redacted() {
        let error = #expect(throws: NacreError.self) {
            try ProxyAnswer.choice(["socks5://user:secret@s:1080"], client: .tunnel)
        }
        #expect(error?.message.contains("secret") == false)
    }

    @Test("An answer is good for a second, for its origin, and not after the clock was turned back")
    func memory() {
        var memory = ProxyMemory()
        let start = Instant(milliseconds: 1_000_000)
        memory.keep(["http://p:80"], to: "https://a/", now: start)
        #expect(memory.answer(to: "https://a/", now: start + .milliseconds(999)) == ["http://p:80"])
        #expect(memory.answer(to: "https://a/", now: start + .seconds(1)) == nil)
        #expect(memory.answer(to: "https://a/", now: Instant(milliseconds: 999_999)) == nil)
        #expect(memory.answer(to: "https://b/", now: start) == nil)
    }

    @Test(
        "This machine is never proxied, and the resolver hears origins only",
        arguments: [
            ("http://localhost:8901/api/", nil), ("https://app.localhost/", nil), ("http://127.0.0.1:1/", nil),
            ("http://[::1]:1/", nil), ("https://mail.example.org/a?token=b", "https://mail.example.org/"),
            ("https://mail.example.org:8443/", "https://mail.example.org:8443/"),
        ] as [(String, String?)])
    func question(_ url: String, _ expected: String?) throws {
        #expect(try ProxyAnswer.question(url) == expected)
    }
}
