// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Synchronization
import Testing

@testable import NacreListener

extension ListenerSocketTests {
    @Suite("Clients that leave, drip or stall")
    struct Leaving {
        private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

        /// Answers nothing until its task is cancelled, and counts that.
        private static func hang(_ cancelled: Counter) async throws -> HTTPResponse {
            do {
                try await Task.sleep(for: .seconds(600))
            } catch {
                cancelled.add()
                throw error
            }
            return HTTPResponse()
        }

        /// One event, then silence until cancelled.
        private static func events(_ cancelled: Counter) -> HTTPResponse {
            let first = Mutex(true)
            let stream = ByteStream {
                if first.withLock({ first in
                    defer { first = false }
                    return first
                }) {
                    return Array("data: 1\n\n".utf8)
                }
                do {
                    try await Task.sleep(for: .seconds(600))
                } catch {
                    cancelled.add()
                    throw error
                }
                return nil
            }
            return HTTPResponse(fields: ["Content-Type": "text/event-stream"], body: .stream(stream, length: nil))
        }

        @Test("A client that leaves cancels its handler's task")
        func clientGone() async throws {
            let cancelled = Counter()
            let started = Counter()
            try await ListenerWorld.run { request, _ in
                _ = try await request.body.collect(upTo: 100)
                started.add()
                return try await Self.hang(cancelled)
            } body: { world in
                for text in [Self.get, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"] {
                    let socket = try await world.connect()
                    let before = started.value
                    try await socket.write(text)
                    #expect(try await settled(at: before + 1) { started.value } == before + 1)
                    socket.closeNow()
                }
                #expect(try await settled(at: 2) { cancelled.value } == 2)
                #expect(try await world.descriptors(settleAt: 1) == 1)
            }
        }

        @Test("A client that has only ended its half still gets a quick answer")
        func halfClose() async throws {
            try await ListenerWorld.run { _, _ in
                HTTPResponse(body: .text("here"))
            } body: { world in
                let socket = try await world.connect()
                try await socket.write(Self.get)
                try await socket.finishWriting()
                #expect(try await socket.readAll(until: .after(.seconds(30))).hasSuffix("here"))
            }
        }

        @Test("A half-sent body is an error for the handler, not a short body")
        func truncatedBody() async throws {
            let errors = Mutex<[String]>([])
            try await ListenerWorld.run { request, _ in
                do {
                    _ = try await request.body.collect(upTo: 100)
                } catch let error as NacreError {
                    errors.withLock { $0.append(error.code.rawValue) }
                    throw error
                }
                return HTTPResponse()
            } body: { world in
                let socket = try await world.connect()
                try await socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf")
                try await socket.finishWriting()
                #expect(try await socket.readAll(until: .after(.seconds(30))).hasPrefix("HTTP/1.1 400 "))
                #expect(errors.withLock { $0 } == ["http.body_incomplete"])
            }
        }

        @Test("2,000 event streams dropped at once leave no descriptor and no task")
        func manyEventStreams() async throws {
            let cancelled = Counter()
            try await ListenerWorld.run { _, _ in
                Self.events(cancelled)
            } body: { world in
                var sockets: [LoopSocket] = []
                for _ in 0..<2000 { sockets.append(try await world.connect()) }
                for socket in sockets { try await socket.write(Self.get) }
                for socket in sockets { #expect(try await socket.read(through: "data: 1").contains("200 OK")) }
                #expect(world.serverDescriptors == 2001)
                for socket in sockets { socket.closeNow() }
                #expect(try await world.descriptors(settleAt: 1) == 1)
                #expect(try await settled(at: 2000) { cancelled.value } == 2000)
            }
        }

        @Test("500 waiting handlers at stop: a clean stop, all cancelled, nothing open")
        func stopWithWaitingHandlers() async throws {
            let (started, cancelled) = (Counter(), Counter())
            try await ListenerWorld.run { _, _ in
                started.add()
                return try await Self.hang(cancelled)
            } body: { world in
                var sockets: [LoopSocket] = []
                for _ in 0..<500 {
                    let socket = try await world.connect()
                    try await socket.write(Self.get)
                    sockets.append(socket)
                }
                #expect(try await settled(at: 500) { started.value } == 500)
                let clock = ContinuousClock()
                let time = await clock.measure { await world.listener.stop(grace: .milliseconds(100)) }
                #expect(time < .seconds(30))
                #expect(try await settled(at: 500) { cancelled.value } == 500)
                #expect(world.serverDescriptors == 0)
                for socket in sockets { #expect(try await socket.readAll(until: .after(.seconds(30))) != "x") }
            }
        }

        @Test("A handler that ignores its cancellation does not hold up the stop or keep its descriptor")
        func stubbornHandler() async throws {
            let started = Counter()
            let gate = Mutex<CheckedContinuation<Void, Never>?>(nil)
            try await ListenerWorld.run { _, _ in
                await withCheckedContinuation { continuation in
                    gate.withLock { $0 = continuation }
                    started.add()
                }
                return HTTPResponse()
            } body: { world in
                let socket = try await world.connect()
                try await socket.write(Self.get)
                _ = try await settled(at: 1) { started.value }
                await world.listener.stop(grace: .milliseconds(50))
                #expect(world.serverDescriptors == 0)
                gate.withLock { $0.take() }?.resume()
            }
        }

        @Test("Requests in flight are finished within the grace; idle connections end at once")
        func graceful() async throws {
            let (started, stopping) = (Counter(), Counter())
            try await ListenerWorld.run { request, _ in
                started.add()
                if request.target == "/slow" { _ = try await settled(at: 1) { stopping.value } }
                return HTTPResponse(body: .text("done"))
            } body: { world in
                let (idle, busy) = (try await world.connect(), try await world.connect())
                try await idle.write(Self.get)
                _ = try await idle.read(through: "done")
                try await busy.write("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = try await settled(at: 2) { started.value }
                async let stopped: Void = world.listener.stop(grace: .seconds(60))
                #expect(try await idle.readAll(until: .after(.seconds(30))) == "")
                // One is told after the other, the busy one perhaps last.
                try await Task.sleep(for: .seconds(1))
                stopping.add()
                let answer = try await busy.readAll(until: .after(.seconds(30)))
                #expect(answer.contains("Connection: close") && answer.hasSuffix("done"))
                await stopped
                await #expect(throws: NacreError.self) { try await world.connect() }
            }
        }

        @Test("A head that drips is closed at its deadline, a silent connection too")
        func drip() async throws {
            try await ListenerWorld.run {
                $0.headTime = .milliseconds(500)
            } respond: { _, _ in
                HTTPResponse()
            } body: { world in
                let (silent, dripping) = (try await world.connect(), try await world.connect())
                let clock = ContinuousClock()
                let start = clock.now
                let reader = Task { try await dripping.readAll(until: .after(.seconds(60))) }
                for byte in Array("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "y", count: 800))".utf8) {
                    guard (try? await dripping.write([byte])) != nil, clock.now - start < .seconds(31) else { break }
                    try await Task.sleep(for: .milliseconds(40))
                }
                let answer = try await reader.value
                #expect(answer.hasPrefix("HTTP/1.1 408 "), "\(answer)")
                #expect(clock.now - start < .seconds(30))
                #expect(try await silent.readAll(until: .after(.seconds(30))).hasPrefix("HTTP/1.1 408 ") == false)
            }
        }

        @Test("A client that takes no bytes is dropped after the stall limit")
        func stalledDownload() async throws {
            let ended = Counter()
            try await ListenerWorld.run {
                $0.writeStall = .milliseconds(400)
            } respond: { _, _ in
                let guardian = Ending { ended.add() }
                return HTTPResponse(
                    body: .stream(
                        ByteStream { withExtendedLifetime(guardian) { [UInt8](repeating: 1, count: 65_536) } },
                        length: nil))
            } body: { world in
                let socket = try await world.connect()
                try await socket.write(Self.get)
                #expect(try await settled(at: 1) { ended.value } == 1)
                #expect(try await world.descriptors(settleAt: 1) == 1)
            }
        }

        @Test("A stalled download does not hold up the stop")
        func stopWithStalledDownload() async throws {
            try await ListenerWorld.run { _, _ in
                HTTPResponse(body: .stream(ByteStream { [UInt8](repeating: 1, count: 65_536) }, length: nil))
            } body: { world in
                let socket = try await world.connect()
                try await socket.write(Self.get)
                try await Task.sleep(for: .milliseconds(300))
                let time = await ContinuousClock().measure { await world.listener.stop(grace: .milliseconds(50)) }
                #expect(time < .seconds(30))
                #expect(world.serverDescriptors == 0)
            }
        }

        @Test("A connection beyond the limit is refused and the others go on")
        func connectionLimit() async throws {
            try await ListenerWorld.run {
                $0.connections = 2
            } respond: { _, _ in
                HTTPResponse(body: .text("fine"))
            } body: { world in
                let kept = (try await world.connect(), try await world.connect())
                try await kept.0.write(Self.get)
                try await kept.1.write(Self.get)
                _ = try await kept.0.read(through: "fine")
                _ = try await kept.1.read(through: "fine")
                #expect(try await world.exchange("").hasPrefix("HTTP/1.1 503 "))
                kept.0.closeNow()
                _ = try await world.descriptors(settleAt: 2)
                let next = try await world.connect()
                try await next.write(Self.get)
                #expect(try await next.read(through: "fine").contains("200 OK"))
            }
        }

        @Test("An idle connection is closed after the idle time")
        func idle() async throws {
            try await ListenerWorld.run {
                $0.idleTime = .milliseconds(200)
            } respond: { _, _ in
                HTTPResponse(body: .text("fine"))
            } body: { world in
                let socket = try await world.connect()
                try await socket.write(Self.get)
                #expect(try await socket.readAll(until: .after(.seconds(30))).hasSuffix("fine"))
            }
        }

        @Test("A body that stops arriving ends in 408")
        func bodyStall() async throws {
            try await ListenerWorld.run {
                $0.bodyStall = .milliseconds(200)
            } respond: { request, _ in
                HTTPResponse(body: .bytes(try await request.body.collect(upTo: 100)))
            } body: { world in
                let answer = try await world.exchange("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf")
                #expect(answer.hasPrefix("HTTP/1.1 408 "), "\(answer)")
            }
        }

        @Test("A taken port is named in the error with what to do")
        func takenPort() async throws {
            try await ListenerWorld.run { _, _ in
                HTTPResponse()
            } body: { world in
                let second = HTTPListener(
                    configuration: ListenerConfiguration(host: "127.0.0.1", port: world.port),
                    responder: NotFound(), log: .none)
                let error = await #expect(throws: NacreError.self) { try await second.start() }
                #expect(error?.code == "listener.bind")
                #expect(
                    error?.message.contains("\(world.port)") == true && error?.message.contains("127.0.0.1") == true)
                await second.stop(grace: .zero)
            }
        }
    }
}

/// Calls back when nobody holds it any more.
private final class Ending: Sendable {
    private let action: @Sendable () -> Void
    init(_ action: @escaping @Sendable () -> Void) { self.action = action }
    deinit { action() }
}
