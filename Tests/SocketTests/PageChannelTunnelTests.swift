// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreListener
import Synchronization
import Testing

@testable import NacrePage

/// Everything that is neither the page's host nor the API's.
@Suite("Page channel: tunnels", .serialized)
struct PageChannelTunnelTests {
    /// A server that sends back what it gets, in capitals, once the other side has ended its half.
    private static func shouting(_ body: (Int) async throws -> Void) async throws {
        let loops = try EventLoops()
        let acceptor = SocketAcceptor(loops: loops) { socket in
            var all: [UInt8] = []
            while let bytes = try? await socket.read() { all += bytes }
            try? await socket.write(Array(String(decoding: all, as: UTF8.self).uppercased().utf8))
            try? await socket.finishWriting()
        }
        let port = try await acceptor.start()
        defer {
            acceptor.stop()
            loops.stop()
        }
        try await body(port)
    }

    @Test(
        "This machine and its network are out of reach, in every spelling",
        arguments: [
            "127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0",
            "10.0.0.1", "192.168.1.1", "169.254.169.254", "[fe80::1]", "[fd00::1]", "app.localhost",
        ])
    func privateTargets(_ host: String) async throws {
        try await Self.shouting { port in
            try await PageChannelWorld.run { world in
                let status = try await world.status(of: world.head("\(host):\(port)"))
                #expect(status == 403 || status == 502)
                let reasons = world.logText
                #expect(reasons.contains("page.tunnel_refused"))
                if host != "app.localhost" { #expect(reasons.contains("page.target")) }
            }
        }
    }

    @Test("A configured target is reached; a half-close reaches the other end and the answer comes back")
    func halfClose() async throws {
        try await Self.shouting { port in
            try await PageChannelWorld.run({ $0.privateTargets = ["127.0.0.1:\(port)"] }) { world in
                let socket = try await world.tunnel("127.0.0.1:\(port)")
                try await socket.write(Array("quiet".utf8))
                try await socket.finishWriting()
                let client = ChannelClient(stream: socket)
                #expect(try await client.read(through: "QUIET") == "QUIET")
                #expect(await client.endsSoon())
                try await world.expect(403, connecting: "localhost:\(port)")
            }
        }
    }

    @Test("Tunnels beyond the limit get 503; an ended one makes room")
    func limit() async throws {
        try await Self.shouting { port in
            try await PageChannelWorld.run({
                $0.privateTargets = ["127.0.0.1:\(port)"]
                $0.limits.rawTunnels = 2
            }) { world in
                let first = try await world.tunnel("127.0.0.1:\(port)")
                let second = try await world.tunnel("127.0.0.1:\(port)")
                try await world.expect(503, connecting: "127.0.0.1:\(port)")
                first.closeNow()
                var status = 503
                for _ in 0..<1000 where status == 503 {
                    try await Task.sleep(for: .milliseconds(20))
                    status = try await world.status(of: world.head("127.0.0.1:\(port)"))
                }
                #expect(status == 200)
                second.closeNow()
            }
        }
    }

    @Test("A tunnel where nothing moves is closed")
    func idle() async throws {
        try await Self.shouting { port in
            try await PageChannelWorld.run({
                $0.privateTargets = ["127.0.0.1:\(port)"]
                $0.limits.idleTunnel = .milliseconds(150)
            }) { world in
                let client = ChannelClient(stream: try await world.tunnel("127.0.0.1:\(port)"))
                #expect(await client.endsSoon())
            }
        }
    }

    @Test("Nobody there is a 502, an unknown name too")
    func unreachable() async throws {
        try await PageChannelWorld.run({ $0.privateTargets = ["127.0.0.1:1"] }) { world in
            try await world.expect(502, connecting: "127.0.0.1:1")
            try await world.expect(502, connecting: "no-such-host.invalid:443")
        }
    }

    // MARK: The system's proxy

    /// A proxy that answers with `answer` and then behaves like the target.
    private static func proxy(_ answer: String, _ body: (Int, @Sendable () -> [String]) async throws -> Void)
        async throws
    {
        let loops = try EventLoops()
        let heads = Mutex<[String]>([])
        let acceptor = SocketAcceptor(loops: loops) { socket in
            guard let head = try? await socket.readHead(until: .after(.seconds(5))) else { return }
            heads.withLock { $0.append("\(head.method.rawValue) \(head.target)") }
            try? await socket.write(Array(answer.utf8))
            while let bytes = try? await socket.read() { try? await socket.write(bytes) }
        }
        let port = try await acceptor.start()
        defer {
            acceptor.stop()
            loops.stop()
        }
        try await body(port, { heads.withLock { $0 } })
    }

    @Test("With a system proxy, foreign hosts go through its CONNECT; bytes that came with its answer are kept")
    func throughProxy() async throws {
        try await Self.proxy("HTTP/1.1 200 OK\r\n\r\nearly ") { port, heads in
            let asked = Mutex<[String]>([])
            try await PageChannelWorld.run({
                $0.proxy = { url in
                    asked.withLock { $0.append(url) }
                    return .proxy(host: "127.0.0.1", port: port)
                }
            }) { world in
                let client = try await world.outside("news.example:443")
                #expect(try await client.read(through: "early ") == "early ")
                try await client.send("ping")
                #expect(try await client.read(through: "ping") == "ping")
                #expect(heads() == ["CONNECT news.example:443"])
                #expect(asked.withLock { $0 } == ["https://news.example:443/"])
                await client.close()
                for host in ["127.0.0.1", "localhost", "0x7f.1", "10.0.0.1", "printer", "[::1]"] {
                    #expect(
                        try await world.status(of: world.head("\(host):444")) == 403)
                }
                #expect(heads().count == 1)
            }
        }
    }

    @Test(
        "A proxy that refuses, or talks nonsense, is a 502, never a direct connection",
        arguments: [
            "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "HTTP/1.1 403 Forbidden\r\n\r\n", "nonsense\r\n\r\n",
        ])
    func refusingProxy(_ answer: String) async throws {
        try await Self.proxy(answer) { port, _ in
            try await PageChannelWorld.run({ $0.proxy = { _ in .proxy(host: "127.0.0.1", port: port) } }) { world in
                try await world.expect(502, connecting: "news.example:443")
            }
        }
    }

    @Test("A proxy of an unsupported kind is a 502")
    func unsupportedProxy() async throws {
        try await PageChannelWorld.run({ $0.proxy = { _ in try ProxyRoute(uri: "socks5://127.0.0.1:1080") } }) {
            world in
            try await world.expect(502, connecting: "news.example:443")
            #expect(world.logText.contains("page.proxy"))
        }
    }
}
