// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreDatabase
import Synchronization

/// Stands before another database and counts the transactions that reach it.
package final class CountingBackend: DatabaseBackend {
    private let inner: any DatabaseBackend
    private let counts = Mutex((reads: 0, writes: 0))
    package var dialect: SQLDialect { inner.dialect }
    package var reads: Int { counts.withLock { $0.reads } }
    package var writes: Int { counts.withLock { $0.writes } }

    package init(_ inner: Database) { self.inner = inner.backend }

    /// The database that is counted.
    package func database(time: any TimeSource) -> Database { Database(backend: self, time: time) }

    package func read<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result {
        counts.withLock { $0.reads += 1 }
        return try await inner.read(body)
    }

    package func write<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result {
        counts.withLock { $0.writes += 1 }
        return try await inner.write(body)
    }

    package func exclusive<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result {
        counts.withLock { $0.writes += 1 }
        return try await inner.exclusive(body)
    }
}
