// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreListener
import Testing

@testable import NacrePage

struct ConnectTests {
    private static let secret = ConnectSecret("launch-secret")
    private static var basic: String { Base64.encode(Array("app:launch-secret".utf8)) }

    private func decide(_ head: String) throws -> ConnectDecision? {
        var parser = RequestHeadParser()
        var queue = ByteQueue(Array(head.utf8))
        return try parser.parse(&queue).map { ConnectDecision.decide($0, secret: Self.secret) }
    }

    private func connect(_ target: String, _ fields: String) throws -> ConnectDecision? {
        try decide("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\(fields)\r\n")
    }

    @Test(
        "A CONNECT with the secret names its target",
        arguments: [
            ("localhost:443", "localhost:443"), ("API.Example.org:8901", "api.example.org:8901"),
            ("[::1]:443", "[::1]:443"),
        ])
    func accepted(_ target: String, _ expected: String) throws {
        let decision = try connect(target, "Proxy-Authorization: Basic \(Self.basic)\r\n")
        guard case .connect(let found) = decision else {
            Issue.record("refused: \(String(describing: decision))")
            return
        }
        #expect(found.description == expected)
    }

    @Test(
        "Another local process without the secret of this launch is asked for it",
        arguments: [
            "", "Proxy-Authorization: Basic\r\n", "Proxy-Authorization: Basic YXBwOndyb25n\r\n",
            "Proxy-Authorization: Bearer launch-secret\r\n", "Authorization: Basic YXBwOmxhdW5jaC1zZWNyZXQ=\r\n",
            "Proxy-Authorization: Basic \(basic)x\r\n", "Proxy-Authorization: Basic \(basic.dropLast())\r\n",
            "Proxy-Authorization: Basic \(basic)\r\nProxy-Authorization: Basic \(basic)\r\n",
            "Proxy-Authorization: Basic \(basic) \(basic)\r\n",
        ])
    func wrongSecret(_ fields: String) throws {
        #expect(try connect("localhost:443", fields) == .askForSecret)
    }

    @Test(
        "What is not a CONNECT is refused, with the secret too",
        arguments: [
            "GET http://example.org/ HTTP/1.1\r\nHost: example.org", "GET / HTTP/1.1\r\nHost: localhost",
            "POST http://localhost/ HTTP/1.1\r\nHost: localhost", "OPTIONS * HTTP/1.1\r\nHost: localhost",
        ])
    func notConnect(_ start: String) throws {
        let head = start + "\r\nProxy-Authorization: Basic \(Self.basic)\r\n\r\n"
        #expect(try decide(head) == .refuse(403, .notConnect))
    }

    @Test("A CONNECT has no body")
    func body() throws {
        let fields = "Proxy-Authorization: Basic \(Self.basic)\r\nContent-Length: 5\r\n"
        #expect(try connect("localhost:443", fields) == .refuse(400, .body))
    }

    @Test(
        "Targets are a host and a port",
        arguments: [
            "localhost", "localhost:", "localhost:0", "localhost:65536", "localhost:-1", ":443", "a b:443", "a/b:443",
            "user@host:443", "::1:443", "[::1:443", "host:443/", "host:4 43", "host:+443",
        ])
    func badTargets(_ target: String) { #expect(ConnectTarget(target) == nil) }

    @Test("Random heads end in a decision, never in a crash, and never pass without the secret")
    func fuzz() {
        var generator = SystemRandomNumberGenerator()
        let pieces = [
            "CONNECT ", "GET ", "localhost:443", "http://x/", " HTTP/1.1", "\r\n", "\n", "\r", ":",
            "Host: localhost:443",
            "Proxy-Authorization: ", "Basic ", "YXBwOmxhdW5jaC1zZWNyZXQ", "\0", "\u{7F}", "é", "\t", "[::1]",
            "Content-Length: 9",
            "Transfer-Encoding: chunked", "\r\n\r\n", "\u{16}\u{03}\u{01}",
        ]
        let start = ContinuousClock.now
        var rounds = 0
        while ContinuousClock.now - start < .seconds(1) {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...14, using: &generator) {
                bytes += Array((pieces.randomElement(using: &generator) ?? "").utf8)
            }
            if !bytes.isEmpty, Bool.random(using: &generator) {
                bytes[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            var limits = ParsingLimits()
            limits.headBytes = 8192
            var parser = RequestHeadParser(limits: limits)
            var queue = ByteQueue(bytes)
            if let head = try? parser.parse(&queue), case .connect = ConnectDecision.decide(head, secret: Self.secret) {
                Issue.record("let through: \(bytes)")
            }
            rounds += 1
        }
        #expect(rounds > 100)
    }
}

struct TargetPolicyTests {
    @Test(
        "Local, private and special addresses are out of reach of pages",
        arguments: [
            [127, 0, 0, 1], [127, 255, 0, 9], [0, 0, 0, 0], [10, 1, 2, 3], [172, 16, 0, 1], [172, 31, 255, 255],
            [192, 168, 1, 1], [169, 254, 169, 254], [100, 64, 0, 1], [198, 18, 0, 1], [192, 0, 2, 1], [203, 0, 113, 9],
            [224, 0, 0, 1], [255, 255, 255, 255], [], [1, 2, 3],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1],
            [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1],
            [0x20, 0x02, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            [0x20, 0x01, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3],
            [0xFC, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], [0xFD, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            [0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            [0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            [0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        ] as [[UInt8]])
    func notPublic(_ octets: [UInt8]) { #expect(!TargetPolicy.isPublic(octets)) }

    @Test(
        "Public addresses are reachable",
        arguments: [
            [1, 1, 1, 1], [172, 15, 0, 1], [172, 32, 0, 1], [100, 128, 0, 1], [192, 167, 1, 1], [169, 253, 1, 1],
            [0x26, 0x06, 0x47, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x11],
            [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1],
        ] as [[UInt8]])
    func isPublic(_ octets: [UInt8]) { #expect(TargetPolicy.isPublic(octets)) }

    @Test(
        "A proxy is not asked for this machine or its network",
        arguments: [
            ("localhost", nil, false), ("x.localhost", nil, false), ("printer", nil, false), ("nas.local", nil, false),
            ("localhost.", nil, false), ("x.localhost..", nil, false), ("printer.", nil, false),
            ("nas.local.", nil, false), ("example.org", nil, true), ("example.org.", nil, true),
            ("127.0.0.1", [127, 0, 0, 1], false), ("1.1.1.1", [1, 1, 1, 1], true),
        ] as [(String, [UInt8]?, Bool)])
    func byProxy(_ host: String, _ octets: [UInt8]?, _ expected: Bool) {
        #expect(TargetPolicy.mayBeProxied(host, octets: octets) == expected)
    }

    @Test("The platform's answers become routes; an unknown kind is an error, never a direct connection")
    func routes() throws {
        #expect(try ProxyRoute(uri: "direct://") == .direct)
        #expect(try ProxyRoute(uri: "http://proxy.corp:3128") == .proxy(host: "proxy.corp", port: 3128))
        #expect(throws: NacreError.self) { try ProxyRoute(uri: "socks5://proxy:1080") }
        #expect(throws: NacreError.self) { try ProxyRoute(uri: "") }
    }
}
