// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Glibc
import NacreCore
import NacreHTTP
import NacreRouting
import Synchronization
import Testing

@testable import NacreListener

/// A listener on a free loopback port, with loops for its clients.
struct ListenerWorld: Sendable {
    let listener: HTTPListener
    let port: Int
    let clients: EventLoops
    private let address: [SocketAddress]

    /// Runs `body` against a listener that answers with `respond`, and stops it.
    static func run(
        _ configure: (inout ListenerConfiguration) -> Void = { _ in },
        log: Log = .none,
        respond: @escaping @Sendable (HTTPRequest, RequestContext) async throws -> HTTPResponse,
        body: (ListenerWorld) async throws -> Void
    ) async throws {
        raiseDescriptorLimit()
        var configuration = ListenerConfiguration()
        configure(&configuration)
        let listener = HTTPListener(configuration: configuration, responder: ClosureResponder(respond), log: log)
        let port = try await listener.start()
        let clients = try EventLoops()
        let address = try await SocketAddress.resolve(host: "127.0.0.1", port: port)
        let world = ListenerWorld(listener: listener, port: port, clients: clients, address: address)
        try await ending(after: { try await body(world) }) {
            await listener.stop(grace: .milliseconds(200))
            clients.stop()
        }
        #expect(world.serverDescriptors == 0, "descriptors left after stop")
    }

    /// A new client connection.
    func connect() async throws -> LoopSocket {
        try await LoopSocket.connect(to: address, named: "test", on: clients.next())
    }

    /// Sends bytes on a new connection and reads until the server ends it.
    func exchange(_ bytes: [UInt8], within limit: Duration = .seconds(60)) async throws -> String {
        let socket = try await connect()
        // The server may refuse before all is sent; what it answered still counts.
        try? await socket.write(bytes)
        let answer = try await socket.readAll(until: .after(limit))
        socket.closeNow()
        return answer
    }

    func exchange(_ text: String) async throws -> String { try await exchange(Array(text.utf8)) }

    /// Descriptors of this process whose own port is the server's: its accepted connections and its listening socket.
    var serverDescriptors: Int {
        (0..<12_000).count { SocketAddress.local(of: Int32($0))?.port == port }
    }

    /// Waits until the server has that many descriptors open; the last number seen.
    func descriptors(settleAt wanted: Int) async throws -> Int {
        try await settled(at: wanted) { serverDescriptors }
    }
}

/// Runs `body`, then `end`, whatever came of it.
func ending(after body: () async throws -> Void, _ end: () async -> Void) async throws {
    let result: Result<Void, any Error>
    do {
        try await body()
        result = .success(())
    } catch {
        result = .failure(error)
    }
    await end()
    try result.get()
}

/// Waits until `value` is `wanted`, a minute at most: a busy machine is slow; the last value seen.
func settled<Value: Equatable>(at wanted: Value, _ value: () -> Value) async throws -> Value {
    let end = ContinuousClock().now + .seconds(60)
    while value() != wanted, ContinuousClock().now < end { try await Task.sleep(for: .milliseconds(20)) }
    return value()
}

/// Waits until `value` has begun to grow and then grows no more; nil when it reaches `most`, or goes on for a minute.
func standstill(below most: Int, _ value: () -> Int) async throws -> Int? {
    let end = ContinuousClock().now + .seconds(60)
    var before = value()
    while before < most, ContinuousClock().now < end {
        try await Task.sleep(for: .milliseconds(500))
        let now = value()
        if now == before, now > 0 { return now }
        before = now
    }
    return nil
}

/// Counts across tasks.
final class Counter: Sendable {
    private let count = Atomic<Int>(0)
    func add() { count.wrappingAdd(1, ordering: .sequentiallyConsistent) }
    var value: Int { count.load(ordering: .sequentiallyConsistent) }
}

extension LoopSocket {
    /// Everything until the other side ends or resets.
    func readAll(until deadline: Deadline) async throws -> String {
        var all: [UInt8] = []
        do {
            while let bytes = try await read(upTo: 65_536, until: deadline) { all += bytes }
        } catch let error as NacreError where error.code == "socket.peer_gone" {
            all += Array("<reset>".utf8)
        }
        return String(decoding: all, as: UTF8.self)
    }

    /// Reads until `text` has been seen.
    func read(through text: String, within limit: Duration = .seconds(60)) async throws -> String {
        var all = ""
        while !all.contains(text) {
            guard let bytes = try await read(upTo: 65_536, until: .after(limit)) else { return all + "<end>" }
            all += String(decoding: bytes, as: UTF8.self)
        }
        return all
    }

    func write(_ text: String) async throws { try await write(Array(text.utf8)) }
}

/// Many clients need many descriptors: both ends of each live in this process.
private func raiseDescriptorLimit() {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(7), &limit)
    limit.rlim_cur = min(limit.rlim_max, 12_000)
    setrlimit(__rlimit_resource_t(7), &limit)
}

/// Every suite with sockets stands in here: they share the machine's descriptors and its two cores.
@Suite("The listener over real sockets", .serialized, .timeLimit(.minutes(2)))
struct ListenerSocketTests {}
