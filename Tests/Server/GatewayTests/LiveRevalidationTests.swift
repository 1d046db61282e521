// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreSessions
import NacreTesting
import Synchronization
import Testing

@testable import NacreGateway

@Suite("HO-13: open connections and the end of their session", .timeLimit(.minutes(1))) struct LiveRevalidationTests {
    private let age: Duration = .seconds(12 * 3600)

    private func fixture(_ change: (inout GatewayConfiguration) -> Void = { _ in }) async throws -> GatewayFixture {
        let fixture = try await GatewayFixture {
            $0.upstream?.webSocketIdle = .seconds(400 * 86400)
            change(&$0)
        }
        fixture.upstream.answer { request in
            guard request.fields["Upgrade"] == "websocket" else {
                return HTTPResponse(
                    fields: ["Content-Type": "text/event-stream"], body: .stream(BytePipe().stream, length: nil))
            }
            return HTTPResponse(status: .switchingProtocols, fields: ["Upgrade": "websocket"]) { client in
                while let bytes = try await client.read() { try await client.write(bytes) }
                try await client.finishWriting()
            }
        }
        return fixture
    }

    /// A WebSocket of the app's, and the task that carries it.
    private func open(_ app: TestBrowser) async throws -> (near: MemoryDuplex, running: Task<Void, any Error>) {
        let answer = try await app.send(.get, "/api/ws", fields: WebSocketTests.handshake)
        let upgrade = try #require(answer.upgrade)
        let (near, far) = MemoryDuplex.pair()
        return (near, Task { try await upgrade(far) })
    }

    @Test("HO-13: after twelve hours a WebSocket is asked about, and closed with 1008 when the provider refuses")
    func refused() async throws {
        let fixture = try await fixture()
        let (app, _) = try await fixture.signedInApp()
        let (near, running) = try await open(app)
        fixture.time.advance(by: age - .seconds(1))
        await fixture.gateway.lookAtLiveConnections()
        #expect(try await fixture.refreshes() == 0)
        fixture.provider.revokeRefreshTokens()
        fixture.time.advance(by: .seconds(1))
        await fixture.gateway.lookAtLiveConnections()
        #expect(try await near.read() == WebSocketFrames.close(1008, "session.ended"))
        #expect(try await near.read() == nil)
        try await near.finishWriting()
        try await running.value
        #expect(fixture.gateway.liveConnectionCount == 0)
        #expect(try await app.send(.get, "/api/v1.0/users/me/").status == .unauthorized)
    }

    @Test("HO-13: a session that the provider renews keeps its connections; it is asked once for all of them")
    func renewed() async throws {
        let fixture = try await fixture()
        let (app, _) = try await fixture.signedInApp()
        let sockets = [try await open(app), try await open(app)]
        let events = try await app.send(.get, "/api/events")
        for day in 1...3 {
            fixture.time.advance(by: age)
            await fixture.gateway.lookAtLiveConnections()
            await fixture.gateway.lookAtLiveConnections()
            #expect(try await fixture.refreshes() == day)
            #expect(fixture.gateway.liveConnectionCount == 3)
        }
        try await sockets[0].near.write([0x82, 1, 9])
        #expect(try await sockets[0].near.read() == [0x82, 1, 9])
        fixture.provider.revokeRefreshTokens()
        fixture.time.advance(by: age)
        await fixture.gateway.lookAtLiveConnections()
        // The reader of an event stream sees a clean end; its next request is told.
        #expect(try await events.body.stream.next() == nil)
        for socket in sockets {
            #expect(try await socket.near.read() == WebSocketFrames.close(1008, "session.ended"))
            try await socket.near.finishWriting()
            try await socket.running.value
        }
    }

    @Test("HO-13: while the provider is down connections stay for the grace, and no longer")
    func grace() async throws {
        let fixture = try await fixture()
        let (app, _) = try await fixture.signedInApp()
        let events = try await app.send(.get, "/api/events")
        fixture.provider.faults = [.down]
        fixture.time.advance(by: age)
        await fixture.gateway.lookAtLiveConnections()
        fixture.time.advance(by: .seconds(24 * 3600 - 1))
        await fixture.gateway.lookAtLiveConnections()
        #expect(fixture.gateway.liveConnectionCount == 1)
        fixture.time.advance(by: .seconds(61))
        await fixture.gateway.lookAtLiveConnections()
        #expect(try await events.body.stream.next() == nil)
    }

    @Test("the session's windows: what nobody used, or is too old, takes its connections along")
    func windows() async throws {
        for change: @Sendable (inout GatewayConfiguration) -> Void in [
            { $0.sessions.idle = .seconds(3600) }, { $0.sessions.absolute = .seconds(3600) },
        ] {
            let fixture = try await fixture(change)
            let (app, _) = try await fixture.signedInApp()
            let events = try await app.send(.get, "/api/events")
            fixture.time.advance(by: .seconds(3599))
            #expect(fixture.gateway.liveConnectionCount == 1)
            fixture.time.advance(by: .seconds(1))
            await fixture.gateway.lookAtLiveConnections()
            #expect(try await events.body.stream.next() == nil)
        }
    }

    private func sample(_ fixture: GatewayFixture, absolute: Duration) async throws -> Session {
        let store = SessionStore(
            database: fixture.database, sealing: .init(random: SeededRandom(3)),
            policy: SessionPolicy(absolute: absolute), time: fixture.time, random: SeededRandom(4))
        return try await store.begin(
            Authentication(method: "oidc", issuer: "http://idp.test", subject: "s"), device: nil
        ).session
    }

    @Test("a database that does not answer closes nothing, until the session is too old in any case")
    func outage() async throws {
        let fixture = try await fixture()
        let session = try await sample(fixture, absolute: .seconds(86400))
        let live = LiveConnections(events: SessionEvents(), limit: 10)
        let connection = try #require(live.begin(owner: "a", session: session))
        for hours in [12, 13, 23] {
            let moment = session.createdAt + .seconds(hours * 3600)
            await live.look(now: moment) { _, _ in throw NacreError("database.busy", "no") }
            #expect(connection.reason == nil)
        }
        await live.look(now: session.createdAt + .seconds(86400)) { _, _ in throw NacreError("database.busy", "no") }
        #expect(connection.reason == "expired")
    }

    @Test("a session that is gone without a word takes its connections along")
    func absent() async throws {
        let fixture = try await fixture()
        let session = try await sample(fixture, absolute: .seconds(30 * 86400))
        let live = LiveConnections(events: SessionEvents(), limit: 10)
        let connection = try #require(live.begin(owner: "a", session: session))
        let other = try #require(live.begin(owner: "b", session: nil))
        await live.look(now: session.revalidateAt) { id, presentation in
            #expect(id == session.id && presentation == .cookie)
            return .absent
        }
        #expect(connection.reason == "expired" && other.reason == nil)
        for one in [connection, other] { one.end() }
        await live.look(now: session.revalidateAt) { _, _ in
            Issue.record("nothing is open any more")
            return .absent
        }
    }

    @Test("a close frame never stands inside another frame")
    func insideFrame() async throws {
        let (near, far) = MemoryDuplex.pair()
        let watched = WatchedStream(far, time: ManualTime())
        // The head says five bytes, two have come.
        try await watched.write([0x81, 5, 0x68, 0x69])
        await watched.end("signed_out")
        #expect(try await near.read() == [0x81, 5, 0x68, 0x69])
        #expect(try await near.read() == nil)
    }

    @Test("nothing passes an ended WebSocket any more, in either direction")
    func afterEnd() async throws {
        let time = ManualTime()
        let (near, far) = MemoryDuplex.pair()
        let watched = WatchedStream(far, time: time)
        try await watched.write([0x82, 1, 9])
        #expect(try await near.read() == [0x82, 1, 9])
        let ended = Task { await watched.end("signed_out") }
        #expect(try await near.read() == WebSocketFrames.close(1008, "session.ended"))
        try await near.write([1, 2, 3])
        try await watched.write([0x82, 1, 10])
        try await near.finishWriting()
        #expect(try await watched.read() == nil)
        await ended.value
        #expect(try await near.read() == nil)
    }

    @Test("a client that does not leave is closed after two seconds")
    func stubborn() async throws {
        let time = ManualTime()
        let (near, far) = MemoryDuplex.pair()
        let watched = WatchedStream(far, time: time)
        let ended = Task { await watched.end(LiveConnections.stopping) }
        #expect(try await near.read() == WebSocketFrames.close(1001, "stopping"))
        try await until { time.sleeperCount == 1 }
        time.advance(by: WatchedStream.patience)
        await ended.value
        await #expect(throws: NacreError.self) { try await near.write([1]) }
    }

    @Test("frames are followed whatever pieces they come in")
    func frames() {
        let long = [UInt8](repeating: 7, count: 70_000)
        let frames: [[UInt8]] = [
            [0x81, 0], [0x01, 3, 1, 2, 3], [0x89, 0], [0x80, 0x82, 1, 2, 3, 4, 5, 6],
            [0x82, 126, 0, 200] + long.prefix(200), [0x82, 127, 0, 0, 0, 0, 0, 1, 0x11, 0x70] + long,
        ]
        let all = frames.flatMap { $0 }
        var ends: Set<Int> = [0]
        for frame in frames { ends.insert((ends.max() ?? 0) + frame.count) }
        for size in [1, 2, 3, 7, 199, 65_536] {
            var follower = WebSocketFrames()
            var place = 0
            while place < all.count {
                let piece = Array(all[place..<min(place + size, all.count)])
                follower.pass(piece)
                place += piece.count
                #expect(follower.isBetweenFrames == ends.contains(place), "at \(place) in pieces of \(size)")
            }
        }
        var closed = WebSocketFrames()
        closed.pass([0x88, 2, 3, 0xE8])
        #expect(!closed.isBetweenFrames && closed.hasClosed)
    }
}
