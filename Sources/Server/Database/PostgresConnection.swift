// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CPostgres
import NacreCore

/// One connection, for one thread, and the one SQL surface over it inside a transaction.
final class PostgresConnection: SQLConnection {
    /// How a transaction begins.
    enum Kind: Sendable {
        case read, write
        /// Alone among all of this kind: migrations.
        case exclusive
    }

    /// Of all nodes of one database, one holds this lock; the number says nothing.
    private static let migrationLock: Int64 = 0x6e61_6372_6501

    private let handle: OpaquePointer
    private let target: PostgresTarget
    private let options: PostgresOptions
    private var statements: [String: String] = [:]
    private var cursors = 0
    private var kind = Kind.read
    private var deadline: Duration = .zero
    /// The first statement of this transaction that failed, and what to do about it.
    private(set) var failure: (error: NacreError, remedy: PostgresRemedy)?
    /// An answer was given up that may still come.
    private var isSilent = false

    /// Connects; this blocks.
    ///
    /// - Throws: `database.unreachable`, `database.encoding`, `database.version`.
    init(_ target: PostgresTarget, _ options: PostgresOptions) throws(NacreError) {
        self.target = target
        self.options = options
        let keywords = target.parameters.keys.sorted()
        let handle = keywords.withCStrings { keys in
            keywords.map { target.parameters[$0] ?? "" }.withCStrings { PQconnectdbParams(keys, $0, 0) }
        }
        guard let handle else { throw NacreError("database.unreachable", "There is no memory for a connection.") }
        self.handle = handle
        guard PQstatus(handle) == CONNECTION_OK else {
            let detail = target.redacted(String(cString: PQerrorMessage(handle)).flattened)
            throw NacreError(
                "database.unreachable",
                "The database \(target.place) cannot be reached: \(detail). Start it, or correct its URL.")
        }
        nacre_pg_be_quiet(handle)
        guard PQserverVersion(handle) >= 130_000 else {
            throw NacreError("database.version", "PostgreSQL 13 or newer is needed; upgrade the server.")
        }
        guard PQparameterStatus(handle, "server_encoding").map({ String(cString: $0) }) == "UTF8" else {
            throw NacreError(
                "database.encoding", "The database \(target.place) is not in UTF-8; create it with ENCODING 'UTF8'.")
        }
        deadline = options.statementTimeout
        // Tables here are small or looked up by key. A plan that reads a whole table would make every change of it a
        // conflict for SERIALIZABLE; with an index only what was read is.
        try control(
            """
            SET statement_timeout = \(options.statementTimeout.inMilliseconds);
            SET lock_timeout = \(options.statementTimeout.inMilliseconds / 2);
            SET idle_in_transaction_session_timeout = \(options.idleTransactionTimeout.inMilliseconds);
            SET enable_seqscan = off; SET standard_conforming_strings = on
            """)
    }

    deinit { PQfinish(handle) }

    /// Whether it can be used no more.
    var isLost: Bool { isSilent || PQstatus(handle) != CONNECTION_OK || failure?.remedy == .reconnect }

    // MARK: Transactions

    /// Runs `body` in one transaction. After a throw, `failure` says whether to run it again.
    func transaction<Result>(_ kind: Kind, _ body: (any SQLConnection) throws -> Result) throws -> Result {
        self.kind = kind
        failure = nil
        deadline = kind == .exclusive ? options.migrationTimeout : options.statementTimeout
        do {
            try begin()
            let result = try body(self)
            // PostgreSQL answers a COMMIT after a failed statement with ROLLBACK and no error.
            if let failure { throw failure.error }
            try commit()
            return result
        } catch {
            if !isLost, PQtransactionStatus(handle) != PQTRANS_IDLE {
                let before = failure
                failure = nil
                try? control("ROLLBACK")
                failure = before ?? failure
            }
            throw error
        }
    }

    private func begin() throws(NacreError) {
        switch kind {
        case .read: try control("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        case .write:
            try refuseStandby()
            try control("BEGIN ISOLATION LEVEL SERIALIZABLE")
        case .exclusive:
            try refuseStandby()
            // What others migrated while this one waited must be seen: a snapshot per statement, taken after the lock.
            try control(
                """
                BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = 0;
                SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock(\(Self.migrationLock))
                """)
        }
    }

    /// A standby knows no SERIALIZABLE and would complain about that.
    private func refuseStandby() throws(NacreError) {
        guard PQparameterStatus(handle, "in_hot_standby").map({ String(cString: $0) }) != "on" else {
            let error = NacreError(
                "database.read_only",
                "The database \(target.place) is a standby and takes no changes; name the primary in its URL.")
            failure = (error, .none)
            throw error
        }
    }

    private func commit() throws(NacreError) {
        do {
            try control("COMMIT")
        } catch {
            guard isLost, kind != .read else { throw error }
            // Whether it was stored before the connection broke cannot be known: it must not run again.
            let unknown = NacreError(
                "database.commit_unknown",
                "The connection to the database broke while a change was being stored; look whether it was.",
                cause: error)
            failure = (unknown, .none)  // guard: postgres-commit-unknown
            throw unknown
        }
    }

    /// Statements of our own without parameters.
    private func control(_ sql: String) throws(NacreError) {
        try guarded { () throws(NacreError) in
            guard PQsendQuery(handle, sql) == 1 else { throw broken() }
            _ = try results()
        }
    }

    // MARK: The SQL surface

    func execute(_ sql: String, _ arguments: [SQLValue]) throws(NacreError) -> Int {
        try guarded { () throws(NacreError) in
            let result = try run(sql, arguments)
            return Int(String(cString: PQcmdTuples(result.handle))) ?? 0
        }
    }

    func query(_ sql: String, _ arguments: [SQLValue]) throws(NacreError) -> [SQLRow] {
        try guarded { () throws(NacreError) in try run(sql, arguments).rows() }
    }

    func forEachRow(
        _ sql: String, _ arguments: [SQLValue], _ body: (SQLRow) throws(NacreError) -> Bool
    ) throws(NacreError) {
        // Only a plain SELECT can have a cursor; what a change returns is as large as the change.
        guard sql.isSelect else {
            for row in try query(sql, arguments) { guard try body(row) else { return } }
            return
        }
        // A cursor, not single-row mode: `body` may ask something else meanwhile, as on SQLite.
        cursors += 1
        let cursor = "nacre_rows_\(cursors)"
        try guarded { () throws(NacreError) in
            _ = try runOnce("DECLARE \(cursor) NO SCROLL CURSOR FOR \(sql)", arguments)
        }
        while true {
            let rows = try guarded { () throws(NacreError) in
                try runOnce("FETCH \(options.fetchSize) FROM \(cursor)", []).rows()
            }
            for row in rows where try !body(row) { return try control("CLOSE \(cursor)") }
            if rows.count < options.fetchSize { return try control("CLOSE \(cursor)") }
        }
    }

    func executeScript(_ sql: String) throws(NacreError) {
        guard kind != .read else {
            throw NacreError("database.read_only", "A script inside read { } may change something; use write { }.")
        }
        try control(sql)
    }

    // MARK: Statements

    /// Refuses work after a failure, as PostgreSQL itself does, and remembers the first failure.
    private func guarded<Result>(_ body: () throws(NacreError) -> Result) throws(NacreError) -> Result {
        if let failure { throw failure.error }
        do { return try body() } catch {
            if failure == nil { failure = (error, .none) }
            throw error
        }
    }

    /// Runs a statement that was seen before by its plan.
    private func run(_ sql: String, _ arguments: [SQLValue]) throws(NacreError) -> PostgresResult {
        let values = PostgresArguments(arguments)
        let key = values.types.reduce(into: sql) { $0 += "\u{0}\($1)" }
        let name: String
        if let known = statements[key] {
            name = known
        } else {
            if statements.count >= 256 { try forgetPlans() }
            name = "nacre_\(statements.count)"
            let sent = values.types.withUnsafeBufferPointer {
                PQsendPrepare(handle, name, sql, values.count, $0.baseAddress)
            }
            guard sent == 1 else { throw broken() }
            _ = try results()
            statements[key] = name
        }
        let sent = values.withPointers { PQsendQueryPrepared(handle, name, Int32($1.count), $1, $2, $3, 1) }
        guard sent == 1 else { throw broken() }
        return try results()
    }

    private func runOnce(_ sql: String, _ arguments: [SQLValue]) throws(NacreError) -> PostgresResult {
        let values = PostgresArguments(arguments)
        let sent = values.withPointers { PQsendQueryParams(handle, sql, Int32($1.count), $0, $1, $2, $3, 1) }
        guard sent == 1 else { throw broken() }
        return try results()
    }

    /// Forgets every prepared statement, here and on the server.
    func forgetPlans() throws(NacreError) {
        statements = [:]
        guard PQsendQuery(handle, "DEALLOCATE ALL") == 1 else { throw broken() }
        _ = try results()
    }

    /// The last of the results on their way.
    private func results() throws(NacreError) -> PostgresResult {
        // The server's own limit comes first; this one is for a server that says nothing any more.
        let end = ContinuousClock.now + deadline + .seconds(5)
        var last: PostgresResult?
        var fault: (error: NacreError, remedy: PostgresRemedy)?
        while true {
            while PQisBusy(handle) == 1 {
                let left = (end - ContinuousClock.now).inMilliseconds
                let ready = nacre_pg_wait(PQsocket(handle), Int32(clamping: max(0, left)))
                guard ready != 0 else { throw silent() }
                guard ready > 0, PQconsumeInput(handle) == 1 else { throw fault?.error ?? broken() }
            }
            guard let result = PQgetResult(handle) else { break }
            let held = PostgresResult(result)
            switch PQresultStatus(result) {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: last = held
            default:
                fault = fault ?? PostgresFault.judged(result, reading: kind == .read)
                if let fault, failure == nil { failure = fault }
            }
        }
        if let fault { throw fault.error }
        guard let last else { throw broken() }
        return last
    }

    private func broken() -> NacreError {
        let detail = target.redacted(String(cString: PQerrorMessage(handle)).flattened)
        let error = NacreError("database.unreachable", "The connection to the database broke: \(detail).")
        if failure == nil { failure = (error, PQstatus(handle) == CONNECTION_OK ? .none : .reconnect) }
        return error
    }

    private func silent() -> NacreError {
        let error = NacreError(
            "database.timeout", "The database \(target.place) has not answered for \(deadline.inMilliseconds / 1000) s."
        )
        isSilent = true
        if failure == nil { failure = (error, .none) }
        return error
    }
}

/// A result, freed with its last reference.
final class PostgresResult {
    let handle: OpaquePointer

    init(_ handle: OpaquePointer) { self.handle = handle }
    deinit { PQclear(handle) }

    func rows() throws(NacreError) -> [SQLRow] {
        let count = PQnfields(handle)
        let columns = (0..<count).map { String(cString: PQfname(handle, $0)) }
        let types = (0..<count).map { PQftype(handle, $0) }
        var rows: [SQLRow] = []
        for row in 0..<PQntuples(handle) {
            var values: [SQLValue] = []
            for (index, type) in types.enumerated() {
                let column = Int32(index)
                guard PQgetisnull(handle, row, column) == 0 else {
                    values.append(.null)
                    continue
                }
                let bytes = UnsafeRawBufferPointer(
                    start: PQgetvalue(handle, row, column), count: Int(PQgetlength(handle, row, column)))
                values.append(try SQLValue(postgres: bytes, type: type, column: columns[index]))
            }
            rows.append(SQLRow(columns: columns, values: values))
        }
        return rows
    }
}

extension String {
    /// Whether it is a query that only reads, by its first word.
    fileprivate var isSelect: Bool {
        let text = drop { $0.isWhitespace }.prefix(7).lowercased()
        return text.hasPrefix("select") || text.hasPrefix("values")
    }

    /// In one line, without a full stop at the end.
    var flattened: String {
        var text = split { $0.isNewline }.joined(separator: " ")
        while let last = text.last, last.isWhitespace || last == "." { text.removeLast() }
        return text
    }
}

extension [String] {
    /// Calls `body` with these texts as a list of C strings that ends with a null pointer.
    fileprivate func withCStrings<Result>(_ body: ([UnsafePointer<CChar>?]) -> Result) -> Result {
        let bytes = map { Array<CChar>($0.utf8CString) }
        let flat = bytes.flatMap { $0 }
        return flat.withUnsafeBufferPointer { buffer in
            var pointers: [UnsafePointer<CChar>?] = []
            var offset = 0
            for text in bytes {
                pointers.append(buffer.baseAddress?.advanced(by: offset))
                offset += text.count
            }
            return body(pointers + [nil])
        }
    }
}
