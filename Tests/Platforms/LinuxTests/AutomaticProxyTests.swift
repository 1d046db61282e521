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
            guard script != "endless" else { throw NacreError("proxy.script_silent", "its script did not answer") }
            guard script != "broken" else { throw NacreError("proxy.script", "line 3: broken") }
            return script.replacing("HOST", with: host)
        }
    }

    /// A server whose file changes, and that counts.
    private final class Source: Sendable {
        let content = Mutex<String?>("PROXY HOST:3128; DIRECT")
        let asked = Mutex(0)
        func fetch(_ address: String) async throws -> [UInt8] {
            asked.withLock { $0 += 1 }
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

    @Test("What was good goes on while its server rests")
    func rests() async throws {
        let source = Source()
        let proxy = proxy(source)
        _ = try await proxy.proxies(for: "https://a/", by: address)
        source.content.withLock { $0 = nil }
        time.advance(by: AutomaticProxy.lifetime)
        #expect(try await proxy.proxies(for: "https://a/", by: address).first == "http://a:3128")
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

    @Test("A script that does not answer is left alone for a minute")
    func endless() async throws {
        let source = Source()
        source.content.withLock { $0 = "endless" }
        let proxy = proxy(source)
        await #expect(throws: NacreError.self) { try await proxy.proxies(for: "https://a/", by: address) }
        source.content.withLock { $0 = "DIRECT" }
        time.advance(by: AutomaticProxy.rest - .seconds(1))
        let error = await #expect(throws: NacreError.self) {
            try await proxy.proxies(for: "https://b/", by: address)
        }
        #expect(error?.message.contains("did not answer") == true)
        #expect(source.asked.withLock { $0 } == 1)
        time.advance(by: .seconds(1))
        #expect(try await proxy.proxies(for: "https://b/", by: address) == ["direct://"])
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
        ])
    func words(_ answer: String, _ expected: [String]) throws {
        #expect(try ProxyScriptAnswer.uris(answer) == expected)
    }

    @Test(
        "An answer that names no host and port is an error",
        arguments: [
            "PROXY", "PROXY p", "PROXY user:word@p:80", "PROXY p:80/path", "PROXY p:80 q:80", "PROXY p:x", "nonsense",
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
