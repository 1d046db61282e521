// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP
import Testing

@Suite("References and the media proxy's addresses")
struct URLReferenceTests {
    @Test(
        "RFC 3986 section 5.2: where a Location leads",
        arguments: [
            ("https://b.example/x", "https://b.example/x"), ("//b.example/x", "https://b.example/x"),
            ("/x?y#z", "https://a.example/x?y"), ("x", "https://a.example/p/x"), ("?q", "https://a.example/p/f?q"),
            ("", "https://a.example/p/f?g"), ("#h", "https://a.example/p/f?g"), ("../x", "https://a.example/x"),
            ("../../../x", "https://a.example/x"), ("./x/./y/..", "https://a.example/p/x/"),
            ("/a/%2e%2e/b", "https://a.example/b"),
            ("/é ü", "https://a.example/%C3%A9%20%C3%BC"), ("javascript:alert(1)", nil), ("ftp://b.example/", nil),
            ("/\\evil.example", nil), ("https://user@b.example/", nil), ("http://b.example/", "http://b.example/"),
            ("//", nil), ("https:", nil),
        ] as [(String, String?)])
    func resolving(_ reference: String, _ expected: String?) throws {
        #expect(try WebURL("https://a.example/p/f?g").resolving(reference)?.description == expected)
    }

    private let page = Origin(scheme: "https", host: "localhost", port: 443)

    @Test(
        "NB-4: a proxy address is unwrapped, anything else stays as it is",
        arguments: [
            (
                "https://localhost/_capacitor_http_interceptor_?u=https%3A%2F%2Fapi.example%2Fa%3Fb%3Dc",
                "https://api.example/a?b=c"
            ),
            ("/_capacitor_http_interceptor_?u=https%3A%2F%2Fapi.example%2Fa", "https://api.example/a"),
            (
                "https://localhost/_capacitor_https_interceptor_?u=https%3A%2F%2Fapi.example%2Fa",
                "https://api.example/a"
            ),
            ("https://localhost/_capacitor_http_interceptor_?u=https://api.example/a", "https://api.example/a"),
            ("https://localhost/other?u=x", "https://localhost/other?u=x"),
            (
                "https://evil.example/_capacitor_http_interceptor_?u=x",
                "https://evil.example/_capacitor_http_interceptor_?u=x"
            ),
            (
                "https://localhost/_capacitor_http_interceptor_?u=a&u=b",
                "https://localhost/_capacitor_http_interceptor_?u=a&u=b"
            ),
            ("https://localhost/_capacitor_http_interceptor_", "https://localhost/_capacitor_http_interceptor_"),
            ("blob:https://localhost/1", "blob:https://localhost/1"), ("", ""),
        ])
    func unwrap(_ text: String, _ expected: String) {
        #expect(MediaProxyURL.unwrap(text, page: page) == expected)
    }

    @Test(
        "NB-4: wrapping and unwrapping any address gives it back",
        arguments: ["https://a.example/ü?x=1&u=2#f", "https://a.example/%20"])
    func wrap(_ url: String) {
        let once = MediaProxyURL.wrap(url, page: page)
        #expect(MediaProxyURL.unwrap(once, page: page) == url)
        #expect(MediaProxyURL.unwrap(MediaProxyURL.wrap(once, page: page), page: page) == url)
    }
}
