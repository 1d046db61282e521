// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreListener
import Synchronization
import Testing

@testable import NacrePage

/// Who gets into the channel at all.
@Suite("Page channel: the gate", .serialized)
struct PageChannelGateTests {
    @Test("Another local process without the secret gets 407, and may still give it on the same connection")
    func secretAfterRefusal() async throws {
        try await PageChannelWorld.run { world in
            let socket = try await world.dial()
            try await socket.write(Array("CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n".utf8))
            let refused = try await ResponseHead.read(from: socket)
            #expect(refused.status == 407)
            #expect(refused.fields["Proxy-Authenticate"]?.hasPrefix("Basic realm=") == true)
            #expect(refused.fields["Content-Length"] == "0")
            try await socket.write(Array(world.head("localhost:443").utf8))
            #expect(try await ResponseHead.read(from: socket).status == 200)
        }
    }

    @Test("Guessing secrets ends the connection after a few tries, and the log has no secret")
    func guessing() async throws {
        try await PageChannelWorld.run { world in
            let socket = try await world.dial()
            for _ in 0..<4 {
                try await socket.write(Array(world.head("localhost:443", secret: "guess").utf8))
                #expect(try await ResponseHead.read(from: socket).status == 407)
            }
            #expect(await ChannelClient(stream: socket).endsSoon())
            #expect(world.events.filter { $0 == "page.connect_refused" }.count == 4)
            #expect(!world.logText.contains("guess"))
        }
    }

    @Test(
        "What is not a proper CONNECT is refused",
        arguments: [
            ("GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 403),
            ("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 403),
            ("CONNECT localhost HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
            ("CONNECT localhost:443 HTTP/1.1\nHost: localhost:443\n\n", 400),
            ("CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\nX: a\u{0}b\r\n\r\n", 400),
            ("\u{16}\u{3}\u{1}", 400),
        ])
    func notConnect(_ head: String, _ status: Int) async throws {
        try await PageChannelWorld.run { world in
            let answered = try await world.status(of: head)
            #expect(answered == status)
        }
    }

    @Test("A head beyond 8 KB is refused and the connection ends")
    func oversized() async throws {
        try await PageChannelWorld.run { world in
            let socket = try await world.dial()
            let padding = String(repeating: "x", count: 9000)
            let head = world.head("localhost:443").replacing("Host:", with: "X-Padding: \(padding)\r\nHost:")
            try await socket.write(Array(head.utf8))
            #expect(try await ResponseHead.read(from: socket).status == 431)
            #expect(await ChannelClient(stream: socket).endsSoon())
        }
    }

    @Test("A head that drips is cut off at its time, however steadily it drips")
    func drip() async throws {
        try await PageChannelWorld.run({ $0.limits.headTime = .milliseconds(400) }) { world in
            let socket = try await world.dial()
            let start = ContinuousClock.now
            // So long that it would drip for longer than the time below.
            let more = "Host:\(String(repeating: " ", count: 700))"
            let dripping = Task {
                for byte in world.head("localhost:443").replacing("Host: ", with: more).utf8 {
                    try await socket.write([byte])
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            #expect(await ChannelClient(stream: socket).endsSoon())
            #expect(ContinuousClock.now - start < .seconds(30))
            dripping.cancel()
        }
    }

    @Test("A silent connection is closed")
    func silent() async throws {
        try await PageChannelWorld.run({ $0.limits.headTime = .milliseconds(300) }) { world in
            let client = ChannelClient(stream: try await world.dial())
            #expect(await client.endsSoon())
        }
    }

    @Test("Connections beyond the limit are closed, and the next one after that is served")
    func limit() async throws {
        try await PageChannelWorld.run({ $0.limits.connections = 3 }) { world in
            var held: [LoopSocket] = []
            for _ in 0..<3 { held.append(try await world.dial()) }
            try await Task.sleep(for: .milliseconds(100))
            let client = ChannelClient(stream: try await world.dial())
            #expect(await client.endsSoon())
            for socket in held { socket.closeNow() }
            // They are closed at both ends a little later.
            var status = 0
            for _ in 0..<1000 where status != 200 {
                try await Task.sleep(for: .milliseconds(20))
                status = (try? await world.status(of: world.head("localhost:443"))) ?? 0
            }
            #expect(status == 200)
        }
    }

    @Test("Not a byte of the TLS that follows is eaten, even when it comes with the CONNECT")
    func earlyTLS() async throws {
        try await PageChannelWorld.run { world in
            let eager = EagerConnect(base: try await world.dial(), head: Array(world.head("localhost:443").utf8))
            let trust = try TLSTrust(additionalPEM: world.endpoint.certificatePEM)
            let client = ChannelClient(
                stream: try await TLSClientStream.connect(over: eager, host: "localhost", trust: trust))
            let answer = try await client.exchange(
                "GET / HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\nSec-Fetch-Dest: document\r\n\r\n")
            #expect(answer.body.contains("Nacre page"))
        }
    }

    @Test("A stopped channel takes no more connections and ends those it has")
    func stop() async throws {
        try await PageChannelWorld.run { world in
            let client = try await world.page()
            await world.channel.stop(grace: .milliseconds(50))
            #expect(await client.endsSoon())
            await #expect(throws: NacreError.self) { try await world.dial() }
        }
    }

    @Test("Secrets and keys stay out of descriptions")
    func descriptions() async throws {
        try await PageChannelWorld.run { world in
            #expect(!"\(world.endpoint)".contains(world.endpoint.secret))
            let certificate = try PageCertificate(hosts: ["localhost"])
            #expect(!"\(certificate)".contains("PRIVATE"))
        }
    }
}

/// Sends the CONNECT together with the first bytes of what follows, and hides the answer's head.
private final class EagerConnect: DuplexStream, Sendable {
    private let base: LoopSocket
    private let head: Mutex<[UInt8]>
    private let rest = Mutex<[UInt8]?>(nil)

    init(base: LoopSocket, head: [UInt8]) {
        self.base = base
        self.head = Mutex(head)
    }

    func read() async throws -> [UInt8]? {
        if rest.withLock({ $0 }) == nil {
            let answer = try await ResponseHead.read(from: base)
            rest.withLock { $0 = answer.rest }
        }
        let first = rest.withLock { rest in
            defer { rest = [] }
            return rest ?? []
        }
        return first.isEmpty ? try await base.read() : first
    }

    func write(_ bytes: [UInt8]) async throws {
        let first = head.withLock { head in
            defer { head = [] }
            return head
        }
        try await base.write(first + bytes)
    }
    func finishWriting() async throws { try await base.finishWriting() }
    func close() async { base.closeNow() }
}
