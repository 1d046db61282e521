// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import NacreCore
    import Testing

    @testable import NacreGTKShell

    @Suite("An automatic proxy configuration's script", .serialized)
    struct ProxyScriptTests {
        private func value(_ expression: String, host: String = "www.example.org") throws -> String {
            try ProxyScriptEngine(script: "function FindProxyForURL(url, host) { return String(\(expression)) }")
                .answer(for: "https://\(host)/", host: host)
        }

        @Test("It is asked with address and host, and its answer is its text")
        func asked() throws {
            #expect(try value("url + ' ' + host") == "https://www.example.org/ www.example.org")
        }

        @Test(
            "The format's own functions answer as the format says",
            arguments: [
                ("isPlainHostName('intranet')", true), ("isPlainHostName('www.example.org')", false),
                ("dnsDomainIs('WWW.example.org', '.Example.org')", true),
                ("dnsDomainIs('www.example.org.evil', '.example.org')", false),
                ("localHostOrDomainIs('www', 'www.example.org')", true),
                ("localHostOrDomainIs('home.example.org', 'www.example.org')", false),
                ("dnsDomainLevels('www.example.org') === 2", true),
                ("shExpMatch('https://a.example.org/x', '*.example.org/*')", true),
                ("shExpMatch('a-example.org', 'a.example.org')", false),
                ("shExpMatch('a+b', 'a+b')", true), ("shExpMatch('ab', 'a?')", true),
                ("isInNet('192.0.2.77', '192.0.2.0', '255.255.255.0')", true),
                ("isInNet('192.0.3.77', '192.0.2.0', '255.255.255.0')", false),
                ("isInNet('223.1.2.3', '223.0.0.0', '255.0.0.0')", true),
                ("dnsResolve('127.0.0.1') === '127.0.0.1'", true), ("isResolvable('127.0.0.1')", true),
                ("isResolvable('nothing.invalid')", false), ("convert_addr(myIpAddress()) !== null", true),
                ("alert('x') === undefined", true),
            ])
        func functions(_ expression: String, _ expected: Bool) throws {
            #expect(try value(expression) == String(expected))
        }

        @Test(
            "Days and times are ranges that go round the end of week, year and day",
            arguments: [
                ("weekdayRange('SUN', 'SAT')", true), ("weekdayRange('MON', 'SUN', 'GMT')", true),
                // Monday, the 30th of November 2026, 15:30:20 UTC.
                ("weekdayRange('MON', 'GMT')", true), ("weekdayRange('TUE', 'GMT')", false),
                ("weekdayRange('SAT', 'MON', 'GMT')", true), ("weekdayRange('TUE', 'SUN', 'GMT')", false),
                ("dateRange(30, 'GMT')", true), ("dateRange(29, 'GMT')", false), ("dateRange('NOV', 'GMT')", true),
                ("dateRange('OCT', 'DEC', 'GMT')", true), ("dateRange('DEC', 'OCT', 'GMT')", false),
                ("dateRange(1, 'NOV', 30, 'NOV', 'GMT')", true), ("dateRange(2026, 2027, 'GMT')", true),
                ("dateRange(1, 'JAN', 2025, 29, 'NOV', 2026, 'GMT')", false),
                ("timeRange(15, 'GMT')", true), ("timeRange(16, 'GMT')", false), ("timeRange(9, 15, 'GMT')", true),
                ("timeRange(22, 6, 'GMT')", false), ("timeRange(15, 0, 15, 30, 'GMT')", true),
                ("timeRange(15, 30, 21, 15, 40, 0, 'GMT')", false),
            ])
        func ranges(_ expression: String, _ expected: Bool) throws {
            let day = "Date = class extends Date { constructor() { super(Date.UTC(2026, 10, 30, 15, 30, 20)) } };"
            let engine = try ProxyScriptEngine(
                script: "\(day) function FindProxyForURL() { return String(\(expression)) }")
            #expect(try engine.answer(for: "https://a/", host: "a") == String(expected))
        }

        @Test("It finds nothing of a page's or of this process: no fetch, no document, no files")
        func confined() throws {
            for name in ["fetch", "document", "window", "XMLHttpRequest", "require", "process"] {
                #expect(try value("typeof \(name)") == "undefined")
            }
        }

        @Test(
            "What is wrong with a script is said with its line",
            arguments: [
                ("function FindProxyForURL(", "line"), ("var nothing = 1", "no function FindProxyForURL"),
                ("function FindProxyForURL() {\n throw new Error('broken') }", "line 2"),
                ("function FindProxyForURL() { return 7 }", "no text"),
                ("function FindProxyForURL() { return undefined }", "no text"),
            ])
        func faults(_ script: String, _ words: String) {
            let error = #expect(throws: NacreError.self) {
                try ProxyScriptEngine(script: script).answer(for: "https://a/", host: "a")
            }
            #expect(error?.code == "proxy.script")
            #expect(error?.message.contains(words) == true)
        }

        @Test("No answer at all is no proxy")
        func null() throws {
            let engine = try ProxyScriptEngine(script: "function FindProxyForURL() { return null }")
            #expect(try engine.answer(for: "https://a/", host: "a") == "DIRECT")
        }

        @Test("Its process speaks lines of JSON, and survives what it cannot read")
        func conversation() throws {
            var conversation = ProxyScriptServer.Conversation()
            #expect(conversation.answer(#"{"url": "https://a/", "host": "a"}"#).contains("error"))
            #expect(conversation.answer("not JSON").contains("error"))
            #expect(conversation.answer(#"{"script": "function FindProxyForURL("}"#).contains("error"))
            let script = #"{"script": "function FindProxyForURL(u, h) { return 'PROXY ' + h + ':1' }"}"#
            #expect(conversation.answer(script) == #"{"ok":true}"#)
            #expect(conversation.answer(#"{"url": "https://a/", "host": "a"}"#) == #"{"answer":"PROXY a:1"}"#)
        }
    }
#endif
