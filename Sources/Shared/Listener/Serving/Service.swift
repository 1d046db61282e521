// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting
import Synchronization

/// What the connections of one listener share.
final class Service: Sendable {
    private struct State {
        var connections: [ObjectIdentifier: Connection] = [:]
        /// How many each client network has.
        var networks: [[UInt8]: Int] = [:]
        /// When one too many was last written down.
        var saidAt: Deadline?
        var draining = false
        var empty: CheckedContinuation<Void, Never>?
    }

    let configuration: ListenerConfiguration
    let responder: any HTTPResponder
    let log: Log
    let date: DateField
    private let idPrefix: String
    private let counter = Atomic<UInt64>(0)
    private let state = Mutex(State())

    init(configuration: ListenerConfiguration, responder: any HTTPResponder, log: Log) {
        self.configuration = configuration
        self.responder = responder
        self.log = log
        date = DateField(time: configuration.time)
        idPrefix = String(configuration.time.now.milliseconds, radix: 36)
    }

    /// Unique among the requests of this start and, by the clock, among starts; no secret.
    func nextRequestID() -> String {
        "\(idPrefix)-\(String(counter.wrappingAdd(1, ordering: .relaxed).newValue, radix: 36))"
    }

    /// The answer to a request whose handler threw.
    func failure(_ error: any Error, requestID: String) -> HTTPResponse {
        let code = (error as? NacreError)?.code
        let known: (status: HTTPStatus, message: String)? =
            switch code {
            case "http.body_too_large": (.contentTooLarge, "The request body is too large.")
            case "http.body_malformed", "http.body_incomplete": (.badRequest, "The request body is malformed.")
            case "socket.timeout": (408, "The request body did not arrive in time.")
            default: nil
            }
        guard let code, let known else {
            log.error("request.failed", ["id": .string(requestID), "why": .string("\(error)")])
            return .failure(.internalServerError, code: "internal", message: "The server failed; its log says why.")
        }
        log.info("request.body_refused", ["id": .string(requestID), "code": .string(code.rawValue)])
        var response = HTTPResponse.failure(known.status, code: code.rawValue, message: known.message)
        response.fields["Connection"] = "close"
        return response
    }

    // MARK: Connections

    /// Why one more connection does not fit.
    enum Fullness: Sendable {
        case everybody, client
    }

    /// Whether one more fits from there; nil when it does.
    func fullness(for peer: SocketAddress?) -> Fullness? {
        let network = network(of: peer)
        return state.withLock { state in
            // guard: listener-connection-limit
            guard state.connections.count < configuration.connections else { return .everybody }
            guard let network, let limit = configuration.connectionsPerClient else { return nil }
            return state.networks[network, default: 0] < limit ? nil : .client  // guard: listener-client-limit
        }
    }

    /// Whom a connection is counted for; nil for nobody.
    private func network(of peer: SocketAddress?) -> [UInt8]? {
        guard configuration.connectionsPerClient != nil, let octets = peer?.octets, !octets.isEmpty else { return nil }
        let isProxy = configuration.trustedProxies.contains { $0.contains(octets: octets) }
        if isProxy { return nil }  // guard: listener-client-proxy
        return Self.network(of: octets)
    }

    /// An IPv4 address is counted by itself, an IPv6 address by its network: one household has so many.
    static func network(of octets: [UInt8]) -> [UInt8] {
        Array(octets.prefix(octets.count == 4 ? 4 : 8))  // guard: listener-client-network
    }

    /// Writes one too many down, but not each of a flood.
    func sayFull(_ fullness: Fullness) {
        let now = Deadline.now
        let isDue = state.withLock { state in
            if let said = state.saidAt, now < said.advanced(by: .seconds(10)) { return false }
            state.saidAt = now
            return true
        }
        guard isDue else { return }
        switch fullness {
        case .everybody: log.warning("listener.full", ["limit": .integer(Int64(configuration.connections))])
        case .client:
            log.warning(
                "listener.client_full", ["limit": .integer(Int64(configuration.connectionsPerClient ?? 0))])
        }
    }

    /// Runs a connection on its socket's loop.
    func take(_ socket: LoopSocket, isTLS: Bool, attributes: ConnectionAttributes?) {
        let connection = Connection(socket: socket, isTLS: isTLS, attributes: attributes, service: self)
        let network = network(of: socket.peer)
        let taken = state.withLock { state in
            guard !state.draining else { return false }
            state.connections[ObjectIdentifier(connection)] = connection
            if let network { state.networks[network, default: 0] += 1 }
            return true
        }
        guard taken else { return socket.closeNow() }
        let task = socket.loop.spawn {
            await connection.run()
            self.forget(connection, network)
        }
        connection.attach(task)
    }

    private func forget(_ connection: Connection, _ network: [UInt8]?) {
        let empty = state.withLock { state in
            state.connections[ObjectIdentifier(connection)] = nil
            if let network {
                let left = state.networks[network, default: 1] - 1
                state.networks[network] = left > 0 ? left : nil
            }
            return state.connections.isEmpty ? state.empty.take() : nil
        }
        empty?.resume()
    }

    /// How many there are.
    var count: Int { state.withLock { $0.connections.count } }

    private var all: [Connection] { state.withLock { Array($0.connections.values) } }

    // MARK: Stopping

    /// Idle connections end now, the others within `grace`; then their handlers are cancelled and their sockets closed.
    func drain(grace: Duration) async {
        state.withLock { $0.draining = true }
        for connection in all { connection.drain() }
        let time = configuration.time
        if await emptied(within: { try await time.sleep(for: grace) }) { return }
        for connection in all { connection.cancel() }
        if await emptied(within: { try await ContinuousClock().sleep(for: .milliseconds(500)) }) { return }
        for connection in all { connection.socket.closeNow() }
        if await emptied(within: { try await ContinuousClock().sleep(for: .seconds(2)) }) { return }
        log.warning("listener.handlers_left", ["count": .integer(Int64(count))])
    }

    private func emptied(within limit: @escaping @Sendable () async throws -> Void) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await self.untilEmpty()
                return true
            }
            group.addTask {
                try? await limit()
                return false
            }
            defer { group.cancelAll() }
            _ = await group.next()
            return self.count == 0
        }
    }

    private func untilEmpty() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let now = state.withLock { state in
                    guard !state.connections.isEmpty, !Task.isCancelled else { return true }
                    state.empty = continuation
                    return false
                }
                if now { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.empty.take() }?.resume()
        }
    }
}
