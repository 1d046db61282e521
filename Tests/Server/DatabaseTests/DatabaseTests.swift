// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreDatabase
import NacreDatabaseTesting
import Testing

@Suite struct DatabaseTests {
    private func made() async throws -> Database {
        let database = try await TestDatabase.make()
        try await database.migrate(
            "test",
            [
                Migration(1, "CREATE TABLE mail (id {id}, name TEXT NOT NULL UNIQUE, at BIGINT, body BYTEA);")
            ])
        return database
    }

    @Test func `what is written is read back, with the id the database gave`() async throws {
        let database = try await made()
        let at = Instant(milliseconds: 1_800_000_000_123)
        let id = try await database.write { sql in
            try sql.query(
                "INSERT INTO mail (name, at, body) VALUES ($1, $2, $3) RETURNING id",
                ["a", SQLValue(at), .blob([1, 2])])[0]
                .integer("id")
        }
        let row = try #require(
            try await database.read { sql in
                try sql.first("SELECT * FROM mail WHERE id = $1", [.integer(id)])
            })
        #expect(try row.text("name") == "a")
        #expect(try row.moment("at") == at)
        #expect(try row.blob("body") == [1, 2])
        #expect(throws: NacreError.self) { try row.integer("name") }
        #expect(row["nothing"].isNull)
    }

    @Test func `a write that throws stores nothing`() async throws {
        let database = try await made()
        await #expect(throws: CancellationError.self) {
            try await database.write { sql in
                try sql.execute("INSERT INTO mail (name) VALUES ('a')")
                throw CancellationError()
            }
        }
        #expect(try await database.read { sql in try sql.query("SELECT id FROM mail").count } == 0)
    }

    @Test func `a statement that failed ends the transaction, also when its error is swallowed`() async throws {
        let database = try await made()
        let error = await #expect(throws: NacreError.self) {
            try await database.write { sql in
                try sql.execute("INSERT INTO mail (name) VALUES ('a')")
                _ = try? sql.execute("INSERT INTO mail (name) VALUES ('a')")
            }
        }
        #expect(error?.code == "database.unique")
        #expect(try await database.read { sql in try sql.query("SELECT id FROM mail").count } == 0)
    }

    @Test func `a read that changes something is refused`() async throws {
        let database = try await made()
        for sentence in ["DELETE FROM mail", "INSERT INTO mail (name) VALUES ('a') RETURNING id"] {
            let error = await #expect(throws: NacreError.self) {
                try await database.read { sql in _ = try sql.query(sentence) }
            }
            #expect(error?.code == "database.read_only")
        }
    }

    @Test func `errors have this layer's codes`() async throws {
        let database = try await made()
        let error = await #expect(throws: NacreError.self) {
            try await database.write { sql in
                try sql.execute("INSERT INTO mail (name) VALUES ('a')")
                try sql.execute("INSERT INTO mail (name) VALUES ('a')")
            }
        }
        #expect(error?.code == "database.unique")
        let opening = #expect(throws: NacreError.self) { _ = try Database.sqlite(path: "/nowhere/a.db") }
        #expect(opening?.code == "database.cannot_open")
    }

    @Test func `rows can be read one by one and the reading stopped`() async throws {
        let database = try await made()
        try await database.write { sql in
            for name in ["a", "b", "c"] { try sql.execute("INSERT INTO mail (name) VALUES ($1)", [.text(name)]) }
        }
        let seen = try await database.read { sql in
            var seen: [String] = []
            try sql.forEachRow("SELECT name FROM mail ORDER BY name", []) { row throws(NacreError) in
                seen.append(try row.text("name"))
                return seen.count < 2
            }
            return seen
        }
        #expect(seen == ["a", "b"])
    }

    @Test func `components migrate side by side; newer and edited ones are refused`() async throws {
        let database = try await made()
        let other = [Migration(1, "CREATE TABLE o (id {id});"), Migration(2, "ALTER TABLE o ADD COLUMN n TEXT;")]
        try await database.migrate("other", other)
        try await database.migrate("other", other)
        let newer = await #expect(throws: NacreError.self) { try await database.migrate("other", [other[0]]) }
        #expect(newer?.code == "database.migration_newer")
        let changed = await #expect(throws: NacreError.self) {
            try await database.migrate("other", [Migration(1, "CREATE TABLE o (id TEXT);"), other[1]])
        }
        #expect(changed?.code == "database.migration_changed")
    }

    @Test func `a file is read while another transaction writes, without seeing half of it`() async throws {
        let path = NSTemporaryDirectory() + "nacre-database-\(UUID().uuidString).sqlite"
        defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
        let database = try Database.sqlite(path: path)
        try await database.migrate("test", [Migration(1, "CREATE TABLE pair (a BIGINT, b BIGINT);")])
        try await database.write { sql in _ = try sql.execute("INSERT INTO pair VALUES (0, 0)") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<100 {
                    try await database.write { sql in
                        try sql.execute("UPDATE pair SET a = a + 1")
                        try sql.execute("UPDATE pair SET b = b + 1")
                    }
                }
            }
            group.addTask {
                for _ in 0..<100 {
                    let row = try await database.read { sql in try sql.first("SELECT a, b FROM pair") }
                    #expect(row?["a"] == row?["b"])
                }
            }
            try await group.waitForAll()
        }
        #expect(try await database.read { sql in try sql.first("SELECT a FROM pair")?["a"] } == 100)
    }
}
