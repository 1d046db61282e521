// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting
import Synchronization

/// What the connections of one listener share.
final class Service: Sendable {
    private struct State {
        var connections: [ObjectIdentifier: Connection] = [:]
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

    /// Whether one more fits.
    var hasRoom: Bool {
        state.withLock { state in
            state.connections.count < configuration.connections  // guard: listener-connection-limit
        }
    }

    /// Runs a connection on its socket's loop.
    func take(_ socket: LoopSocket, isTLS: Bool, attributes: ConnectionAttributes?) {
        let connection = Connection(socket: socket, isTLS: isTLS, attributes: attributes, service: self)
        let taken = state.withLock { state in
            guard !state.draining else { return false }
            state.connections[ObjectIdentifier(connection)] = connection
            return true
        }
        guard taken else { return socket.closeNow() }
        let task = socket.loop.spawn {
            await connection.run()
            self.forget(connection)
        }
        connection.attach(task)
    }

    private func forget(_ connection: Connection) {
        let empty = state.withLock { state in
            state.connections[ObjectIdentifier(connection)] = nil
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
