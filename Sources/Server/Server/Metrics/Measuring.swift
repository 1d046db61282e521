// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase
import NacreHTTP
import NacreRouting

/// Counts requests and measures how long their answers take to begin. Stands outermost.
struct MeasuringMiddleware: Middleware {
    let metrics: ServerMetrics
    let part: String
    /// What stands behind a path that no route of ours matches.
    let elsewhere: @Sendable (_ path: String) -> String
    let time: any TimeSource

    func respond(
        to request: HTTPRequest, context: RequestContext, next: any HTTPResponder
    ) async throws -> HTTPResponse {
        var context = context
        let note = RouteNote()
        context[RouteNote.self] = note
        let began = time.now
        metrics.inFlight.add(1, part)
        defer { metrics.inFlight.add(-1, part) }
        do {
            let response = try await next.respond(to: request, context: context)
            record(request, note, response.status, began)
            return response
        } catch is CancellationError {
            metrics.clientsGone.add(1, part)
            throw CancellationError()
        } catch {
            record(request, note, .internalServerError, began)
            throw error
        }
    }

    private func record(_ request: HTTPRequest, _ note: RouteNote, _ status: HTTPStatus, _ began: Instant) {
        let route = note.pattern ?? elsewhere(request.path)
        metrics.requests.add(1, part, route, Self.name(request.method), Self.statusClass(status))
        metrics.requestSeconds.observe(MeasuringTransport.seconds(time.now - began), part, route)
        if status == .tooManyRequests { metrics.rateLimited.add(1, part, route) }
    }

    /// Methods are whatever a client sends; the label is not.
    private static func name(_ method: HTTPMethod) -> String {
        let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
        return known.contains(method.rawValue) ? method.rawValue : "other"  // guard: metric-method
    }

    static func statusClass(_ status: HTTPStatus) -> String {
        (100...599).contains(status.rawValue) ? "\(status.rawValue / 100)xx" : "other"
    }
}

/// Counts the requests of a transport by how they end.
struct MeasuringTransport: HTTPTransport {
    let transport: any HTTPTransport
    let outcomes: MetricFamily
    let durations: MetricFamily
    let time: any TimeSource

    static func seconds(_ duration: Duration) -> Double { Double(max(0, duration.inMilliseconds)) / 1000 }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let began = time.now
        do {
            let response = try await transport.send(request)
            outcomes.add(1, MeasuringMiddleware.statusClass(response.status))
            durations.observe(Self.seconds(time.now - began))
            return response
        } catch {
            outcomes.add(1, Self.failure(error))
            throw error
        }
    }

    private static func failure(_ error: any Error) -> String {
        if error is CancellationError { return "given_up" }
        return switch (error as? NacreError)?.code.rawValue {
        case "transport.unreachable": "unreachable"
        case "transport.timeout": "timeout"
        case "transport.tls": "tls"
        case "transport.protocol": "protocol"
        default: "failed"
        }
    }
}

/// Counts transactions and what they fail with.
struct MeasuringBackend: DatabaseBackend {
    let backend: any DatabaseBackend
    let name: String
    let metrics: ServerMetrics
    var dialect: SQLDialect { backend.dialect }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result {
        try await counted("read") { try await backend.read(body) }
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result {
        try await counted("write") { try await backend.write(body) }
    }

    func exclusive<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result {
        try await counted("write") { try await backend.exclusive(body) }
    }

    private func counted<Result>(_ kind: String, _ transaction: () async throws -> Result) async throws -> Result {
        metrics.transactions.add(1, name, kind)
        do { return try await transaction() } catch {
            count(error)
            throw error
        }
    }

    /// What a closure throws for reasons of its own, and a key that is there already, are no faults of the database.
    private func count(_ error: any Error) {
        guard let code = (error as? NacreError)?.code.rawValue, code.hasPrefix("database."), code != "database.unique"
        else { return }
        metrics.databaseErrors.add(1, name, String(code.dropFirst(9)))
    }
}

extension Database {
    /// The same database, with its transactions counted under `name`.
    func measured(_ name: String, _ metrics: ServerMetrics, time: any TimeSource) -> Database {
        Database(backend: MeasuringBackend(backend: backend, name: name, metrics: metrics), time: time)
    }
}
