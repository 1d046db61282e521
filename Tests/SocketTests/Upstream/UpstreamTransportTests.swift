// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreHTTP
import Synchronization
import Testing

@testable import NacreListener

@Suite("The way to an upstream, over real sockets", .serialized, .timeLimit(.minutes(2)))
struct UpstreamTransportTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test func `a connection is kept and used again`() async throws {
        try await UpstreamWorld.run(script: { _, socket in
            while true {
                try await socket.request()
                try await socket.write(Self.ok)
            }
        }) { world in
            for _ in 0..<3 { try await world.expectOK() }
            try await world.expectOK(.post, body: .bytes([]))
            #expect(world.connections.value == 1)
        }
    }

    /// The second request finds the kept connection stale: the upstream ends it without an answer.
    private static func stale(_ number: Int, _ socket: ScriptedSocket) async throws {
        try await socket.request()
        try await socket.write(ok)
        if number > 1 { return try await socket.request().method == .get ? socket.write(ok) : socket.close() }
        try await socket.request()
        socket.close()
    }

    @Test func `a GET that finds its kept connection stale is sent once more, on a new one`() async throws {
        try await UpstreamWorld.run(script: Self.stale) { world in
            try await world.expectOK()
            try await world.expectOK(.get, "/again")
            #expect(world.connections.value == 2)
            #expect(world.requests.all == ["GET /", "GET /again", "GET /again"])
        }
    }

    @Test(
        "what is unsafe or has a body is never sent twice",
        arguments: [(HTTPMethod.post, HTTPBody.none), (.delete, .none), (.put, .bytes([1])), (.get, .bytes([1]))])
    func notRepeated(method: HTTPMethod, body: HTTPBody) async throws {
        try await UpstreamWorld.run(script: Self.stale) { world in
            try await world.expectOK()
            let code = await world.failure { _ = try await world.send(method, "/once", body: body) }
            #expect(code == "transport.protocol")
            #expect(world.requests.all == ["GET /", "\(method.rawValue) /once"])
            #expect(world.connections.value == 1)
        }
    }

    @Test func `an unsafe request does not go into a connection that the upstream has left`() async throws {
        let closed = Counter()
        try await UpstreamWorld.run(script: { _, socket in
            try await socket.request()
            try await socket.write(Self.ok)
            socket.close()
            closed.add()
        }) { world in
            for number in 1...10 {
                try await world.expectOK(.post, body: .bytes([]))
                #expect(try await settled(at: number) { closed.value } == number)
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(world.connections.value == 10)
        }
    }

    @Test func `a connection that was left a moment ago is known by a look into it, before the loop hears of it`()
        async throws
    {
        let closed = Counter()
        try await UpstreamWorld.run(script: { _, socket in
            try await socket.request()
            try await socket.write(Self.ok)
            try await socket.sleep(.milliseconds(20))
            socket.close()
            closed.add()
        }) { world in
            let outcomes = Lines()
            await world.loop.spawn {
                for (number, method) in [(1, HTTPMethod.get), (2, .post)] {
                    outcomes.add(await world.failure { _ = try await world.text(method) })
                    holdThread { closed.value >= number }
                }
            }.value
            #expect(outcomes.all == ["none", "none"])
            #expect(world.connections.value == 2)
        }
    }

    @Test(
        "what is no whole answer is an error, not half an answer",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello", "HTTP/1.1 200 OK\r\nContent-Le",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloworld",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "",
            "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX: " + String(repeating: "a", count: 100_000),
            String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 9) + ok,
        ])
    func broken(answer: String) async throws {
        try await UpstreamWorld.run(script: { _, socket in
            try await socket.request()
            try await socket.write(answer)
        }) { world in
            let code = await world.failure { _ = try await world.text() }
            #expect(code == "transport.protocol")
            #expect(world.transport.idleCount == 0)
        }
    }

    @Test(
        "bytes behind an answer are never taken for the next one",
        arguments: [
            "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 204 No Content\r\n\r\n" + ok, ok + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
            "HTTP/1.1 304 Not Modified\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        ])
    func surplus(answer: String) async throws {
        try await UpstreamWorld.run(script: { number, socket in
            try await socket.request()
            try await socket.write(number == 1 ? answer : Self.ok)
            try await socket.request()
            try await socket.write(Self.ok)
        }) { world in
            _ = try await world.text()
            try await Task.sleep(for: .milliseconds(20))
            try await world.expectOK(.get, "/second")
            #expect(world.connections.value == 2)
        }
    }

    @Test func `interim answers are passed over`() async throws {
        try await UpstreamWorld.run(script: { _, socket in
            try await socket.request()
            try await socket.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + Self.ok)
        }) { world in
            let answer = try await world.send()
            #expect(answer.status == .ok && answer.fields["Link"] == nil)
        }
    }

    @Test func `an upstream that never answers, or drips its head, is given up`() async throws {
        try await UpstreamWorld.run(
            { $0.headTime = .milliseconds(300) },
            script: { number, socket in
                try await socket.request()
                if number == 1 { return try await socket.sleep(.seconds(60)) }
                try await socket.write("HTTP/1.1 200 OK\r\nX: ")
                for _ in 0..<700 {
                    try await socket.write("a")
                    try await socket.sleep(.milliseconds(50))
                }
            }
        ) { world in
            for _ in 0..<2 {
                let began = ContinuousClock().now
                #expect(await world.failure { _ = try await world.send() } == "transport.timeout")
                #expect(ContinuousClock().now - began < .seconds(30))
            }
        }
    }

    @Test func `a body that stands still is given up; an event stream may be silent`() async throws {
        try await UpstreamWorld.run(
            { $0.stall = .milliseconds(200) },
            script: { _, socket in
                let target = try await socket.request().target
                let type = target == "/events" ? "text/event-stream" : "text/plain"
                try await socket.write("HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nContent-Length: 4\r\n\r\nab")
                try await socket.sleep(target == "/events" ? .milliseconds(600) : .seconds(60))
                try await socket.write("cd")
            }
        ) { world in
            #expect(await world.failure { _ = try await world.text() } == "transport.timeout")
            let text = try await world.text(.get, "/events")
            #expect(text == "abcd")
        }
    }

    @Test("NB-6: an upload may take longer than the answer may; its time counts from the end of the upload")
    func slowUpload() async throws {
        try await UpstreamWorld.run(
            { $0.headTime = .seconds(2) },
            script: { number, socket in
                try await socket.request()
                try await socket.read(2)
                if number == 2 { try await socket.sleep(.seconds(20)) }
                try await socket.write(Self.ok)
            }
        ) { world in
            let slow = { () -> HTTPBody in
                let left = Mutex(2)
                return .stream(
                    ByteStream {
                        let now = left.withLock { left in
                            left -= 1
                            return left
                        }
                        guard now >= 0 else { return nil }
                        // Longer than the answer may take, once the upload has begun.
                        if now == 0 { try await Task.sleep(for: .seconds(3)) }
                        return [1]
                    }, length: 2)
            }
            try await world.expectOK(.post, body: slow())
            #expect(await world.failure { _ = try await world.send(.post, body: slow()) } == "transport.timeout")
        }
    }

    @Test func `an upstream that stops taking an upload is given up`() async throws {
        try await UpstreamWorld.run(
            {
                $0.headTime = .milliseconds(300); $0.stall = .milliseconds(300)
            },
            script: { _, socket in
                try await socket.request()
                try await socket.sleep(.seconds(60))
            }
        ) { world in
            let endless = HTTPBody.stream(ByteStream { [UInt8](repeating: 0, count: 65_536) }, length: nil)
            #expect(await world.failure { _ = try await world.send(.post, body: endless) } == "transport.timeout")
        }
    }

    @Test func `an answer that comes before the end of the upload is heard, and the connection is not used again`()
        async throws
    {
        try await UpstreamWorld.run(script: { _, socket in
            try await socket.request()
            try await socket.write("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")
            try await socket.sleep(.milliseconds(300))
        }) { world in
            let endless = HTTPBody.stream(
                ByteStream {
                    try await Task.sleep(for: .milliseconds(5))
                    return [1]
                }, length: nil)
            let answer = try await world.send(.post, body: endless)
            #expect(answer.status == .contentTooLarge)
            #expect(world.transport.idleCount == 0)
        }
    }

    @Test func `an upload that fails on the client's side ends the exchange with the client's error`() async throws {
        try await UpstreamWorld.run(script: { _, socket in
            try await socket.request()
            try await socket.read(1 << 20)
        }) { world in
            let broken = HTTPBody.stream(ByteStream { throw NacreError("test.client", "left") }, length: nil)
            #expect(await world.failure { _ = try await world.send(.post, body: broken) } == "test.client")
            let short = HTTPBody.stream(ByteStream { nil }, length: 5)
            #expect(await world.failure { _ = try await world.send(.post, body: short) } == "http.body_incomplete")
        }
    }

    @Test func `a cancelled request lets its connection go at once`() async throws {
        let gone = Counter()
        try await UpstreamWorld.run(script: { _, socket in
            try await socket.request()
            if try await socket.socket.read(upTo: 1, until: .after(.seconds(100))) == nil { gone.add() }
        }) { world in
            let task = Task { try await world.send() }
            _ = try await settled(at: 1) { world.requests.all.count }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(try await settled(at: 1) { gone.value } == 1)
        }
    }

    @Test func `a dropped answer lets its connection go`() async throws {
        let gone = Counter()
        try await UpstreamWorld.run(script: { _, socket in
            try await socket.request()
            try await socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nx")
            do { while try await socket.socket.read(upTo: 1, until: .after(.seconds(100))) != nil {} } catch {}
            gone.add()
        }) { world in
            _ = try await world.send()
            #expect(try await settled(at: 1) { gone.value } == 1)
        }
    }

    @Test func `an upgraded connection carries bytes both ways, the early ones first`() async throws {
        try await UpstreamWorld.run(script: { _, socket in
            let head = try await socket.request()
            #expect(head.fields["Connection"] == "Upgrade" && head.fields["Upgrade"] == "websocket")
            try await socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nearly")
            while let bytes = try await socket.socket.read() { try await socket.socket.write(bytes) }
        }) { world in
            let answer = try await world.send(fields: ["Upgrade": "websocket"])
            #expect(answer.status == .switchingProtocols)
            let client = RecordingDuplex(sending: "hello")
            try await answer.upgrade?(client)
            #expect(client.text == "earlyhello")
        }
    }

    @Test func `an https upstream is checked: authority and name`() async throws {
        let folder = NSTemporaryDirectory() + "nacre-upstream-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = folder + "/authorities.pem"
        try TestIdentity.certificate.write(toFile: file, atomically: true, encoding: .utf8)
        let identity = try TLSServerIdentity(certificatePEM: TestIdentity.certificate, privateKeyPEM: TestIdentity.key)
        try await ListenerWorld.run(
            { ($0.tls, $0.host) = (identity, "0.0.0.0") }, respond: { _, _ in HTTPResponse(body: .text("ok")) }
        ) {
            world in
            let loops = try EventLoops()
            defer { loops.stop() }
            var configuration = LoopTransport.Configuration()
            func code(_ host: String) async -> String {
                let transport = LoopTransport(configuration: configuration, loops: loops)
                defer { transport.closeIdle() }
                do {
                    let request = HTTPRequest(scheme: "https", authority: "\(host):\(world.port)", target: "/")
                    // Twice: the second goes over the kept connection.
                    _ = try await transport.send(request).body.collect(upTo: 100)
                    return String(decoding: try await transport.send(request).body.collect(upTo: 100), as: UTF8.self)
                } catch { return (error as? NacreError)?.code.rawValue ?? "\(error)" }
            }
            #expect(await code("127.0.0.1") == "transport.tls")
            configuration.authorities = file
            #expect(await code("127.0.0.1") == "ok")
            #expect(await code("localhost") == "ok")
            #expect(await code("127.0.0.2") == "transport.tls")
        }
    }

    @Test func `100 MB go up and down at once in little memory`() async throws {
        let total = 100_000_000
        let piece = [UInt8](repeating: 7, count: 65_536)
        try await ListenerWorld.run(respond: { request, _ in
            HTTPResponse(body: .stream(request.body.stream, length: nil))
        }) { world in
            let loops = try EventLoops()
            defer { loops.stop() }
            let transport = LoopTransport(loops: loops)
            let sent = Mutex(0)
            let body = ByteStream {
                let more = sent.withLock { sent in
                    defer { sent += piece.count }
                    return sent < total
                }
                return more ? piece : nil
            }
            let answer = try await transport.send(
                HTTPRequest(
                    method: .post, authority: "127.0.0.1:\(world.port)", target: "/",
                    body: .stream(body, length: nil)))
            // What is under way is counted, not this process's memory, which other suites use at the same time.
            let still = try await standstill(below: 60_000_000) { sent.withLock { $0 } }
            #expect(still != nil, "the upload goes on although nobody takes its echo")
            var received = 0
            var most = 0
            while let bytes = try await answer.body.stream.next() {
                received += bytes.count
                most = max(most, sent.withLock { $0 } - received)
            }
            #expect(received >= total)
            #expect(most < 60_000_000, "\(most) bytes were under way at once")
            transport.closeIdle()
        }
    }
}

/// Keeps the loop from hearing anything until `condition` is so, and a little longer; a minute at most.
private func holdThread(until condition: () -> Bool) {
    let end = ContinuousClock().now + .seconds(60)
    while !condition(), ContinuousClock().now < end { usleep(1000) }
    usleep(20_000)
}

/// Sends one text and records what comes.
final class RecordingDuplex: DuplexStream {
    private let state: Mutex<(toSend: [UInt8]?, seen: [UInt8])>
    init(sending text: String) { state = Mutex((Array(text.utf8), [])) }
    var text: String { String(decoding: state.withLock { $0.seen }, as: UTF8.self) }
    func read() async throws -> [UInt8]? { state.withLock { $0.toSend.take() } }
    func write(_ bytes: [UInt8]) async throws { state.withLock { $0.seen += bytes } }
    func finishWriting() async throws {}
    func close() async {}
}
