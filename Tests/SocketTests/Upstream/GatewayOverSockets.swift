// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreHTTP
import NacreServer
import NacreTesting
import Synchronization
import Testing

@testable import NacreListener

@Suite("The gateway between raw sockets", .serialized, .timeLimit(.minutes(2)))
struct GatewayOverSockets {
    /// A whole server half in front of a scripted upstream whose paths are all open to everybody.
    private func run(
        _ extra: [String: JSONValue] = [:], script: @escaping @Sendable (Int, ScriptedSocket) async throws -> Void,
        body: (UpstreamWorld, Int) async throws -> Void
    ) async throws {
        let data = NSTemporaryDirectory() + "nacre-gateway-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: data) }
        try await UpstreamWorld.run(script: script) { world in
            var upstream: [String: JSONValue] = [
                "origin": .string("http://127.0.0.1:\(world.port)"), "anonymous": ["/api/"],
            ]
            for (name, value) in extra { upstream[name] = value }
            var configuration = try ServerConfiguration(
                json: [
                    "data": .string(data), "listen": ["port": 0], "upstream": .object(upstream),
                    "provider": ["listen": ["port": 0], "issuer": "http://localhost:8902"],
                ], file: "nacre.server.json", environment: ["NACRE_ENV": "development"]
            ) { _ in "" }
            configuration.stopGrace = .milliseconds(200)
            let server = try await NacreServer(configuration, log: .none)
            let port = try await server.start()[0].port
            try await ending(after: { try await body(world, port) }) { await server.stop() }
        }
    }

    private func exchange(_ port: Int, _ text: String, within limit: Duration = .seconds(60)) async throws -> String {
        let loops = try EventLoops()
        defer { loops.stop() }
        let socket = try await LoopSocket.connect(host: "127.0.0.1", port: port, on: loops.next())
        try? await socket.write(Array(text.utf8))
        let answer = try await socket.readAll(until: .after(limit))
        socket.closeNow()
        return answer
    }

    /// Answers every request, and keeps what it read.
    private static func plain(_ number: Int, _ socket: ScriptedSocket) async throws {
        while true {
            let head = try await socket.request()
            if case .length(let count) = head.framing { try await socket.read(count) }
            if head.framing == .chunked {
                _ = try await socket.socket.read(through: "0\r\n\r\n")
            }
            try await socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
    }

    @Test(
        "request smuggling: the upstream never sees a request that was hidden in another",
        arguments: [
            "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /api/hidden HTTP/1.1\r\nHost: a\r\n\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n2e\r\nGET /api/hidden HTTP/1.1\r\nHost: a\r\n\r\n0\r\n\r\n",
            "Transfer-Encoding: xchunked\r\nContent-Length: 4\r\n\r\nGET /api/hidden HTTP/1.1\r\nHost: a\r\n\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\nGET /api/hidden HTTP/1.1\r\nHost: a\r\n\r\n",
            "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\nGET /api/hidden HTTP/1.1\r\nHost: a\r\n\r\n",
            "Content-Length: 0\r\nContent-Length: 44\r\n\r\nGET /api/hidden HTTP/1.1\r\nHost: a\r\n\r\n",
            "X: a\nContent-Length: 0\r\n\r\nGET /api/hidden HTTP/1.1\r\nHost: a\r\n\r\n",
            "Content-Length: +0\r\n\r\nGET /api/hidden HTTP/1.1\r\nHost: a\r\n\r\n",
            "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\nGET /api/hidden HTTP/1.1\r\nHost: a\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\n0;\nGET /api/hidden HTTP/1.1\r\nHost: a\r\n\r\n",
        ])
    func smuggling(rest: String) async throws {
        try await run(script: Self.plain) { world, port in
            let answer = try await exchange(port, "POST /api/x HTTP/1.1\r\nHost: a\r\n" + rest)
            #expect(answer.hasPrefix("HTTP/1.1 4") || answer.hasPrefix("HTTP/1.1 501"), "\(answer.prefix(60))")
            #expect(world.requests.all.allSatisfy { !$0.contains("hidden") })
        }
    }

    @Test func `a body that holds a request stays a body`() async throws {
        try await run(script: Self.plain) { world, port in
            let hidden = "GET /api/hidden HTTP/1.1\r\nHost: a\r\n\r\n"
            let answer = try await exchange(
                port,
                "POST /api/x HTTP/1.1\r\nHost: a\r\nContent-Length: \(hidden.utf8.count)\r\n\r\n\(hidden)"
                    + "GET /api/y HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            #expect(answer.split(separator: "HTTP/1.1 200").count == 2)
            #expect(world.requests.all == ["POST /api/x", "GET /api/y"])
        }
    }

    @Test func `a head of 100 kB is refused, from either side`() async throws {
        try await run(script: { _, socket in
            try await socket.request()
            try await socket.write("HTTP/1.1 200 OK\r\nX: " + String(repeating: "a", count: 100_000) + "\r\n\r\n")
        }) { world, port in
            let long = "GET /api/x HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "a", count: 100_000) + "\r\n\r\n"
            #expect(try await exchange(port, long).contains("431"))
            #expect(world.requests.all.isEmpty)
            let answer = try await exchange(port, "GET /api/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 502") && answer.contains("upstream.protocol"))
        }
    }

    @Test func `an upstream that dies in the middle is seen as broken, not as finished`() async throws {
        try await run(script: { _, socket in
            let target = try await socket.request().target
            let framing = target == "/api/length" ? "Content-Length: 100" : "Transfer-Encoding: chunked"
            try await socket.write("HTTP/1.1 200 OK\r\n\(framing)\r\n\r\n5\r\nhello\r\n")
        }) { _, port in
            let chunked = try await exchange(port, "GET /api/chunked HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(chunked.contains("hello") && !chunked.contains("\r\n0\r\n\r\n"))
            let length = try await exchange(port, "GET /api/length HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(length.contains("hello") && length.contains("Content-Length: 100"))
        }
    }

    @Test func `a client that stops reading does not fill our memory`() async throws {
        let sent = Counter()
        try await run(script: { _, socket in
            try await socket.request()
            try await socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
            let piece = [UInt8](repeating: 0, count: 100_000)
            while true {
                try await socket.socket.write(piece)
                sent.add()
            }
        }) { _, port in
            let loops = try EventLoops()
            defer { loops.stop() }
            let client = try await LoopSocket.connect(host: "127.0.0.1", port: port, on: loops.next())
            try await client.write(Array("GET /api/x HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
            // Counted in bytes, not in this process's memory, which other suites use at the same time.
            let still = try await standstill(below: 100_000_000 / 100_000) { sent.value }
            #expect(still != nil, "\(sent.value * 100_000) bytes of the upstream were read although nobody takes them")
            client.closeNow()
        }
    }

    @Test func `a WebSocket passes; a flood that its reader does not take stays in the sockets`() async throws {
        let (written, mayRead, read) = (Counter(), Counter(), Counter())
        try await run(script: { _, socket in
            try await socket.request()
            try await socket.write(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                    + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
            let hello = try await socket.socket.read() ?? []
            try await socket.socket.write(hello)
            _ = try await settled(at: 1) { mayRead.value }
            while try await socket.socket.read() != nil { read.add() }
        }) { _, port in
            let loops = try EventLoops()
            defer { loops.stop() }
            let client = try await LoopSocket.connect(host: "127.0.0.1", port: port, on: loops.next())
            try await client.write(
                Array(
                    ("GET /api/ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").utf8))
            let head = try await client.read(through: "\r\n\r\n")
            #expect(head.hasPrefix("HTTP/1.1 101") && head.contains("Sec-WebSocket-Accept"))
            try await client.write(Array("hello".utf8))
            #expect(try await client.read(through: "hello") == "hello")
            let piece = [UInt8](repeating: 1, count: 1_000_000)
            let flood = Task {
                while !Task.isCancelled, written.value < 200 {
                    try await client.write(piece)
                    written.add()
                }
            }
            let still = try await standstill(below: 100) { written.value }
            #expect(still != nil, "\(written.value) MB were taken although nobody reads them")
            mayRead.add()
            let later = try await settled(at: true) { read.value > 0 && written.value > still ?? 0 }
            #expect(later, "the flood goes on once it is read")
            flood.cancel()
            _ = try? await flood.value
            client.closeNow()
        }
    }

    @Test func `a half-open client is let go when it takes nothing, and a WebSocket that is idle ends`() async throws {
        let gone = Counter()
        try await run(
            ["webSocketIdle": 1],
            script: { _, socket in
                try await socket.request()
                try await socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")
                while try await socket.socket.read() != nil {}
                gone.add()
            }
        ) { _, port in
            let loops = try EventLoops()
            defer { loops.stop() }
            let client = try await LoopSocket.connect(host: "127.0.0.1", port: port, on: loops.next())
            try await client.write(
                Array(
                    ("GET /api/ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").utf8))
            _ = try await client.read(through: "\r\n\r\n")
            #expect(try await settled(at: 1) { gone.value } == 1)
        }
    }
}
