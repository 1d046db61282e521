// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import Foundation
    import NacreCore
    import NacreTesting
    import Synchronization
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

        @Test("What is too long is an error, never a part of an answer; an error is cut")
        func long() {
            var conversation = ProxyScriptServer.Conversation()
            let words = "PROXY ' + 'p'.repeat(Math.max(n, 0)) + ':1; DIRECT"
            let script = "function FindProxyForURL(u, n) { if (n < 0) throw '\u{1}'.repeat(-n); return '\(words)' }"
            let question: JSONValue = ["script": .string(script)]
            #expect(conversation.answer(String(decoding: question.bytes, as: UTF8.self)) == #"{"ok":true}"#)
            #expect(conversation.answer(#"{"url": "https://a/", "host": "1000"}"#).contains(":1; DIRECT"))
            for number in ["5000", "-100", "-5000", "-1000000"] {
                let answer = conversation.answer(#"{"url": "https://a/", "host": "\#(number)"}"#)
                #expect(answer.hasPrefix(#"{"error":"#) && answer.utf8.count <= 4096, "\(number)")
            }
        }
    }

    @Suite("The names that an automatic proxy configuration asks for")
    struct ProxyScriptNamesTests {
        /// A resolver in which names that begin with "slow" take until they are let go.
        private final class Resolver: Sendable {
            let asked = Mutex<[String]>([])
            let letGo = Mutex(false)
            func address(of host: String) -> String? {
                asked.withLock { $0.append(host) }
                while host.hasPrefix("slow"), !letGo.withLock({ $0 }) { usleep(5_000) }
                return host.hasPrefix("none") ? nil : "192.0.2.7"
            }
        }

        @Test("A slow one is unknown after its time, holds no other up, and is found when it has come")
        func slow() async throws {
            let resolver = Resolver()
            // Lets go whatever happens: a test that waits for ever says nothing.
            let end = Task {
                try await Task.sleep(for: .seconds(120))
                resolver.letGo.withLock { $0 = true }
            }
            // Long enough for a machine that does much else beside.
            let names = ProxyScriptNames(limit: 3, total: 60, lifetime: .seconds(600)) { resolver.address(of: $0) }
            let engine = try ProxyScriptEngine(
                script: "function FindProxyForURL(u, h) { return isResolvable(h) ? dnsResolve(h) : 'none' }",
                names: names)
            func ask(_ host: String) throws -> String { try engine.answer(for: "https://\(host)/", host: host) }
            #expect(try ask("slow") == "none")
            #expect(try ask("quick") == "192.0.2.7")
            #expect(try ask("none.example") == "none")
            #expect(try ask("slow") == "none")
            #expect(resolver.asked.withLock { $0 } == ["slow", "quick", "none.example"])
            resolver.letGo.withLock { $0 = true }
            try await until { names.address(of: "slow") == "192.0.2.7" }
            #expect(resolver.asked.withLock { $0.count } == 3)
            end.cancel()
        }

        @Test("All names of one question have a time together, and not any number is under way")
        func together() {
            let resolver = Resolver()
            defer { resolver.letGo.withLock { $0 = true } }
            let names = ProxyScriptNames(limit: 0.1, total: 0.25) { resolver.address(of: $0) }
            for number in 0..<20 { #expect(names.address(of: "slow\(number)") == nil) }
            #expect(resolver.asked.withLock { $0.count } <= 3)
            for _ in 0..<10 {
                names.begin()
                for number in 0..<20 { #expect(names.address(of: "slow\(number)") == nil) }
            }
            #expect(resolver.asked.withLock { $0.count } <= 8)
        }
    }

    @Suite("The process of automatic proxy configurations")
    struct ProxyScriptLimitsTests {
        private func start(_ lines: [String]) throws -> (process: Process, output: FileHandle) {
            let checkout = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
            let process = Process()
            process.executableURL = checkout.appending(path: ".build/debug/nacre").standardizedFileURL
            process.arguments = [ProxyScriptServer.command]
            process.environment = ["PATH": "/usr/bin:/bin", "JSC_useJIT": "0", "GIGACAGE_ENABLED": "0"]
            let (input, output) = (Pipe(), Pipe())
            process.standardInput = input
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            try process.run()
            for line in lines { try input.fileHandleForWriting.write(contentsOf: Array((line + "\n").utf8)) }
            // Its input stays open while its answers are read.
            let reading = output.fileHandleForReading
            return (process, reading)
        }

        private func line(_ output: FileHandle) -> String {
            var bytes: [UInt8] = []
            while let byte = output.readData(ofLength: 1).first, byte != UInt8(ascii: "\n") { bytes.append(byte) }
            return String(decoding: bytes, as: UTF8.self)
        }

        @Test("It takes memory, files, crash pictures and further rights from itself, and still answers")
        func confined() throws {
            let (process, output) = try start([
                #"{"script": "function FindProxyForURL(u, h) { return 'PROXY ' + h + ':1' }"}"#,
                #"{"url": "https://a/", "host": "a"}"#,
            ])
            defer { process.terminate() }
            #expect(line(output) == #"{"ok":true}"#)
            #expect(line(output) == #"{"answer":"PROXY a:1"}"#)
            let place = "/proc/\(process.processIdentifier)/"
            #expect(try String(contentsOfFile: place + "status", encoding: .utf8).contains("NoNewPrivs:\t1"))
            let limits = try String(contentsOfFile: place + "limits", encoding: .utf8).split(separator: "\n")
            func hard(_ name: String) -> Substring? {
                limits.first { $0.hasPrefix(name) }?.dropFirst(26).split(separator: " ").dropFirst().first
            }
            #expect(hard("Max file size") == "0" && hard("Max core file size") == "0")
            #expect(hard("Max data size").flatMap { Int($0) } != nil)
        }

        @Test("A script that fills the memory is told that there is none, or ends, and the machine stays as it is")
        func memory() throws {
            let (process, output) = try start([
                #"{"script": "function FindProxyForURL(u, h) { for (let all = [];;) all.push(new Array(1e6).fill(1.5)) }"}"#,
                #"{"url": "https://a/", "host": "a"}"#,
            ])
            defer { process.terminate() }
            #expect(line(output) == #"{"ok":true}"#)
            let answer = line(output)
            #expect(answer.isEmpty || answer.contains("Out of memory"), "\(answer)")
        }
    }
#endif
