// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Glibc
import NacreCore
import NacreHTTP
import NacreRouting
import Testing

@testable import NacreListener

extension ListenerSocketTests {
    @Suite("Clients that take too much")
    struct Greedy {
        private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

        /// A connection from another address of this machine.
        private func connect(from address: String, _ world: ListenerWorld) throws -> LoopSocket {
            func place(_ text: String, _ port: Int) -> sockaddr_in {
                var place = sockaddr_in()
                place.sin_family = sa_family_t(AF_INET)
                place.sin_port = in_port_t(port).bigEndian
                place.sin_addr.s_addr = inet_addr(text)
                return place
            }
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            for (target, call) in [(place(address, 0), bind), (place("127.0.0.1", world.port), Glibc.connect)] {
                var target = target
                let code = withUnsafePointer(to: &target) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        call(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                    }
                }
                try #require(code == 0)
            }
            return try LoopSocket(adopting: descriptor, on: world.clients.next())
        }

        private func isServed(_ socket: LoopSocket) async throws -> Bool {
            try? await socket.write(Self.get)
            return try await socket.read(through: "fine").contains("200 OK")
        }

        @Test("One client network has its connections, the others have theirs, and one closed makes room")
        func perClient() async throws {
            try await ListenerWorld.run {
                $0.connectionsPerClient = 2
            } respond: { _, _ in
                HTTPResponse(body: .text("fine"))
            } body: { world in
                let kept = (try await world.connect(), try await world.connect())
                #expect(try await isServed(kept.0))
                #expect(try await isServed(kept.1))
                let refused = try await world.exchange("")
                #expect(refused.hasPrefix("HTTP/1.1 429 ") && refused.contains("Retry-After: "), "\(refused)")
                let stranger = try connect(from: "127.0.0.2", world)
                #expect(try await isServed(stranger))
                kept.0.closeNow()
                _ = try await world.descriptors(settleAt: 3)
                #expect(try await isServed(try await world.connect()))
                stranger.closeNow()
            }
        }

        @Test("A trusted proxy's connections are many people's and are not counted")
        func trustedProxy() async throws {
            try await ListenerWorld.run {
                $0.connectionsPerClient = 1
                $0.trustedProxies = [AddressRange("127.0.0.1")].compactMap { $0 }
            } respond: { _, _ in
                HTTPResponse(body: .text("fine"))
            } body: { world in
                var open: [LoopSocket] = []
                for _ in 0..<5 {
                    open.append(try await world.connect())
                    #expect(try await isServed(open[open.count - 1]))
                }
                let other = try connect(from: "127.0.0.2", world)
                #expect(try await isServed(other))
                let second = try connect(from: "127.0.0.2", world)
                #expect(try await second.readAll(until: .after(.seconds(30))).hasPrefix("HTTP/1.1 429 "))
                other.closeNow()
            }
        }

        @Test("A request body that trickles is answered 408 long before its end")
        func tricklingUpload() async throws {
            try await ListenerWorld.run {
                $0.bodyPace = BodyPace(bytesPerSecond: 1000, window: .milliseconds(500))
            } respond: { request, _ in
                HTTPResponse(body: .bytes(try await request.body.collect(upTo: 1000)))
            } body: { world in
                for framing in ["Content-Length: 200", "Transfer-Encoding: chunked"] {
                    let socket = try await world.connect()
                    try await socket.write("PUT / HTTP/1.1\r\nHost: a\r\n\(framing)\r\n\r\n")
                    let reader = Task { try await socket.readAll(until: .after(.seconds(60))) }
                    for _ in 0..<200 {
                        let piece = framing.hasPrefix("C") ? "x" : "1\r\nx\r\n"
                        guard (try? await socket.write(piece)) != nil else { break }
                        try await Task.sleep(for: .milliseconds(25))
                    }
                    try? await socket.write("0\r\n\r\n")
                    let answer = try await reader.value
                    #expect(answer.hasPrefix("HTTP/1.1 408 "), "\(answer)")
                }
            }
        }

        @Test("A body at full speed passes, however slow its handler, and so does an answer")
        func swift() async throws {
            try await ListenerWorld.run {
                $0.bodyPace = BodyPace(bytesPerSecond: 100_000, window: .seconds(2))
            } respond: { request, _ in
                var count = 0
                while let bytes = try await request.body.stream.next() {
                    if count == 0 { try await Task.sleep(for: .milliseconds(2500)) }
                    count += bytes.count
                }
                return HTTPResponse(body: .bytes([UInt8](repeating: 7, count: count)))
            } body: { world in
                let body = [UInt8](repeating: 7, count: 3_000_000)
                let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\nConnection: close\r\n\r\n"
                let answer = try await world.exchange(Array(head.utf8) + body)
                #expect(answer.hasPrefix("HTTP/1.1 200 OK"))
                #expect(answer.utf8.count > body.count)
            }
        }

        @Test("A client that takes an answer by the spoonful is cut off")
        func tricklingDownload() async throws {
            let started = Counter()
            try await ListenerWorld.run {
                $0.bodyPace = BodyPace(bytesPerSecond: 50_000_000, window: .milliseconds(500))
            } respond: { _, _ in
                started.add()
                return HTTPResponse(body: .stream(ByteStream { [UInt8](repeating: 1, count: 65_536) }, length: nil))
            } body: { world in
                let socket = try await world.connect()
                try await socket.write(Self.get)
                let reader = Task {
                    while !Task.isCancelled {
                        guard (try? await socket.read(upTo: 2048, until: .after(.seconds(60)))) ?? nil != nil else {
                            break
                        }
                        try await Task.sleep(for: .milliseconds(20))
                    }
                }
                // It is let in, and then only the listening socket is left.
                #expect(try await settled(at: 1) { started.value } == 1)
                #expect(try await world.descriptors(settleAt: 1) == 1)
                reader.cancel()
                _ = try? await reader.value
            }
        }
    }
}
