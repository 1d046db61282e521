// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CSQLite
package import NacreCore

/// How a database is opened. Every field has a default that is right for a server's or an app's own data.
package struct SQLiteOptions: Sendable {
    /// What a commit survives.
    package enum Durability: Sendable {
        /// A commit survives a power cut (`synchronous=FULL`): sessions, accounts, outbox, journals.
        case full
        /// A commit survives a crash of the process; the last ones may be lost in a power cut (`NORMAL`): caches.
        case normal
    }

    /// What a commit survives. Default `.full`.
    package var durability: Durability = .full
    /// How long a statement waits for another process before `sqlite.busy`. Default 5 s.
    package var busyTimeout: Duration = .seconds(5)
    /// Refuses every change. Default false.
    package var readOnly = false
    /// The database may not grow beyond so many pages (of 4 KB); beyond it `sqlite.disk_full`. Default: no bound.
    package var maximumPages: Int?

    /// The defaults.
    package init(
        durability: Durability = .full, busyTimeout: Duration = .seconds(5), readOnly: Bool = false,
        maximumPages: Int? = nil
    ) {
        self.durability = durability
        self.busyTimeout = busyTimeout
        self.readOnly = readOnly
        self.maximumPages = maximumPages
    }
}

/// One connection to a SQLite file in WAL mode, for one thread at a time; closed when it goes out of scope.
///
/// `execute` and `query` keep the statements they prepared, so repeated SQL is parsed once.
package struct SQLiteConnection: ~Copyable {
    private let handle: OpaquePointer
    private let cache: StatementCache

    /// Opens `path`, creating it for this user alone where it is missing; `:memory:` is a private database in memory.
    ///
    /// - Throws: `sqlite.cannot_open`, `sqlite.corrupt`, `sqlite.read_only`, `sqlite.busy`.
    package init(path: String, options: SQLiteOptions = SQLiteOptions()) throws(NacreError) {
        handle = try Self.open(path, options)
        cache = StatementCache(handle)
    }

    private static func open(_ path: String, _ options: SQLiteOptions) throws(NacreError) -> OpaquePointer {
        if path != ":memory:", !options.readOnly {
            let reason = nacre_sqlite_create_private(path)
            guard reason == 0 else {
                throw NacreError(
                    "sqlite.cannot_open",
                    "The database \(path) cannot be created (error \(reason)); check that its folder can be written.")
            }
        }
        var handle: OpaquePointer?
        let access = options.readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
        let result = sqlite3_open_v2(path, &handle, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        guard result == SQLITE_OK, let handle else {
            let detail = handle.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            sqlite3_close_v2(handle)
            throw SQLiteFault.error(result, extended: result, detail: detail, doing: "Opening \(path) failed")
        }
        do {
            try configure(handle, path, options)
            return handle
        } catch {
            sqlite3_close_v2(handle)
            throw error
        }
    }

    private static func configure(
        _ handle: OpaquePointer, _ path: String, _ options: SQLiteOptions
    ) throws(NacreError) {
        wait(handle, options.busyTimeout)
        // Text in double quotes is a name, never a string; the schema cannot run functions with side effects.
        for flag in [SQLITE_DBCONFIG_DQS_DDL, SQLITE_DBCONFIG_DQS_DML, SQLITE_DBCONFIG_TRUSTED_SCHEMA] {
            _ = nacre_sqlite_config_flag(handle, flag, 0)
        }
        _ = nacre_sqlite_config_flag(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
        if !options.readOnly {
            let mode = try switchToWAL(handle, patience: options.busyTimeout)
            guard path == ":memory:" || mode == "wal" else {
                throw NacreError(
                    "sqlite.cannot_open",
                    "\(path) is on a file system without shared memory, so it cannot be used safely; move it.")
            }
        }
        var pragmas = "PRAGMA synchronous=\(options.durability == .full ? "FULL" : "NORMAL"); PRAGMA foreign_keys=ON;"
        if let pages = options.maximumPages { pragmas += "PRAGMA max_page_count=\(pages);" }
        let result = sqlite3_exec(handle, pragmas, nil, nil, nil)
        guard result == SQLITE_OK else {
            throw SQLiteFault.error(
                result, extended: result, detail: String(cString: sqlite3_errmsg(handle)),
                doing: "Opening \(path) failed")
        }
    }

    /// Short naps while another process writes. SQLite's own grow to a tenth of a second, and whoever writes without a pause
    /// leaves no gap as long as that: somebody who waits politely would never get a turn.
    private static func wait(_ handle: OpaquePointer, _ patience: Duration) {
        let naps = Int(clamping: patience.inMilliseconds / Int64(nap))
        sqlite3_busy_handler(
            handle,
            { naps, count in
                guard count < Int(bitPattern: naps) else { return 0 }
                sqlite3_sleep(SQLiteConnection.nap)
                return 1
            }, UnsafeMutableRawPointer(bitPattern: naps))
    }

    /// In milliseconds.
    private static let nap: Int32 = 2

    /// The journal mode that the file has afterwards.
    ///
    /// Who switches a new file at the same moment may hold what this connection needs, and the other way round. SQLite
    /// then says busy at once, and asks nobody whether to wait: so one of them has to let go and come again.
    private static func switchToWAL(_ handle: OpaquePointer, patience: Duration) throws(NacreError) -> String? {
        let end = ContinuousClock.now + patience
        while true {
            do {
                let statement = try SQLiteStatement("PRAGMA journal_mode=WAL", in: handle)
                return try statement.step() ? statement.value(0).text : nil
            } catch {
                guard error.code == "sqlite.busy", ContinuousClock.now < end else {  // guard: sqlite-open-together
                    throw error
                }
            }
            sqlite3_sleep(nap)
        }
    }

    deinit {
        cache.clear()
        sqlite3_close_v2(handle)
    }

    /// A statement of your own, for loops that bind many times.
    package func prepare(_ sql: String) throws(NacreError) -> SQLiteStatement { try SQLiteStatement(sql, in: handle) }

    /// Runs one statement; returns how many rows it inserted, changed or deleted.
    @discardableResult
    package func execute(_ sql: String, _ arguments: [SQLiteValue] = []) throws(NacreError) -> Int {
        try withStatement(sql) { statement throws(NacreError) in
            try statement.bind(arguments)
            while try statement.step() {}
        }
        return changes
    }

    /// All rows that one statement answers.
    package func query(_ sql: String, _ arguments: [SQLiteValue] = []) throws(NacreError) -> [SQLiteRow] {
        var rows: [SQLiteRow] = []
        try withStatement(sql) { statement throws(NacreError) in
            try statement.bind(arguments)
            while try statement.step() {
                rows.append(SQLiteRow(columns: statement.columns, values: statement.values()))
            }
        }
        return rows
    }

    /// Lends the kept statement of this text, reset before and after.
    package func withStatement<Result>(
        _ sql: String, _ body: (borrowing SQLiteStatement) throws(NacreError) -> Result
    ) throws(NacreError) -> Result {
        let holder = try cache.take(sql)
        defer { cache.give(back: holder, sql) }
        defer { holder.statement.reset() }
        return try body(holder.statement)
    }

    /// Runs several statements separated by semicolons, without parameters: schemas and migrations.
    package func executeScript(_ sql: String) throws(NacreError) {
        let result = sqlite3_exec(handle, sql, nil, nil, nil)
        guard result == SQLITE_OK else {
            throw SQLiteFault.error(
                result, extended: sqlite3_extended_errcode(handle), detail: String(cString: sqlite3_errmsg(handle)),
                doing: "A script failed")
        }
    }

    /// Runs `body` in one transaction: all of it is stored, or nothing when it throws.
    ///
    /// `immediate` takes the write lock at once, so that two writers cannot both read first and then collide.
    package func transaction<Result>(
        immediate: Bool = true, _ body: (borrowing SQLiteConnection) throws -> Result
    ) throws -> Result {
        try execute(immediate ? "BEGIN IMMEDIATE" : "BEGIN")
        do {
            let result = try body(self)
            try execute("COMMIT")
            return result
        } catch {
            // Some failures (a full disk) have already rolled back; then there is nothing left to undo.
            if sqlite3_get_autocommit(handle) == 0 { _ = try? execute("ROLLBACK") }
            throw error
        }
    }

    /// How many rows the last statement inserted, changed or deleted.
    package var changes: Int { Int(sqlite3_changes(handle)) }

    /// The row id of the last row that this connection inserted.
    package var lastInsertedID: Int64 { sqlite3_last_insert_rowid(handle) }
}

/// The statements of one connection by their text; used by the connection's one thread only.
private final class StatementCache {
    final class Holder {
        let statement: SQLiteStatement
        init(_ statement: consuming SQLiteStatement) { self.statement = statement }
    }

    private let handle: OpaquePointer
    private var idle: [String: Holder] = [:]

    init(_ handle: OpaquePointer) { self.handle = handle }

    /// Taken out while in use, so that a nested call with the same text gets a statement of its own.
    func take(_ sql: String) throws(NacreError) -> Holder {
        if let holder = idle.removeValue(forKey: sql) { return holder }
        return Holder(try SQLiteStatement(sql, in: handle))
    }

    func give(back holder: Holder, _ sql: String) {
        if idle.count >= 128 { idle.removeAll() }
        idle[sql] = holder
    }

    func clear() { idle.removeAll() }
}
