// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Synchronization
import Testing

@testable import NacreListener

/// An upstream that says byte for byte what a test wants, and a transport to it.
struct UpstreamWorld: Sendable {
    let transport: LoopTransport
    /// The transport's own loop; the upstream has another.
    let loop: EventLoop
    let port: Int
    /// How many connections the upstream took.
    let connections: Counter
    /// The request lines that it read.
    let requests: Lines

    var authority: String { "127.0.0.1:\(port)" }

    /// Runs `body`; the upstream handles each connection with `script`, which is told the connection's number from 1.
    static func run(
        _ configure: (inout LoopTransport.Configuration) -> Void = { _ in },
        script: @escaping @Sendable (Int, ScriptedSocket) async throws -> Void,
        body: (UpstreamWorld) async throws -> Void
    ) async throws {
        var configuration = LoopTransport.Configuration()
        configure(&configuration)
        let (loops, upstreamLoops) = (try EventLoops(), try EventLoops())
        let (connections, lines) = (Counter(), Lines())
        let acceptor = SocketAcceptor(loops: upstreamLoops) { socket in
            connections.add()
            try? await script(connections.value, ScriptedSocket(socket: socket, lines: lines))
        }
        let port = try await acceptor.start()
        let transport = LoopTransport(configuration: configuration, loops: loops)
        let world = UpstreamWorld(
            transport: transport, loop: loops.next(), port: port, connections: connections, requests: lines)
        try await ending(after: { try await body(world) }) {
            acceptor.stop()
            transport.closeIdle()
            loops.stop()
            upstreamLoops.stop()
        }
    }

    func send(
        _ method: HTTPMethod = .get, _ target: String = "/", fields: HTTPFields = [:], body: HTTPBody = .none
    ) async throws -> HTTPResponse {
        try await transport.send(
            HTTPRequest(method: method, authority: authority, target: target, fields: fields, body: body))
    }

    /// The body of an answer as text.
    func text(
        _ method: HTTPMethod = .get, _ target: String = "/", fields: HTTPFields = [:], body: HTTPBody = .none
    ) async throws -> String {
        let answer = try await send(method, target, fields: fields, body: body)
        return String(decoding: try await answer.body.collect(upTo: 1 << 24), as: UTF8.self)
    }

    /// Sends a request that must be answered "ok".
    func expectOK(
        _ method: HTTPMethod = .get, _ target: String = "/", body: HTTPBody = .none,
        at place: SourceLocation = #_sourceLocation
    ) async throws {
        let text = try await text(method, target, body: body)
        #expect(text == "ok", sourceLocation: place)
    }

    /// The code of the error that `body` throws.
    func failure(_ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return "none"
        } catch let error as NacreError {
            return error.code.rawValue
        } catch {
            return "\(error)"
        }
    }
}

/// Texts collected across tasks.
final class Lines: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
}

/// The upstream's end of one connection.
struct ScriptedSocket: Sendable {
    let socket: LoopSocket
    let lines: Lines

    /// Reads one request head; throws at the end of the connection.
    @discardableResult
    func request() async throws -> RequestHead {
        let head = try await socket.readHead(until: .after(.seconds(60)))
        lines.add("\(head.method.rawValue) \(head.target)")
        return head
    }

    func write(_ text: String) async throws { try await socket.write(Array(text.utf8)) }

    /// Reads so many bytes of a body.
    func read(_ count: Int) async throws {
        var left = count
        while left > 0, let bytes = try await socket.read(upTo: left, until: .after(.seconds(60))) {
            left -= bytes.count
        }
    }

    func close() { socket.closeNow() }

    func sleep(_ time: Duration) async throws { try await ContinuousClock().sleep(for: time) }
}
