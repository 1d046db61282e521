// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Glibc
import NacreCore
import NacreHTTP
import NacreRouting
import Testing

@testable import NacreListener

/// Answers 404 to everything.
struct NotFound: HTTPResponder {
    func respond(to request: HTTPRequest, context: RequestContext) async throws -> HTTPResponse {
        HTTPResponse(status: .notFound)
    }
}

extension ListenerSocketTests {
    @Suite("Streams, upgrades, tunnels")
    struct Streams {
        @Test("100 MB travel both ways at once with flat memory")
        func bothWays() async throws {
            try await ListenerWorld.run { request, _ in
                HTTPResponse(body: .stream(request.body.stream, length: request.body.length))
            } body: { world in
                let total = 100_000_000
                let socket = try await world.connect()
                try await socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(total)\r\n\r\n")
                let before = residentBytes()
                let writer = Task {
                    let piece = [UInt8](repeating: 7, count: 100_000)
                    for _ in 0..<(total / piece.count) { try await socket.write(piece) }
                }
                var got = 0
                var sum = 0
                let head = try await socket.readHeadOfResponse()
                #expect(head.text.contains("Content-Length: \(total)\r\n"))
                got += head.rest.count
                var peak = before
                while got < total, let bytes = try await socket.read(upTo: 262_144, until: .after(.seconds(20))) {
                    got += bytes.count
                    sum += bytes.first == 7 && bytes.last == 7 ? 1 : 0
                    peak = max(peak, residentBytes())
                }
                try await writer.value
                #expect(got == total && sum > 100)
                // Other suites of this process need memory too, at the same time; buffering would take 200 MB.
                #expect(peak - before < 140_000_000, "grew by \((peak - before) / 1_000_000) MB")
            }
        }

        @Test("A slow reader holds up the sender instead of filling memory")
        func backpressure() async throws {
            let pulled = Counter()
            try await ListenerWorld.run { _, _ in
                HTTPResponse(
                    body: .stream(
                        ByteStream {
                            pulled.add()
                            return [UInt8](repeating: 1, count: 65_536)
                        }, length: nil))
            } body: { world in
                let socket = try await world.connect()
                try await socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                // The buffers of the sockets fill, and then nothing is pulled any more.
                let still = try await standstill(below: 100_000_000 / 65_536) { pulled.value }
                #expect(still != nil, "\(pulled.value) pieces were pulled for a reader that takes none")
            }
        }

        @Test("Chunks travel as they are made, and the last one ends the response")
        func chunks() async throws {
            let gate = BytePipe()
            try await ListenerWorld.run { _, _ in
                HTTPResponse(body: .stream(gate.stream, length: nil))
            } body: { world in
                let socket = try await world.connect()
                try await socket.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                #expect(try await socket.read(through: "\r\n\r\n").contains("Transfer-Encoding: chunked"))
                try await gate.write(Array("one".utf8))
                #expect(try await socket.read(through: "one") == "3\r\none\r\n")
                gate.finish()
                #expect(try await socket.readAll(until: .after(.seconds(5))) == "0\r\n\r\n")
            }
        }

        @Test("A stream that fails or lies about its length never looks complete")
        func brokenStreams() async throws {
            try await ListenerWorld.run { request, _ in
                let pipe = BytePipe()
                try await pipe.write(Array("part".utf8))
                pipe.finish(throwing: request.target == "/fail" ? NacreError("x.y", "no") : nil)
                return HTTPResponse(body: .stream(pipe.stream, length: request.target == "/short" ? 9 : nil))
            } body: { world in
                let failed = try await world.exchange("GET /fail HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(failed.contains("part") && !failed.contains("0\r\n\r\n"))
                let short = try await world.exchange("GET /short HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(short.contains("Content-Length: 9\r\n") && short.hasSuffix("part"))
            }
        }

        @Test("An upgrade passes bytes both ways, those already sent too")
        func upgrade() async throws {
            try await ListenerWorld.run { request, _ in
                HTTPResponse(status: .switchingProtocols, fields: ["Upgrade": "echo"]) { stream in
                    while let bytes = try await stream.read() { try await stream.write(bytes) }
                    try await stream.finishWriting()
                }
            } body: { world in
                let socket = try await world.connect()
                try await socket.write(
                    "GET /up HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly")
                let answer = try await socket.read(through: "early")
                #expect(answer.hasPrefix("HTTP/1.1 101 "))
                #expect(answer.contains("Connection: Upgrade\r\n") && answer.contains("Upgrade: echo\r\n"))
                #expect(!answer.contains("Content-Length"))
                try await socket.write(" late")
                #expect(try await socket.read(through: "late") == " late")
                try await socket.finishWriting()
                #expect(try await socket.readAll(until: .after(.seconds(5))) == "")
                #expect(try await world.descriptors(settleAt: 1) == 1)
            }
        }

        @Test("A CONNECT tunnel is adopted with its authority; another Host in it is refused with 421")
        func adoption() async throws {
            let loops = try EventLoops()
            defer { loops.stop() }
            let adopter = HTTPListener(
                configuration: ListenerConfiguration(host: "127.0.0.1", port: nil),
                responder: ClosureResponder { request, context in
                    let tunnel = context[ConnectionAttributes.self]
                    return HTTPResponse(body: .text("\(request.url) in \(tunnel?.host ?? "-"):\(tunnel?.port ?? 0)"))
                }, log: .none, loops: loops)
            let acceptor = SocketAcceptor(loops: loops) { socket in
                do {
                    let head = try await socket.readHead(until: .after(.seconds(5)))
                    #expect(head.method == .connect && head.authority == "app.test:80")
                    try await socket.write(Array("HTTP/1.1 200 OK\r\n\r\n".utf8))
                    let attributes = ConnectionAttributes(host: "app.test", port: 80)
                    if let descriptor = socket.detach() {
                        adopter.adopt(descriptor: descriptor, tls: nil, attributes: attributes)
                    }
                } catch { Issue.record(error) }
            }
            let port = try await acceptor.start()
            // The inner request comes right behind the CONNECT: not a byte of it may be lost.
            for (host, wanted) in [("app.test", "http://app.test/x in app.test:80"), ("evil.test", "HTTP/1.1 421 ")] {
                let socket = try await LoopSocket.connect(host: "127.0.0.1", port: port, on: loops.next())
                try await socket.write(
                    "CONNECT app.test:80 HTTP/1.1\r\nHost: app.test:80\r\n\r\n"
                        + "GET /x HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n")
                let answer = try await socket.readAll(until: .after(.seconds(5)))
                #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 ") && answer.contains(wanted), "\(answer)")
            }
            acceptor.stop()
            await adopter.stop(grace: .milliseconds(100))
        }

        @Test("A tunnel between two sockets keeps half-closes and ends with both")
        func tunnel() async throws {
            try await ListenerWorld.run { _, _ in
                HTTPResponse(body: .text("through"))
            } body: { world in
                let loops = world.clients
                let acceptor = SocketAcceptor(loops: loops) { socket in
                    guard let far = try? await LoopSocket.connect(host: "127.0.0.1", port: world.port, on: socket.loop)
                    else { return }
                    await DuplexCopy.bothWays(socket, far)
                }
                let port = try await acceptor.start()
                let socket = try await LoopSocket.connect(host: "127.0.0.1", port: port, on: loops.next())
                try await socket.write("GET / HTTP/1.0\r\n\r\n")
                #expect(try await socket.readAll(until: .after(.seconds(5))).hasSuffix("through"))
                socket.closeNow()
                #expect(try await world.descriptors(settleAt: 1) == 1)
                acceptor.stop()
            }
        }

        @Test("A connection nobody answers is an error that names the place")
        func refusedConnection() async throws {
            let loops = try EventLoops()
            defer { loops.stop() }
            let error = await #expect(throws: NacreError.self) {
                try await LoopSocket.connect(host: "127.0.0.1", port: 1, on: loops.next())
            }
            #expect(error?.code == "socket.connect" && error?.message.contains("127.0.0.1:1") == true)
            let unknown = await #expect(throws: NacreError.self) {
                try await LoopSocket.connect(host: "nowhere.invalid", port: 1, on: loops.next())
            }
            #expect(unknown?.code == "socket.resolve")
        }

        @Test("Cancelling a task ends its wait for a socket")
        func cancelledRead() async throws {
            try await ListenerWorld.run { _, _ in
                HTTPResponse()
            } body: { world in
                let socket = try await world.connect()
                let reader = Task { try await socket.read() }
                try await Task.sleep(for: .milliseconds(50))
                reader.cancel()
                await #expect(throws: CancellationError.self) { try await reader.value }
            }
        }
    }
}

/// Resident memory of this process.
func residentBytes() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 128)
    fgets(&line, 128, file)
    let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return (Int(text.split(separator: " ").dropFirst().first ?? "0") ?? 0) * 4096
}

extension LoopSocket {
    /// The response head, and what came with it.
    func readHeadOfResponse() async throws -> (text: String, rest: [UInt8]) {
        var all: [UInt8] = []
        while let bytes = try await read(upTo: 65_536, until: .after(.seconds(10))) {
            all += bytes
            let end = (3..<max(3, all.count)).first { Array(all[($0 - 3)...$0]) == [13, 10, 13, 10] }
            if let end { return (String(decoding: all[...end], as: UTF8.self), Array(all[(end + 1)...])) }
        }
        return (String(decoding: all, as: UTF8.self), [])
    }
}
