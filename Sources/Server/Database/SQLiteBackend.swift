// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
import NacreSQLite

/// SQLite: one writer and, for a file, one reader, each on a thread of its own.
struct SQLiteBackend: DatabaseBackend {
    private let writer: SQLiteThread
    private let reader: SQLiteThread
    let dialect = SQLDialect(identifier: "INTEGER PRIMARY KEY")

    init(path: String, durable: Bool) throws(NacreError) {
        writer = try SQLiteThread(path: path, options: SQLiteOptions(durability: durable ? .full : .normal))
        // A database in memory belongs to its one connection.
        reader =
            path == ":memory:"
            ? writer : try SQLiteThread(path: path, options: SQLiteOptions(durability: .normal, readOnly: true))
    }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result {
        try await reader.transaction(readOnly: true, body)
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result {
        try await writer.transaction(readOnly: false, body)
    }
}

extension SQLiteBackend {
    func exclusive<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result {
        // A file has one writer at a time, in whatever process: BEGIN IMMEDIATE waits for it.
        try await writer.transaction(readOnly: false, body)
    }
}

/// One connection on its own thread.
private actor SQLiteThread {
    private let thread: OwnThread
    private let adapter: SQLiteAdapter
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(path: String, options: SQLiteOptions) throws(NacreError) {
        adapter = try SQLiteAdapter(path: path, options: options)
        thread = OwnThread()
    }

    deinit { thread.stop() }

    func transaction<Result: Sendable>(
        readOnly: Bool, _ body: @Sendable (any SQLConnection) throws -> Result
    ) throws -> Result {
        try adapter.transaction(readOnly: readOnly, body)
    }
}

/// The one SQL surface over a SQLite connection.
private final class SQLiteAdapter: SQLConnection {
    private let connection: SQLiteConnection
    private var refusesChanges = false
    /// The first statement of this transaction that failed: nothing follows it, as on PostgreSQL.
    private var failure: NacreError?

    init(path: String, options: SQLiteOptions) throws(NacreError) {
        do { connection = try SQLiteConnection(path: path, options: options) } catch { throw Self.translated(error) }
    }

    /// The open code of this layer for an error of SQLite's.
    private static func translated(_ error: NacreError) -> NacreError {
        guard error.code.rawValue.hasPrefix("sqlite.") else { return error }
        return NacreError(
            .init(rawValue: "database." + error.code.rawValue.dropFirst(7)), error.message, cause: error.cause)
    }

    func transaction<Result>(
        readOnly: Bool, _ body: (any SQLConnection) throws -> Result
    ) throws -> Result {
        do {
            return try connection.transaction(immediate: !readOnly) { _ in
                refusesChanges = readOnly
                failure = nil
                let result = try body(self)
                if let failure { throw failure }  // guard: sqlite-failed-transaction
                return result
            }
        } catch let error as NacreError {
            throw Self.translated(error)
        }
    }

    private func run<Result>(
        _ sql: String, _ arguments: [SQLValue],
        _ body: (borrowing SQLiteStatement) throws(NacreError) -> Result
    ) throws(NacreError) -> Result {
        if let failure { throw failure }
        do {
            return try connection.withStatement(sql) { statement throws(NacreError) in
                guard !refusesChanges || statement.isReadOnly else {
                    throw NacreError(
                        "sqlite.read_only", "A statement inside read { } changes something; use write { }.")
                }
                guard arguments.count == statement.parameterCount else {
                    throw NacreError(
                        "sqlite.statement",
                        "The statement takes \(statement.parameterCount) values, not \(arguments.count).")
                }
                for (index, value) in arguments.enumerated() { try statement.bind(index + 1, SQLiteValue(value)) }
                return try body(statement)
            }
        } catch {
            throw noted(error)
        }
    }

    /// The error in this layer's words; one of SQLite's own, not of a row's reader, ends the transaction.
    private func noted(_ error: NacreError) -> NacreError {
        let translated = Self.translated(error)
        if failure == nil, error.code.rawValue.hasPrefix("sqlite.") { failure = translated }
        return translated
    }

    func execute(_ sql: String, _ arguments: [SQLValue]) throws(NacreError) -> Int {
        try run(sql, arguments) { statement throws(NacreError) in while try statement.step() {} }
        return connection.changes
    }

    func query(_ sql: String, _ arguments: [SQLValue]) throws(NacreError) -> [SQLRow] {
        var rows: [SQLRow] = []
        try forEachRow(sql, arguments) { row in
            rows.append(row)
            return true
        }
        return rows
    }

    func forEachRow(
        _ sql: String, _ arguments: [SQLValue], _ body: (SQLRow) throws(NacreError) -> Bool
    ) throws(NacreError) {
        try run(sql, arguments) { statement throws(NacreError) in
            let columns = statement.columns
            while try statement.step() {
                let values = columns.indices.map { SQLValue(statement.value($0)) }
                guard try body(SQLRow(columns: columns, values: values)) else { return }
            }
        }
    }

    func executeScript(_ sql: String) throws(NacreError) {
        guard !refusesChanges else {
            throw NacreError("database.read_only", "A script inside read { } may change something; use write { }.")
        }
        if let failure { throw failure }
        do { try connection.executeScript(sql) } catch { throw noted(error) }
    }
}

extension SQLiteValue {
    fileprivate init(_ value: SQLValue) {
        self =
            switch value {
            case .null: .null
            case .integer(let value): .integer(value)
            case .real(let value): .real(value)
            case .text(let text): .text(text)
            case .blob(let bytes): .blob(bytes)
            }
    }
}

extension SQLValue {
    fileprivate init(_ value: SQLiteValue) {
        self =
            switch value {
            case .null: .null
            case .integer(let value): .integer(value)
            case .real(let value): .real(value)
            case .text(let text): .text(text)
            case .blob(let bytes): .blob(bytes)
            }
    }
}

extension Database {
    /// A SQLite database in the file `path`, created where it is missing; `:memory:` for tests.
    ///
    /// `durable`: a commit survives a power cut (default). Opening blocks shortly; call it at start.
    /// - Throws: `database.cannot_open`, `database.corrupt`, `database.read_only`, `database.busy`.
    public static func sqlite(
        path: String, durable: Bool = true, time: any TimeSource = SystemTime()
    ) throws(NacreError) -> Database {
        Database(backend: try SQLiteBackend(path: path, durable: durable), time: time)
    }
}
