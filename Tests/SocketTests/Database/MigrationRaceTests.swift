// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase
import NacreDatabaseTesting
import Testing

@Suite struct MigrationRaceTests {
    private static let rows = 300_000
    private let probe = checkout + "/.build/debug/database-probe"

    /// How many rows the last step made; nil before it.
    private func made(_ database: Database) async throws -> Int64? {
        do {
            return try await database.read { sql in
                try sql.first("SELECT count(*) AS n FROM probe_second")?.integer("n")
            }
        } catch let error as NacreError where error.code == "database.statement" {
            return nil
        }
    }

    @Test(
        "A migration that is killed leaves the tables as before or as after, never between",
        arguments: DatabaseKind.allCases)
    func killed(kind: DatabaseKind) async throws {
        // On a machine with much else to do a short step may be over before anybody looks: then a longer one.
        for rows in [Self.rows, 5 * Self.rows, 20 * Self.rows] where try await interrupted(kind, rows) > 0 { return }
        Issue.record("no migration was met half way")
    }

    /// Kills migrations at several moments, then lets one end; returns how many were met half way.
    private func interrupted(_ kind: DatabaseKind, _ rows: Int) async throws -> Int {
        let place = try await SharedPlace(kind)
        defer { place.remove() }
        var interrupted = 0
        for delay in [30, 80, 200, 350, 500] {
            let companion = try Companion(probe, [place.text, "\(rows)"])
            try await Task.sleep(for: .milliseconds(delay))
            companion.kill()
            if await companion.status != 0 { interrupted += 1 }
            let database = try place.open(connections: 1)
            let count = try await made(database)
            #expect(count == nil || count == Int64(rows))
            let first: Bool
            do {
                _ = try await database.read { sql in try sql.query("SELECT n FROM probe_first") }
                first = true
            } catch { first = false }
            #expect(first == (count != nil), "both steps, or neither")
            if count != nil { break }
        }
        try await Companion.run(probe, [place.text, "\(rows)"])
        #expect(try await made(place.open(connections: 1)) == Int64(rows))
        return interrupted
    }

    @Test("Processes that migrate at once wait for each other, and one does the work", arguments: DatabaseKind.allCases)
    func together(kind: DatabaseKind) async throws {
        let place = try await SharedPlace(kind)
        defer { place.remove() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 { group.addTask { try await Companion.run(probe, [place.text, "20000"]) } }
            try await group.waitForAll()
        }
        let database = try place.open(connections: 1)
        #expect(try await made(database) == 20000)
        let steps = try await database.read { sql in try sql.query("SELECT version FROM nacre_migration").count }
        #expect(steps == 2)
    }

    @Test("A newer schema is refused, and nothing is changed", arguments: DatabaseKind.allCases)
    func newer(kind: DatabaseKind) async throws {
        let place = try await SharedPlace(kind)
        defer { place.remove() }
        let steps = [Migration(1, "CREATE TABLE t (n BIGINT);"), Migration(2, "ALTER TABLE t ADD COLUMN m BIGINT;")]
        try await place.open().migrate("c", steps)
        let error = await #expect(throws: NacreError.self) { try await place.open().migrate("c", [steps[0]]) }
        #expect(error?.code == "database.migration_newer")
        try await place.open().migrate("c", steps)
    }

    @Test("A step that fails takes back the steps before it", arguments: DatabaseKind.allCases)
    func failed(kind: DatabaseKind) async throws {
        let place = try await SharedPlace(kind)
        defer { place.remove() }
        let database = try place.open()
        let good = Migration(1, "CREATE TABLE t (n BIGINT);")
        await #expect(throws: NacreError.self) {
            try await database.migrate("c", [good, Migration(2, "ALTER TABLE missing ADD COLUMN m BIGINT;")])
        }
        try await database.migrate("c", [good, Migration(2, "ALTER TABLE t ADD COLUMN m BIGINT;")])
    }
}
