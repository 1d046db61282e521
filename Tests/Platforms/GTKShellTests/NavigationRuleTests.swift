// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import Testing

    @testable import NacreGTKShell

    @Suite("NB-10: where a navigation may go")
    struct NavigationRuleTests {
        private let rule = NavigationRule(origin: "https://app.example.test")

        @Test(
            "The top frame shows the app's own origin, as WebKit reads an address",
            arguments: [
                ("https://app.example.test/", true), ("https://app.example.test:443/a?b#c", true),
                ("HTTPS://APP.EXAMPLE.TEST/", true), ("https://user@app.example.test/", true),
                ("https://app.example.test.evil.test/", false), ("https://app.example.test@evil.test/", false),
                ("https://app.example.test:8443/", false), ("http://app.example.test/", false),
                ("https://example.test/", false), ("about:blank", false), ("data:text/html,x", false),
                ("blob:https://evil.test/x", false), ("", false), ("file:///etc/passwd", false),
            ])
        func own(_ uri: String, _ own: Bool) {
            #expect(rule.isOwn(uri) == own)
            #expect((rule.topFrame(to: uri, userGesture: false) == .allow) == own)
        }

        @Test(
            "The bridge hears the app's own page alone, and while it is shown",
            arguments: [
                ("https://app.example.test/", UInt64(1), true, true), ("https://app.example.test/", 0, true, false),
                ("https://app.example.test/", 1, false, false), ("https://evil.test/", 1, true, false),
                ("about:blank", 1, true, false), ("", 1, true, false),
            ])
        func heard(_ uri: String, _ load: UInt64, _ shown: Bool, _ heard: Bool) {
            #expect(rule.hears(uri, load: load, isOwnPageShown: shown) == heard)
        }

        @Test(
            "A reply or an event meets the load that it was meant for, or none",
            arguments: [(UInt64(1), UInt64(1), true), (1, 2, false), (2, 1, false), (0, 0, false), (0, 1, false)])
        func load(_ meant: UInt64, _ shown: UInt64, _ meets: Bool) {
            #expect(NavigationRule.isCurrent(meant, shown: shown) == meets)
        }

        @Test(
            "Elsewhere opens outside after a person's action only",
            arguments: ["https://example.org/", "http://example.org/", "mailto:a@example.org", "tel:112"])
        func external(_ uri: String) {
            #expect(rule.topFrame(to: uri, userGesture: true) == .external)
            #expect(rule.topFrame(to: uri, userGesture: false) == .refuse)
            #expect(rule.newWindow(to: uri, userGesture: true) == .external)
            #expect(rule.newWindow(to: uri, userGesture: false) == .refuse)
        }

        @Test(
            "What no browser opens goes nowhere, gesture or not",
            arguments: ["file:///etc/passwd", "stmessages://auth", "javascript:alert(1)", "ftp://example.org/", "x"])
        func refused(_ uri: String) {
            #expect(rule.navigation(to: uri, userGesture: true) == .refuse)
            #expect(rule.topFrame(to: uri, userGesture: true) == .refuse)
            #expect(rule.newWindow(to: uri, userGesture: true) == .refuse)
        }

        @Test("SH-8: a frame may show the web, a text of its own, a blob")
        func frames() {
            for uri in ["https://example.org/", "about:srcdoc", "data:text/html,x", "blob:https://a.test/1"] {
                #expect(rule.navigation(to: uri, userGesture: false) == .allow)
            }
        }

        @Test("The filter of the top frame names the origin literally")
        func filter() {
            let rules = TopFrameFilter.rules(for: "https://app.example.test:8443")
            #expect(rules.contains(#""^https://app\\.example\\.test:8443/""#))
            #expect(rules.contains(#""action": {"type": "block"}"#))
        }
    }

    @Suite("The proxy's question")
    struct ProxyGuardTests {
        @Test(
            "The secret goes to our own endpoint, once",
            arguments: [
                (true, "127.0.0.1", 4000, false, ProxyGuard.Verdict.answer),
                (true, "127.0.0.1", 4000, true, .cancel),
                (true, "127.0.0.1", 4001, false, .cancel),
                (true, "localhost", 4000, false, .cancel),
                (true, "example.org", 4000, false, .cancel),
                (false, "127.0.0.1", 4000, false, .ignore),
                (false, "example.org", 443, false, .ignore),
            ] as [(Bool, String, UInt32, Bool, ProxyGuard.Verdict)])
        func verdict(_ isForProxy: Bool, _ host: String, _ port: UInt32, _ isRetry: Bool, _ wanted: ProxyGuard.Verdict)
        {
            #expect(
                ProxyGuard.verdict(isForProxy: isForProxy, host: host, port: port, isRetry: isRetry, ours: 4000)
                    == wanted)
        }
    }
#endif
