// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreRouting
import NacreSessions
import NacreTesting
import Synchronization
import Testing

@testable import NacreGateway

/// A connection in memory: what one side writes, the other reads.
final class MemoryDuplex: DuplexStream {
    private let incoming: BytePipe
    private let outgoing: BytePipe
    private init(_ incoming: BytePipe, _ outgoing: BytePipe) { (self.incoming, self.outgoing) = (incoming, outgoing) }

    static func pair() -> (MemoryDuplex, MemoryDuplex) {
        let (a, b) = (BytePipe(), BytePipe())
        return (MemoryDuplex(a, b), MemoryDuplex(b, a))
    }

    func read() async throws -> [UInt8]? { try await incoming.stream.next() }
    func write(_ bytes: [UInt8]) async throws { try await outgoing.write(bytes) }
    func finishWriting() async throws { outgoing.finish() }
    func close() async {
        incoming.cancel()
        outgoing.finish()
    }
}

@Suite(.timeLimit(.minutes(1))) struct WebSocketTests {
    static let handshake: HTTPFields = [
        "Connection": "keep-alive, Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Origin": "http://gateway.test",
    ]

    /// An upstream that echoes once the protocol has changed.
    private func echo(_ fixture: GatewayFixture) {
        fixture.upstream.answer { request in
            guard request.fields["Upgrade"] == "websocket" else { return HTTPResponse(status: .badRequest) }
            return HTTPResponse(
                status: .switchingProtocols,
                fields: ["Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Accept": "accepted"]
            ) { client in
                while let bytes = try await client.read() { try await client.write(bytes) }
                try await client.finishWriting()
            }
        }
    }

    private func with(_ changes: [String: String?]) -> HTTPFields {
        var fields = Self.handshake
        for (name, value) in changes { fields[name] = value }
        return fields
    }

    @Test func `a WebSocket passes with the identity on its handshake, and carries bytes both ways`() async throws {
        let fixture = try await GatewayFixture()
        echo(fixture)
        let (app, _) = try await fixture.signedInApp()
        let answer = try await app.send(.get, "/api/ws", fields: Self.handshake)
        #expect(answer.status == .switchingProtocols)
        #expect(answer.fields["Upgrade"] == "websocket" && answer.fields["Sec-WebSocket-Accept"] == "accepted")
        let request = try #require(fixture.upstream.requests.first)
        #expect(request.fields["X-Nacre-Identity"] != nil)
        #expect(request.fields["Sec-WebSocket-Key"] == "dGhlIHNhbXBsZSBub25jZQ==")
        let (near, far) = MemoryDuplex.pair()
        let upgrade = try #require(answer.upgrade)
        async let running: Void = upgrade(far)
        try await near.write([1, 2, 3])
        #expect(try await near.read() == [1, 2, 3])
        #expect(fixture.gateway.liveConnectionCount == 1)
        try await near.finishWriting()
        try await running
        #expect(fixture.gateway.liveConnectionCount == 0)
    }

    @Test(
        "a WebSocket with our cookie from a foreign page is refused (cross-site WebSocket hijacking)",
        arguments: ["https://evil.test", "null", "http://gateway.test.evil.test", "http://gateway.test:81", nil])
    func foreignOrigin(origin: String?) async throws {
        let fixture = try await GatewayFixture()
        echo(fixture)
        let (app, csrf) = try await fixture.signedInApp()
        let answer = try await app.send(.get, "/api/ws", fields: with(["Origin": origin]))
        #expect(answer.status == .forbidden)
        #expect(fixture.upstream.requests.isEmpty)
        let meant = try await app.send(.get, "/api/ws", fields: with(["Origin": origin, "X-CSRFToken": csrf]))
        #expect(meant.status == .switchingProtocols)
    }

    @Test func `without a session no WebSocket is opened`() async throws {
        let fixture = try await GatewayFixture()
        echo(fixture)
        #expect(try await fixture.browser().send(.get, "/api/ws", fields: Self.handshake).status == .unauthorized)
        #expect(fixture.upstream.requests.isEmpty)
    }

    @Test(
        "a malformed handshake stays here",
        arguments: [
            (["Sec-WebSocket-Key": nil], 400), (["Sec-WebSocket-Key": "short"], 400),
            (["Sec-WebSocket-Version": "8"], 426), (["Sec-WebSocket-Version": nil], 426),
        ] as [([String: String?], Int)])
    func malformed(changes: [String: String?], status: Int) async throws {
        let fixture = try await GatewayFixture()
        let (app, csrf) = try await fixture.signedInApp()
        #expect(try await app.send(.get, "/api/ws", fields: with(changes)).status.rawValue == status)
        #expect(try await app.send(.post, "/api/ws", fields: with(["X-CSRFToken": csrf])).status == .badRequest)
        #expect(fixture.upstream.requests.isEmpty)
    }

    @Test(
        "another protocol than WebSocket is not passed on",
        arguments: ["h2c", "websocket, h2c", "TLS/1.0"])
    func otherProtocol(name: String) async throws {
        let fixture = try await GatewayFixture()
        let (app, _) = try await fixture.signedInApp()
        let answer = try await app.send(
            .get, "/api/x", fields: ["Connection": "Upgrade, HTTP2-Settings", "Upgrade": name, "HTTP2-Settings": "AAA"])
        #expect(answer.status == .ok && answer.upgrade == nil)
        let request = try #require(fixture.upstream.requests.first)
        #expect(request.fields["Upgrade"] == nil && request.fields["HTTP2-Settings"] == nil)
    }

    @Test func `an upstream that refuses a WebSocket is heard`() async throws {
        let fixture = try await GatewayFixture()
        fixture.upstream.answer { _ in .failure(.forbidden, code: "no", message: "no") }
        let (app, _) = try await fixture.signedInApp()
        #expect(try await app.send(.get, "/api/ws", fields: Self.handshake).status == .forbidden)
        #expect(fixture.gateway.liveConnectionCount == 0)
    }

    @Test func `a flood of WebSockets ends at the session's limit; one closed makes room`() async throws {
        let fixture = try await GatewayFixture { $0.upstream?.liveLimit = 3 }
        echo(fixture)
        let (app, _) = try await fixture.signedInApp()
        var open: [HTTPResponse] = []
        for _ in 0..<3 {
            let answer = try await app.send(.get, "/api/ws", fields: Self.handshake)
            #expect(answer.status == .switchingProtocols)
            open.append(answer)
        }
        let refused = try await app.send(.get, "/api/ws", fields: Self.handshake)
        #expect(refused.status == .tooManyRequests && refused.fields["Retry-After"] == "10")
        let (other, _) = try await fixture.signedInApp()
        #expect(try await other.send(.get, "/api/ws", fields: Self.handshake).status == .switchingProtocols)
        open.removeLast()
        #expect(try await app.send(.get, "/api/ws", fields: Self.handshake).status == .switchingProtocols)
    }

    @Test func `a WebSocket that carries nothing is closed, one in use is not`() async throws {
        let fixture = try await GatewayFixture { $0.upstream?.webSocketIdle = .seconds(20) }
        echo(fixture)
        let (app, _) = try await fixture.signedInApp()
        let upgrade = try #require(try await app.send(.get, "/api/ws", fields: Self.handshake).upgrade)
        let (near, far) = MemoryDuplex.pair()
        let running = Task { try await upgrade(far) }
        try await until { fixture.time.sleeperCount == 1 }
        fixture.time.advance(by: .seconds(19))
        try await near.write([0x82, 1, 9])
        #expect(try await near.read() == [0x82, 1, 9])
        fixture.time.advance(by: .seconds(19))
        try await until { fixture.time.sleeperCount == 1 }
        #expect(fixture.gateway.liveConnectionCount == 1)
        fixture.time.advance(by: .seconds(20))
        #expect(try await near.read() == WebSocketFrames.close(1001, "idle"))
        try await near.finishWriting()
        try await running.value
        #expect(fixture.gateway.liveConnectionCount == 0)
    }

    @Test func `the end of a session and the stop of the server close what is open`() async throws {
        let events = SessionEvents()
        let live = LiveConnections(events: events, limit: 10)
        let session = try await sample()
        let closed = Mutex<[String]>([])
        let first = try #require(live.begin(owner: "a", session: session))
        first.onClose { closed.withLock { $0.append("first") } }
        let second = try #require(live.begin(owner: "b", session: nil))
        second.onClose { closed.withLock { $0.append("second") } }
        events.publish([SessionEnding(session: session.id, reason: "signed_out")])
        #expect(closed.withLock { $0 } == ["first"])
        #expect(first.reason == "signed_out")
        live.closeAll("stopping")
        #expect(closed.withLock { $0 } == ["first", "second"])
        let late = try #require(live.begin(owner: "a", session: session))
        late.onClose { closed.withLock { $0.append("late") } }
        #expect(closed.withLock { $0 } == ["first", "second", "late"])
        for connection in [first, second, late] { connection.end() }
        #expect(live.count == 0)
    }

    /// A session as the store makes them.
    private func sample() async throws -> Session {
        let fixture = try await GatewayFixture()
        let store = SessionStore(
            database: fixture.database, sealing: .init(random: SeededRandom(3)), time: fixture.time,
            random: SeededRandom(4))
        return try await store.begin(
            Authentication(method: "oidc", issuer: "http://idp.test", subject: "s"), device: nil
        ).session
    }

    @Test func `an event stream is counted and ends cleanly when the server stops`() async throws {
        let fixture = try await GatewayFixture { $0.upstream?.liveLimit = 1 }
        let pipe = BytePipe()
        fixture.upstream.answer { _ in
            HTTPResponse(fields: ["Content-Type": "text/event-stream"], body: .stream(pipe.stream, length: nil))
        }
        let (app, _) = try await fixture.signedInApp()
        let answer = try await app.send(.get, "/api/events")
        #expect(answer.fields["X-Accel-Buffering"] == "no")
        try await pipe.write([1])
        #expect(try await answer.body.stream.next() == [1])
        #expect(fixture.gateway.liveConnectionCount == 1)
        #expect(try await app.send(.get, "/api/events").status == .tooManyRequests)
        fixture.gateway.closeLiveConnections()
        #expect(try await answer.body.stream.next() == nil)
    }
}
