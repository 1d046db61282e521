// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// A database of the server half. Copies share one pool of connections.
///
/// Closures run on threads of their own and hold a whole transaction: nothing of another task comes in between, and
/// nothing in them can `await`.
///
/// ```swift
/// let name = try await database.read { sql in try sql.first("SELECT name FROM mail WHERE id = $1", [7])?.text("name") }
/// try await database.write { sql in try sql.execute("DELETE FROM mail WHERE id = $1", [7]) }
/// ```
public struct Database: Sendable {
    package let backend: any DatabaseBackend
    private let time: any TimeSource

    package init(backend: any DatabaseBackend, time: any TimeSource) {
        self.backend = backend
        self.time = time
    }

    /// Runs `body` on one consistent snapshot; statements that change anything are refused.
    public func read<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result {
        try await backend.read(body)
    }

    /// Runs `body` in one write transaction: all of it is stored, or nothing when it throws.
    ///
    /// Writers run one after the other (or, on a database with several nodes, as if they did; then `body` may run again
    /// after a conflict, so it must have no effect outside the database).
    public func write<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result {
        try await backend.write(body)
    }

    /// Brings the tables of one component up to date; call it at start, before the component's first query.
    ///
    /// In scripts `{id}` stands for the type of a row id that the database counts up itself; use `BIGINT`, `TEXT`,
    /// `BYTEA` and `DOUBLE PRECISION` for the rest.
    ///
    /// - Throws: `database.migration_newer` when the tables were made by a newer program, `database.migration_changed`
    ///   when a released step was edited.
    public func migrate(_ component: String, _ migrations: [Migration]) async throws {
        let now = time.now
        let dialect = backend.dialect
        // One node at a time: the others wait, then find it done.
        try await backend.exclusive { sql in
            try Migration.apply(migrations, of: component, to: sql, dialect: dialect, now: now)
        }
    }
}

/// What stands behind a `Database`.
package protocol DatabaseBackend: Sendable {
    /// How its schemas are written.
    var dialect: SQLDialect { get }
    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result
    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result
    /// A write that is alone in the whole database, also among several processes: migrations.
    func exclusive<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result
}

extension DatabaseBackend {
    /// For backends that have one writer anyway. A backend that stands before another must pass `exclusive` on.
    package func exclusive<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result {
        try await write(body)
    }
}

/// The words in which databases differ.
package struct SQLDialect: Sendable {
    /// The type of a row id that the database counts up itself, with PRIMARY KEY.
    package let identifier: String

    package init(identifier: String) { self.identifier = identifier }

    func expand(_ script: String) -> String {
        var result = ""
        var rest = script[...]
        while let mark = rest.firstRange(ofText: "{id}") {
            result += rest[..<mark.lowerBound] + identifier
            rest = rest[mark.upperBound...]
        }
        return result + rest
    }
}
