// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreDatabase
import NacreDatabaseTesting
import Synchronization
import Testing

/// Databases that are locked, full, read-only, slow, restarted or gone.
@Suite struct DatabaseOutageTests {
    private let table = [Migration(1, "CREATE TABLE t (n BIGINT PRIMARY KEY, text TEXT);")]

    private func code(_ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? NacreError)?.code.rawValue ?? "\(error)"
        }
    }

    private func options(_ change: (inout PostgresOptions) -> Void) -> PostgresOptions {
        var options = PostgresOptions()
        change(&options)
        return options
    }

    @Test(
        "A locked database is waited for, then called busy; nothing of the change is stored",
        arguments: DatabaseKind.allCases)
    func locked(kind: DatabaseKind) async throws {
        let place = try await SharedPlace(kind)
        defer { place.remove() }
        let holder = try place.open()
        try await holder.migrate("c", table)
        try await holder.write { sql in _ = try sql.execute("INSERT INTO t VALUES (1, 'a')") }
        let other =
            kind == .sqlite
            ? try place.open()
            : try Database.postgres(url: place.text, options: options { $0.statementTimeout = .seconds(8) })
        let gate = AsyncStream<Void>.makeStream()
        let semaphore = DispatchSemaphore(value: 0)
        async let held: Void = holder.write { sql in
            try sql.execute("UPDATE t SET text = 'held' WHERE n = 1")
            gate.continuation.yield()
            // The thread is the transaction's own.
            semaphore.wait()
        }
        for await _ in gate.stream { break }
        let found = await code {
            try await other.write { sql in _ = try sql.execute("UPDATE t SET text = 'b' WHERE n = 1") }
        }
        #expect(found == "database.busy")
        semaphore.signal()
        try await held
        try await other.write { sql in _ = try sql.execute("UPDATE t SET text = text || '!' WHERE n = 1") }
        #expect(try await other.read { sql in try sql.first("SELECT text FROM t")?["text"] } == "held!")
    }

    @Test("A full database says so, keeps what it has and goes on when there is room", arguments: DatabaseKind.allCases)
    func full(kind: DatabaseKind) async throws {
        let place = try await SharedPlace(kind)
        defer { place.remove() }
        let database = try place.open(connections: 1)
        try await database.migrate("c", table)
        try await database.write { sql in _ = try sql.execute("INSERT INTO t VALUES (1, 'a')") }
        if kind == .sqlite {
            try await database.write { sql in try sql.executeScript("PRAGMA max_page_count = 8") }
        } else {
            // What a full disk makes PostgreSQL say, without filling one.
            try await database.write { sql in
                try sql.executeScript(
                    """
                    CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
                    BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
                    CREATE TRIGGER full_disk BEFORE INSERT ON t EXECUTE FUNCTION full_disk()
                    """)
            }
        }
        let long = String(repeating: "x", count: 200_000)
        let found = await code {
            try await database.write { sql in _ = try sql.execute("INSERT INTO t VALUES (2, $1)", [.text(long)]) }
        }
        #expect(found == "database.disk_full")
        #expect(try await database.read { sql in try sql.query("SELECT n FROM t").count } == 1)
        try await database.write { sql in
            try sql.executeScript(
                kind == .sqlite ? "PRAGMA max_page_count = 100000" : "DROP TRIGGER full_disk ON t")
        }
        try await database.write { sql in _ = try sql.execute("INSERT INTO t VALUES (2, $1)", [.text(long)]) }
        #expect(try await database.read { sql in try sql.query("SELECT n FROM t").count } == 2)
    }

    @Test("A read-only database is read, and a change is refused by that name")
    func readOnly() async throws {
        let place = try await SharedPlace(.postgres)
        try await place.open().migrate("c", table)
        let url = place.text + "%20-cdefault_transaction_read_only%3Don"
        let database = try Database.postgres(url: url)
        #expect(try await database.read { sql in try sql.query("SELECT n FROM t").count } == 0)
        let found = await code {
            try await database.write { sql in _ = try sql.execute("INSERT INTO t VALUES (1, 'a')") }
        }
        #expect(found == "database.read_only")
    }

    @Test("A statement that takes too long is stopped, and the connection goes on")
    func slow() async throws {
        let place = try await SharedPlace(.postgres)
        let database = try Database.postgres(
            url: place.text,
            options: options {
                $0.statementTimeout = .milliseconds(300)
                $0.connections = 1
            })
        let found = await code { try await database.read { sql in _ = try sql.query("SELECT pg_sleep(20)") } }
        #expect(found == "database.timeout")
        #expect(try await database.read { sql in try sql.first("SELECT 1 AS one")?["one"] } == 1)
    }

    @Test("A connection that the server ends is replaced without anybody noticing")
    func terminated() async throws {
        let place = try await SharedPlace(.postgres)
        let database = try place.open(connections: 1)
        let killer = try place.open(connections: 1)
        try await database.migrate("c", table)
        for round in 0..<3 {
            let process = try await database.read { sql in try sql.first("SELECT pg_backend_pid() AS p")?["p"] ?? .null
            }
            _ = try await killer.read { sql in try sql.query("SELECT pg_terminate_backend($1::int)", [process]) }
            try await database.write { sql in
                _ = try sql.execute("INSERT INTO t VALUES ($1, 'a')", [SQLValue(round)])
            }
        }
        #expect(try await database.read { sql in try sql.query("SELECT n FROM t").count } == 3)
    }

    @Test("A connection that ends in the middle of a change: the change is made anew, once")
    func terminatedInside() async throws {
        let place = try await SharedPlace(.postgres)
        let database = try place.open(connections: 1)
        let attempts = Attempts()
        try await database.migrate("c", table)
        try await database.write { sql in
            try sql.execute("INSERT INTO t VALUES ($1, 'a')", [SQLValue(attempts.next())])
            guard attempts.count == 1 else { return }
            _ = try sql.query("SELECT pg_terminate_backend(pg_backend_pid())")
        }
        #expect(attempts.count == 2)
        #expect(try await database.read { sql in try sql.query("SELECT n FROM t").map { $0["n"] } } == [2])
    }

    @Test("A connection that ends while a change is being stored: it is not made again, and the doubt is said")
    func terminatedAtCommit() async throws {
        let place = try await SharedPlace(.postgres)
        let database = try place.open(connections: 1)
        let attempts = Attempts()
        try await database.migrate("c", table)
        try await database.write { sql in
            try sql.executeScript(
                """
                CREATE FUNCTION vanish() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
                CREATE CONSTRAINT TRIGGER vanish AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION vanish()
                """)
        }
        let found = await code {
            try await database.write { sql in
                _ = try sql.execute("INSERT INTO t VALUES ($1, 'a')", [SQLValue(attempts.next())])
            }
        }
        #expect(found == "database.commit_unknown")
        #expect(attempts.count == 1)
        #expect(try await database.read { sql in try sql.query("SELECT n FROM t").count } == 0)
    }

    @Test("Two that lock the same rows in opposite order both come through")
    func deadlock() async throws {
        let place = try await SharedPlace(.postgres)
        let nodes = [try place.open(), try place.open()]
        try await nodes[0].migrate("c", table)
        try await nodes[0].write { sql in
            for n in 1...2 { try sql.execute("INSERT INTO t VALUES ($1, '')", [SQLValue(n)]) }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, order) in [[1, 2], [2, 1]].enumerated() {
                group.addTask {
                    try await nodes[index].write { sql in
                        for n in order {
                            try sql.execute("UPDATE t SET text = text || 'x' WHERE n = $1", [SQLValue(n)])
                            _ = try sql.query("SELECT pg_sleep(0.2)")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let texts = try await nodes[0].read { sql in try sql.query("SELECT text FROM t").map { $0["text"] } }
        #expect(texts == ["xx", "xx"])
    }

    @Test("A table that another node changed does not break what this node has prepared")
    func changedTable() async throws {
        let place = try await SharedPlace(.postgres)
        let (old, new) = (try place.open(connections: 1), try place.open(connections: 1))
        try await old.migrate("c", table)
        #expect(try await old.read { sql in try sql.query("SELECT * FROM t").count } == 0)
        try await new.migrate("c", table + [Migration(2, "ALTER TABLE t ADD COLUMN extra TEXT;")])
        #expect(try await old.read { sql in try sql.query("SELECT * FROM t").count } == 0)
    }

    @Test("PostgreSQL gone for 30 seconds: calls fail soon and say so, then go on by themselves")
    func gone() async throws {
        _ = try TestDatabase.server()
        let script = checkout + "/scripts/postgres"
        let name = "gone-\(ProcessInfo.processInfo.processIdentifier)"
        try await Companion.run(script, ["start", name])
        let folder = try String(contentsOfFile: checkout + "/build/postgres/\(name).place", encoding: .utf8)
            .split(separator: "\n")[0]
        let password = try String(contentsOfFile: folder + "/password", encoding: .utf8)
        let port = try String(contentsOfFile: folder + "/port", encoding: .utf8).split(separator: "\n")[0]
        let database = try Database.postgres(url: "postgres://nacre:\(password)@127.0.0.1:\(port)/nacre")
        try await database.migrate("c", table)
        // Standing connections break, new ones are refused.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for n in 0..<20 {
                group.addTask {
                    try await database.write { sql in
                        _ = try sql.execute("INSERT INTO t VALUES ($1, '')", [SQLValue(n)])
                    }
                }
            }
            try await group.waitForAll()
        }
        try await Companion.run(script, ["stop", name])
        let clock = ContinuousClock()
        let began = clock.now
        let first = await code { _ = try await database.read { sql in try sql.query("SELECT n FROM t") } }
        #expect(first == "database.unreachable")
        #expect(clock.now - began < .seconds(30))
        while clock.now - began < .seconds(30) {
            let asked = clock.now
            #expect(await code { _ = try await database.read { sql in try sql.query("SELECT n FROM t") } } != nil)
            #expect(clock.now - asked < .seconds(20))
            try await Task.sleep(for: .seconds(1))
        }
        let text = try await #require(throws: NacreError.self) { _ = try await database.read { _ in } }.description
        #expect(!text.contains(password), "the password stays out of the error")
        try await Companion.run(script, ["start", name])
        try await Task.sleep(for: .seconds(1))
        #expect(try await database.read { sql in try sql.query("SELECT n FROM t").count } == 20)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for n in 20..<40 {
                group.addTask {
                    try await database.write { sql in
                        _ = try sql.execute("INSERT INTO t VALUES ($1, '')", [SQLValue(n)])
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await database.read { sql in try sql.query("SELECT n FROM t").count } == 40)
        try await Companion.run(script, ["remove", name])
    }

    @Test("A wrong password is said without the password")
    func password() async throws {
        let server = try TestDatabase.server()
        let colon = try #require(server.dropFirst(11).firstIndex(of: ":"))
        let at = try #require(server.firstIndex(of: "@"))
        let url = server[...colon] + "wr0ng-passw0rd" + server[at...]
        let database = try Database.postgres(url: String(url))
        let error = await #expect(throws: NacreError.self) { _ = try await database.read { _ in } }
        #expect(error?.code == "database.unreachable")
        #expect(error?.message.contains("password authentication failed") == true)
        #expect(error?.description.contains("wr0ng-passw0rd") == false)
    }

    @Test("More tasks than connections wait in line; a line that does not move is called busy")
    func crowded() async throws {
        let place = try await SharedPlace(.postgres)
        let database = try Database.postgres(
            url: place.text,
            options: options {
                $0.connections = 2
                $0.queuePatience = .milliseconds(700)
            })
        let codes = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    await code { _ = try await database.read { sql in try sql.query("SELECT pg_sleep(0.5)") } }
                }
            }
            return await group.reduce(into: [String?]()) { $0.append($1) }
        }
        #expect(codes.filter { $0 == nil }.count >= 2)
        #expect(codes.contains("database.busy"))
        #expect(try await database.read { sql in try sql.first("SELECT 1 AS one")?["one"] } == 1)
    }
}

/// Counts the runs of a closure that runs again after a loss.
private final class Attempts: Sendable {
    private let stored = Mutex(0)
    var count: Int { stored.withLock { $0 } }
    func next() -> Int {
        stored.withLock {
            $0 += 1
            return $0
        }
    }
}
