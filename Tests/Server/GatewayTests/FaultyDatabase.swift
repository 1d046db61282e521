// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase
import Synchronization

/// A database that fails with the codes a test sets, before anything is read or written.
final class FaultyDatabase: DatabaseBackend {
    private struct State {
        var reads: NacreError.Code?
        var writes: NacreError.Code?
    }
    private let inner: any DatabaseBackend
    private let state = Mutex(State())
    let dialect: SQLDialect

    init() {
        guard let memory = try? Database.sqlite(path: ":memory:") else { preconditionFailure("no memory") }
        inner = memory.backend
        dialect = inner.dialect
    }

    var database: Database { Database(backend: self, time: SystemTime()) }

    func fail(reads: String?, writes: String?) {
        state.withLock {
            $0 = State(
                reads: reads.map(NacreError.Code.init(rawValue:)), writes: writes.map(NacreError.Code.init(rawValue:)))
        }
    }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result {
        if let code = state.withLock({ $0.reads }) { throw NacreError(code, "The test says so.") }
        return try await inner.read(body)
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result {
        if let code = state.withLock({ $0.writes }) { throw NacreError(code, "The test says so.") }
        return try await inner.write(body)
    }
}
