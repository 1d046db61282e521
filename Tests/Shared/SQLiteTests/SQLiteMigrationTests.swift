// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreSQLite
import Testing

@Suite struct SQLiteMigrationTests {
    private let first = SQLiteMigration(1, "CREATE TABLE a (v); CREATE TABLE b (v);")
    private let second = SQLiteMigration(2, "ALTER TABLE a ADD COLUMN w;")
    private let now = Instant(seconds: 1_800_000_000)

    @Test func `steps run once, in order, and later ones are added`() throws {
        let connection = try SQLiteConnection(path: ":memory:")
        try connection.migrate([first], now: now)
        try connection.migrate([first, second], now: now)
        try connection.migrate([first, second], now: now)
        #expect(try connection.query("SELECT v, w FROM a").isEmpty)
        #expect(try connection.query("PRAGMA user_version").first?.values == [2])
    }

    @Test func `a database of a newer program is refused`() throws {
        let connection = try SQLiteConnection(path: ":memory:")
        try connection.migrate([first, second], now: now)
        let first = first
        let now = now
        try expect("sqlite.migration_newer") { try connection.migrate([first], now: now) }
    }

    @Test func `an edited step is refused`() throws {
        let connection = try SQLiteConnection(path: ":memory:")
        try connection.migrate([first], now: now)
        let now = now
        try expect("sqlite.migration_changed") {
            try connection.migrate([SQLiteMigration(1, "CREATE TABLE a (v INTEGER);")], now: now)
        }
    }

    @Test func `a failing step leaves the version before it`() throws {
        let connection = try SQLiteConnection(path: ":memory:")
        let steps = [first, SQLiteMigration(2, "CREATE TABLE c (v); CREATE TABLE a (v);")]
        let now = now
        try expect("sqlite.statement") { try connection.migrate(steps, now: now) }
        #expect(try connection.query("PRAGMA user_version").first?.values == [1])
        #expect(try connection.query("SELECT name FROM sqlite_master WHERE name = 'c'").isEmpty)
    }
}

@Suite struct SQLiteStoreTests {
    @Test func `many tasks write through one store and nothing is lost`() async throws {
        let store = try SQLiteStore(path: ":memory:")
        try await store.run { db in
            try db.execute("CREATE TABLE t (n INTEGER)")
            try db.execute("INSERT INTO t VALUES (0)")
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    try await store.transaction { db in
                        let n = try db.query("SELECT n FROM t").first?["n"].integer ?? 0
                        try db.execute("UPDATE t SET n = $1", [.integer(n + 1)])
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await store.run { db in try db.query("SELECT n FROM t").first?["n"] } == 200)
    }
}
