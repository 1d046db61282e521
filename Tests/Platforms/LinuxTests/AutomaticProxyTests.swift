// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreHTTP
import NacreTesting
import Synchronization
import Testing

@testable import NacreLinux

@Suite("An automatic proxy configuration")
struct AutomaticProxyTests {
    private let address = "http://wpad.example.org/proxy.pac"
    private let time = ManualTime(Instant(milliseconds: 1_000_000))

    /// Answers with the script itself, so that a test sees which one was asked.
    private struct Echo: ProxyScriptHost {
        func answer(script: String, url: String, host: String) async throws(NacreError) -> String {
            guard script != "broken" else { throw NacreError("proxy.script", "line 3: broken") }
            return script.replacing("HOST", with: host)
        }
    }

    /// A server whose file changes, and that counts.
    private final class Source: Sendable {
        let content = Mutex<String?>("PROXY HOST:3128; DIRECT")
        let asked = Mutex(0)
        let isSlow = Mutex(false)
        func fetch(_ address: String) async throws -> [UInt8] {
            asked.withLock { $0 += 1 }
            try await until { !self.isSlow.withLock { $0 } }
            guard let text = content.withLock({ $0 }) else { throw NacreError("proxy.fetch", "its server answers 404") }
            return Array(text.utf8)
        }
    }

    private func proxy(_ source: Source) -> AutomaticProxy {
        AutomaticProxy(fetch: { try await source.fetch($0) }, host: Echo(), time: time)
    }

    @Test("It is fetched once, asked for each origin, and fetched anew after a while or from another address")
    func kept() async throws {
        let source = Source()
        let proxy = proxy(source)
        #expect(
            try await proxy.proxies(for: "https://a.example/", by: address) == ["http://a.example:3128", "direct://"])
        source.content.withLock { $0 = "DIRECT" }
        #expect(try await proxy.proxies(for: "https://b.example/", by: address).first == "http://b.example:3128")
        #expect(source.asked.withLock { $0 } == 1)
        time.advance(by: AutomaticProxy.lifetime)
        #expect(try await proxy.proxies(for: "https://b.example/", by: address) == ["direct://"])
        #expect(try await proxy.proxies(for: "https://b.example/", by: "http://other.example/") == ["direct://"])
        #expect(source.asked.withLock { $0 } == 3)
    }

    @Test(
        "One that cannot be read is an error with its address and the remedy, and is asked for again soon, not at once")
    func unreadable() async throws {
        let source = Source()
        source.content.withLock { $0 = nil }
        let proxy = proxy(source)
        for _ in 0..<2 {
            let error = await #expect(throws: NacreError.self) {
                try await proxy.proxies(for: "https://a/", by: address)
            }
            #expect(error?.code == "proxy.configuration")
            #expect(error?.message.contains(address) == true)
            #expect(error?.message.contains("404") == true)
            #expect(error?.message.contains("network settings") == true)
        }
        #expect(source.asked.withLock { $0 } == 1)
        source.content.withLock { $0 = "DIRECT" }
        time.advance(by: AutomaticProxy.patience)
        #expect(try await proxy.proxies(for: "https://a/", by: address) == ["direct://"])
    }

    @Test("What was good goes on while its server rests, for all that ask at once")
    func rests() async throws {
        let source = Source()
        let proxy = proxy(source)
        _ = try await proxy.proxies(for: "https://a/", by: address)
        time.advance(by: AutomaticProxy.lifetime)
        source.content.withLock { $0 = nil }
        source.isSlow.withLock { $0 = true }
        let together = ["b", "c", "d"].map { name in
            Task { [address] in try await proxy.proxies(for: "https://\(name)/", by: address) }
        }
        try await until { source.asked.withLock { $0 } == 2 }
        for _ in 0..<100 { await Task.yield() }
        source.isSlow.withLock { $0 = false }
        for (task, name) in zip(together, ["b", "c", "d"]) {
            #expect(try await task.value.first == "http://\(name):3128")
        }
        #expect(source.asked.withLock { $0 } == 2)
    }

    @Test("A script that fails is an error that names its address and line, never a direct connection")
    func broken() async {
        let source = Source()
        source.content.withLock { $0 = "broken" }
        let error = await #expect(throws: NacreError.self) {
            try await proxy(source).proxies(for: "https://a/", by: address)
        }
        #expect(error?.code == "proxy.configuration")
        #expect(error?.message.contains("line 3") == true)
    }

    /// Answers a question or does not, by its host, and counts.
    private final class Silent: ProxyScriptHost {
        let asked = Mutex<[String]>([])
        func answer(script: String, url: String, host: String) async throws(NacreError) -> String {
            asked.withLock { $0.append(host) }
            if host.hasPrefix("slow") { throw NacreError("proxy.script_silent", "its script did not answer") }
            return "PROXY p:1"
        }
    }

    @Test("A question that a script did not answer rests for a minute; others are asked")
    func endless() async throws {
        let host = Silent()
        let proxy = AutomaticProxy(fetch: { _ in [] }, host: host, time: time)
        for _ in 0..<3 {
            let error = await #expect(throws: NacreError.self) {
                try await proxy.proxies(for: "https://slow/", by: address)
            }
            #expect(error?.code == "proxy.configuration" && error?.message.contains("did not answer") == true)
            #expect(try await proxy.proxies(for: "https://good/", by: address) == ["http://p:1"])
        }
        #expect(host.asked.withLock { $0 } == ["slow", "good", "good", "good"])
        time.advance(by: SilentQuestions.rest)
        await #expect(throws: NacreError.self) { try await proxy.proxies(for: "https://slow/", by: address) }
        #expect(host.asked.withLock { $0.last } == "slow")
    }

    @Test("A script that answers none of several in a row rests for a minute; one at another address does not")
    func always() async throws {
        let host = Silent()
        let proxy = AutomaticProxy(fetch: { _ in [] }, host: host, time: time)
        for number in 0..<SilentQuestions.mostInARow {
            await #expect(throws: NacreError.self) {
                try await proxy.proxies(for: "https://slow\(number)/", by: address)
            }
        }
        await #expect(throws: NacreError.self) { try await proxy.proxies(for: "https://good/", by: address) }
        #expect(host.asked.withLock { $0.count } == SilentQuestions.mostInARow)
        #expect(try await proxy.proxies(for: "https://good/", by: "http://other.example/") == ["http://p:1"])
        await #expect(throws: NacreError.self) { try await proxy.proxies(for: "https://slow/", by: address) }
        time.advance(by: SilentQuestions.rest)
        #expect(try await proxy.proxies(for: "https://good/", by: address) == ["http://p:1"])
    }

    @Test("Who asks the same at once waits for the same answer")
    func together() async throws {
        let source = Source()
        source.isSlow.withLock { $0 = true }
        let host = Silent()
        let proxy = AutomaticProxy(fetch: { try await source.fetch($0) }, host: host, time: time)
        let tasks = (0..<5).map { _ in
            Task { [address] in try await proxy.proxies(for: "https://slow/", by: address) }
        }
        try await until { source.asked.withLock { $0 } == 1 }
        for _ in 0..<100 { await Task.yield() }
        source.isSlow.withLock { $0 = false }
        for task in tasks { await #expect(throws: NacreError.self) { try await task.value } }
        #expect(host.asked.withLock { $0 } == ["slow"])
    }

    @Test("The log hears of a cause once, whatever a script puts into its words")
    func complaints() {
        var said = ProxyComplaints()
        let isNew = (0..<3).map { said.isNew(NacreError("proxy.configuration", "line 1: \($0)"), address) }
        #expect(isNew == [true, false, false])
        let elsewhere = said.isNew(NacreError("proxy.configuration", "line 1: 0"), "http://other.example/")
        let other = said.isNew(NacreError("proxy.lookup", "Not."), nil)
        #expect(elsewhere && other)
    }

    @Test(
        "The answer's words become proxies in their order",
        arguments: [
            ("DIRECT", ["direct://"]), ("", ["direct://"]), (" ; ", ["direct://"]),
            ("PROXY p:3128", ["http://p:3128"]), ("proxy p:3128 ;direct", ["http://p:3128", "direct://"]),
            (
                "HTTPS p:443; SOCKS s:1080; SOCKS5 t:1; SOCKS4 u:2",
                ["https://p:443", "socks://s:1080", "socks5://t:1", "socks4://u:2"]
            ),
            ("PROXY [2001:db8::1]:80", ["http://[2001:db8::1]:80"]),
            ("PROXY p", ["http://p:80"]), ("HTTP p", ["http://p:80"]), ("HTTPS p", ["https://p:443"]),
            (
                "SOCKS s; SOCKS5 [2001:db8::1]; SOCKS4 s",
                ["socks://s:1080", "socks5://[2001:db8::1]:1080", "socks4://s:1080"]
            ),
            // What nobody knows keeps its place: the direct connection behind it must not come first.
            ("QUIC q:1; DIRECT; PROXY p", ["unknown://", "direct://", "http://p:80"]),
            ("DIRECT; nonsense", ["direct://", "unknown://"]),
        ])
    func words(_ answer: String, _ expected: [String]) throws {
        #expect(try ProxyScriptAnswer.uris(answer) == expected)
    }

    @Test(
        "An answer that names no host and port is an error",
        arguments: [
            "PROXY", "PROXY user:word@p:80", "PROXY p:80/path", "PROXY p:80 q:80", "PROXY p:x", "PROXY p:", "SOCKS s:0",
            "PROXY 2001:db8::1", "nonsense", "nonsense; DIRECT", "QUIC q:1", "direct, PROXY p:1",
        ])
    func nonsense(_ answer: String) {
        let error = #expect(throws: NacreError.self) { try ProxyScriptAnswer.uris(answer) }
        #expect(error?.code == "proxy.script")
    }
}

#if GTKShell && os(Linux)
    @Suite("Where an automatic proxy configuration is fetched and run")
    struct ProxyScriptPlaceTests {
        private struct Server: HTTPTransport {
            let answers: [String: HTTPResponse]
            func send(_ request: HTTPRequest) async throws -> HTTPResponse {
                answers[request.url] ?? HTTPResponse(status: .notFound)
            }
        }

        private func fetch(_ address: String, _ answers: [String: HTTPResponse] = [:]) async throws -> String {
            let bytes = try await ProxyScriptFetch.by(Server(answers: answers), time: SystemTime())(address)
            return String(decoding: bytes, as: UTF8.self)
        }

        @Test("By http with its redirects")
        func http() async throws {
            let answers = [
                "http://a/p": HTTPResponse(status: 302, fields: ["Location": "/q"]),
                "http://a/q": HTTPResponse(body: .text("function")),
                "http://a/round": HTTPResponse(status: 302, fields: ["Location": "/round"]),
                "http://a/away": HTTPResponse(status: 302, fields: ["Location": "ftp://a/p"]),
                "http://a/large": HTTPResponse(body: .bytes(Array(repeating: 32, count: ProxyScriptFetch.most + 1))),
            ]
            #expect(try await fetch("http://a/p", answers) == "function")
            for bad in ["http://a/none", "http://a/round", "http://a/away", "http://a/large", "ftp://a/p", "nothing"] {
                await #expect(throws: NacreError.self) { try await fetch(bad, answers) }
            }
        }

        @Test("From a file of this machine, and from none of another")
        func file() async throws {
            let path = "/tmp/nacre proxy \(SystemRandom().identifier()).pac"
            try PrivateFile.replace(path, Array("function".utf8))
            defer { try? FileManager.default.removeItem(atPath: path) }
            #expect(try await fetch("file://" + path.replacing(" ", with: "%20")) == "function")
            await #expect(throws: NacreError.self) { try await fetch("file:///nothing/here.pac") }
            await #expect(throws: NacreError.self) { try await fetch("file://other.example.org/a.pac") }
        }

        /// A program that reads one line a question and answers as told.
        private func process(_ script: String) -> ProxyScriptProcess {
            ProxyScriptProcess(command: ["/bin/sh", "-c", script])
        }

        @Test("In a process of its own, started once for a script, whose environment holds nothing of ours")
        func process() async throws {
            setenv("NACRE_TEST_SECRET", "x", 1)
            let host = process(
                #"while read -r line; do case $line in *script*) n=$((n+1)); echo '{"ok":true}';; "#
                    + #"*) echo "{\"answer\":\"$$ $n $NACRE_TEST_SECRET.\"}";; esac; done"#)
            let first = try await host.answer(script: "a", url: "https://a/", host: "a")
            #expect(first.hasSuffix(" 1 ."))
            #expect(try await host.answer(script: "a", url: "https://b/", host: "b") == first)
            #expect(try await host.answer(script: "b", url: "https://b/", host: "b") != first)
        }

        @Test("One that ends without an answer is said, and the next question starts another")
        func ends() async throws {
            let host = process(
                #"read -r line; echo '{"ok":true}'; read -r line; case $line in *good*) echo '{"answer":"DIRECT"}';; esac"#
            )
            let error = await #expect(throws: NacreError.self) {
                try await host.answer(script: "a", url: "https://a/", host: "a")
            }
            #expect(error?.message.contains("did not answer") == true)
            #expect(try await host.answer(script: "a", url: "https://good/", host: "good") == "DIRECT")
        }

        @Test("A line without an end is not waited for, and not kept", .timeLimit(.minutes(1)))
        func endlessLine() async throws {
            let host = process(
                #"read -r line; echo '{"ok":true}'; read -r line; printf '{"answer":"'; while printf 0123456789; do :; done"#
            )
            let error = await #expect(throws: NacreError.self) {
                try await host.answer(script: "a", url: "https://a/", host: "a")
            }
            #expect(error?.code == "proxy.script_silent")
        }

        @Test("A line as long as any is read whole, also in pieces")
        func longLine() async throws {
            let host = process(
                #"read -r line; echo '{"ok":true}'; while read -r line; do printf '{"answer":"%04000d' 7; sleep 0.05; "#
                    + #"printf '%04000d"}\n' 8; done"#)
            for _ in 0..<3 {
                let answer = try await host.answer(script: "a", url: "https://a/", host: "a")
                #expect(answer.count == 8000 && answer.hasSuffix("8") && answer.hasPrefix("000"))
            }
        }

        @Test("The engine is told to make no code at run time")
        func noCode() async throws {
            let host = process(
                #"while read -r line; do case $line in *script*) echo '{"ok":true}';; "#
                    + #"*) echo "{\"answer\":\"$JSC_useJIT $GIGACAGE_ENABLED\"}";; esac; done"#)
            #expect(try await host.answer(script: "a", url: "https://a/", host: "a") == "0 0")
        }

        @Test("A script's error is its own; a program that is not there is said")
        func errors() async {
            let broken = process(#"read -r line; echo '{"error":"line 1: no"}'"#)
            let error = await #expect(throws: NacreError.self) {
                try await broken.answer(script: "a", url: "https://a/", host: "a")
            }
            #expect(error?.message == "line 1: no")
            let absent = ProxyScriptProcess(command: ["/nothing/here"])
            await #expect(throws: NacreError.self) {
                try await absent.answer(script: "a", url: "https://a/", host: "a")
            }
        }

        @Test("Many questions at once are answered each with its own")
        func many() async throws {
            let host = process(
                #"while read -r line; do case $line in *script*) echo '{"ok":true}';; "#
                    + #"*) h=${line#*\"host\":\"}; echo "{\"answer\":\"${h%%\"*}\"}";; esac; done"#)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<40 {
                    group.addTask {
                        let name = "h\(number)"
                        let answer = try await host.answer(script: "a", url: "https://x/", host: name)
                        #expect(answer == name)
                    }
                }
                try await group.waitForAll()
            }
        }
    }
#endif
