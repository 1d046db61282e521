// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// One SQLite connection on a thread of its own: nothing of it blocks the cooperative pool.
///
/// What runs inside a closure is synchronous, so no other work comes between its statements.
package actor SQLiteStore {
    private let thread: OwnThread
    private let connection: SQLiteConnection
    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// Opens `path` (see `SQLiteConnection`). Opening blocks shortly; call it at start, not in a request.
    package init(path: String, options: SQLiteOptions = SQLiteOptions()) throws(NacreError) {
        connection = try SQLiteConnection(path: path, options: options)
        thread = OwnThread()
    }

    deinit { thread.stop() }

    /// Runs `body` without a transaction: one statement, or reads that need no common snapshot.
    package func run<Result: Sendable>(
        _ body: @Sendable (borrowing SQLiteConnection) throws -> Result
    ) throws -> Result {
        try body(connection)
    }

    /// Runs `body` in one write transaction: all of it is stored, or nothing when it throws.
    package func transaction<Result: Sendable>(
        _ body: @Sendable (borrowing SQLiteConnection) throws -> Result
    ) throws -> Result {
        try connection.transaction(body)
    }

    /// Runs `body` on one snapshot, without the write lock.
    package func snapshot<Result: Sendable>(
        _ body: @Sendable (borrowing SQLiteConnection) throws -> Result
    ) throws -> Result {
        try connection.transaction(immediate: false, body)
    }

    /// Brings the schema up to date (see `SQLiteConnection.migrate`).
    package func migrate(_ migrations: [SQLiteMigration], now: Instant) throws {
        try connection.migrate(migrations, now: now)
    }
}
