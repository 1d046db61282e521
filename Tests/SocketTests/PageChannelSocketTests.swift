// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreListener
import NacreRouting
import Synchronization
import Testing

@testable import NacrePage

/// WebSockets of the page.
@Suite("Page channel: WebSockets", .serialized)
struct PageChannelSocketTests {
    /// A server that accepts and sends everything back.
    static var echo: HTTPResponse {
        HTTPResponse(
            status: .switchingProtocols,
            fields: ["Upgrade": "websocket", "Sec-WebSocket-Accept": "proof", "Sec-WebSocket-Protocol": "mail"]
        ) { stream in
            try await stream.write(Array("hello ".utf8))
            while let bytes = try await stream.read() {
                if bytes == Array("quit".utf8) { return }
                try await stream.write(bytes)
            }
            try await stream.finishWriting()
        }
    }

    static func handshake(_ host: String, site: String = "same-site", origin: String? = "https://localhost") -> String {
        "GET /ws HTTP/1.1\r\nHost: \(host)\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a2V5\r\n"
            + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: mail\r\nSec-Fetch-Site: \(site)\r\n"
            + "Sec-Fetch-Mode: websocket\r\nSec-Fetch-Dest: websocket\r\nCookie: page=1\r\n"
            + (origin.map { "Origin: \($0)\r\n" } ?? "") + "\r\n"
    }

    @Test("NB-13: a WebSocket reaches a TLS upstream with the session and the API's Origin, bytes both ways")
    func passThrough() async throws {
        let seen = Mutex<HTTPRequest?>(nil)
        try await PageChannelWorld.run(respond: { request, _ in
            seen.withLock { $0 = request }
            return Self.echo
        }) { world in
            let client = try await world.inside(world.api)
            try await client.send(Self.handshake(world.api))
            let head = try await client.read(through: "\r\n\r\n")
            #expect(head.hasPrefix("HTTP/1.1 101"))
            #expect(head.contains("Sec-WebSocket-Accept: proof\r\n"))
            #expect(head.contains("Sec-WebSocket-Protocol: mail\r\n"))
            #expect(try await client.read(through: "hello ") == "hello ")
            let big = String(repeating: "frame", count: 40_000)
            try await client.send(big + "!")
            #expect(try await client.read(through: "!") == big + "!")
            let request = try #require(seen.withLock { $0 })
            #expect(request.fields.values("Cookie") == ["session=native"])
            #expect(request.fields.values("Origin") == ["https://\(world.api)"])
            #expect(request.fields["Sec-WebSocket-Key"] == "a2V5")
            #expect(request.fields["Sec-Fetch-Site"] == nil)
            // The server closes: the page sees the end.
            try await client.send("quit")
            #expect(await client.endsSoon())
        }
    }

    @Test("Much at once in both directions does not stand still")
    func bothWaysAtOnce() async throws {
        try await PageChannelWorld.run(respond: { _, _ in
            HTTPResponse(status: .switchingProtocols, fields: ["Upgrade": "websocket"]) { stream in
                while let bytes = try await stream.read() { try await stream.write(bytes) }
                try await stream.finishWriting()
            }
        }) { world in
            let client = try await world.inside(world.api)
            try await client.send(Self.handshake(world.api))
            _ = try await client.read(through: "\r\n\r\n")
            let total = 24_000_000
            // Nothing is read for a while, so that every buffer on the way fills up.
            let writer = Task {
                let piece = [UInt8](repeating: 7, count: 60_000)
                for _ in 0..<(total / piece.count) { try await client.stream.write(piece) }
            }
            try await Task.sleep(for: .milliseconds(300))
            let got = try await withTimeLimit(
                .seconds(30), time: SystemTime(), timeout: { NacreError("test.timeout", "standing still") },
                operation: {
                    var got = 0
                    while got < total, let bytes = try await client.stream.read() { got += bytes.count }
                    return got
                })
            try await writer.value
            #expect(got == total)
        }
    }

    @Test("NB-13: the page's leaving closes the socket upstream")
    func pageLeaves() async throws {
        let ended = Mutex(false)
        try await PageChannelWorld.run(respond: { _, _ in
            HTTPResponse(status: .switchingProtocols, fields: ["Upgrade": "websocket"]) { stream in
                while (try? await stream.read()) ?? nil != nil {}
                ended.withLock { $0 = true }
            }
        }) { world in
            let client = try await world.inside(world.api)
            try await client.send(Self.handshake(world.api))
            _ = try await client.read(through: "\r\n\r\n")
            await client.close()
            #expect(try await settled(at: true) { ended.withLock { $0 } })
        }
    }

    @Test(
        "NB-13: sandboxed and foreign frames get no WebSocket",
        arguments: [
            ("cross-site", "null"), ("cross-site", "https://localhost"), ("same-site", "https://docs.localhost"),
            ("none", "https://localhost"),
        ])
    func frames(_ site: String, _ origin: String) async throws {
        try await PageChannelWorld.run(respond: { _, _ in Self.echo }) { world in
            let client = try await world.inside(world.api)
            let answer = try await client.exchange(Self.handshake(world.api, site: site, origin: origin))
            #expect(answer.head.hasPrefix("HTTP/1.1 403"))
        }
    }

    @Test("A server that refuses the handshake is passed on as it answered")
    func refused() async throws {
        try await PageChannelWorld.run(respond: { _, _ in HTTPResponse(status: .unauthorized, body: .text("no")) }) {
            world in
            let answer = try await world.inside(world.api).exchange(Self.handshake(world.api))
            #expect(answer.head.hasPrefix("HTTP/1.1 401"))
        }
    }

    @Test("A WebSocket server whose certificate is not trusted, or names another host, is not talked to")
    func untrusted() async throws {
        try await PageChannelWorld.run({ $0.trustsUpstream = false }, respond: { _, _ in Self.echo }) { world in
            let answer = try await world.inside(world.api).exchange(Self.handshake(world.api))
            #expect(answer.head.hasPrefix("HTTP/1.1 502"))
            #expect(answer.head.contains("X-Nacre-Reason: transport.tls\r\n"))
        }
        try await PageChannelWorld.run(respond: { _, _ in Self.echo }) { world in
            let raw = try await world.tunnel(world.api)
            let trust = try TLSTrust(additionalPEM: world.endpoint.certificatePEM)
            let error = await #expect(throws: NacreError.self) {
                try await TLSClientStream.connect(over: raw, host: "other.example", trust: trust)
            }
            #expect(error?.code == "transport.tls")
        }
    }

    @Test("SH-2: the development server's hot-reload socket passes under the page's own host")
    func hotReload() async throws {
        let seen = Mutex<HTTPRequest?>(nil)
        try await PageChannelWorld.run(
            {
                $0.isDevServer = true
                $0.upstreamTLS = false
            },
            respond: { request, _ in
                seen.withLock { $0 = request }
                return request.fields["Upgrade"] != nil ? Self.echo : HTTPResponse(body: .text("dev \(request.target)"))
            }
        ) { world in
            let client = try await world.page()
            let page = try await client.exchange(
                "GET /src/main.ts HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\n\r\n")
            #expect(page.body == "dev /src/main.ts")
            try await client.send(Self.handshake("localhost", site: "same-origin"))
            #expect(try await client.read(through: "hello ").hasPrefix("HTTP/1.1 101"))
            let request = try #require(seen.withLock { $0 })
            #expect(request.authority == "localhost:\(world.upstreamPort)")
            #expect(request.fields["Origin"] == "http://localhost:\(world.upstreamPort)")
        }
    }
}
