// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase
import NacreDatabaseTesting
import NacreSessions
import NacreTesting
import Synchronization
import Testing

@testable import NacreGateway

/// What must hold on every database, with two pools that stand for two processes.
@Suite struct DatabaseRaceTests {
    @Test(
        "HO-6: of 10,000 racing redeemers of one token exactly one gets the session", arguments: DatabaseKind.allCases)
    func redeemers(kind: DatabaseKind) async throws {
        let place = try await SharedPlace(kind)
        defer { place.remove() }
        let time = ManualTime()
        let nodes = try (0..<2).map { index in
            HandOffTokens(
                database: try place.open(connections: 8, time: time), time: time, random: SeededRandom(UInt64(index)),
                lifetime: .seconds(60))
        }
        try await nodes[0].database.migrate(PendingStore.component, PendingStore.migrations)
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let token = try await nodes[1].issue(session: "s-1", challenge: PKCE.challenge(verifier))
        // Two hundred at once, fifty times each: more at once would only stand in line, and keep every other test waiting.
        let winners = try await withThrowingTaskGroup(of: [String].self) { group in
            for lane in 0..<200 {
                group.addTask {
                    var won: [String] = []
                    for _ in 0..<50 {
                        if let session = try await nodes[lane % 2].redeem(token, verifier: verifier) {
                            won.append(session)
                        }
                    }
                    return won
                }
            }
            return try await group.reduce(into: [String]()) { $0 += $1 }
        }
        #expect(winners == ["s-1"])
    }

    @Test("A waiting session is given its handle once, whichever process is asked", arguments: DatabaseKind.allCases)
    func activation(kind: DatabaseKind) async throws {
        let place = try await SharedPlace(kind)
        defer { place.remove() }
        let stores = try stores(place)
        try await stores[0].prepare()
        for _ in 0..<20 {
            let (session, _) = try await stores[0].beginWaiting(person, device: nil, lifetime: .seconds(65))
            let handles = try await withThrowingTaskGroup(of: String?.self) { group in
                for index in 0..<16 { group.addTask { try await stores[index % 2].activate(session.id)?.handle } }
                return try await group.reduce(into: [String]()) { if let handle = $1 { $0.append(handle) } }
            }
            #expect(handles.count == 1)
            #expect(try await stores[1].find(handle: handles[0])?.id == session.id)
        }
    }

    @Test("A session ended by one process is gone for the other at once", arguments: DatabaseKind.allCases)
    func ended(kind: DatabaseKind) async throws {
        let place = try await SharedPlace(kind)
        defer { place.remove() }
        let stores = try stores(place)
        try await stores[0].prepare()
        for _ in 0..<50 {
            let (session, handle) = try await stores[0].begin(person, device: nil)
            #expect(try await stores[1].find(handle: handle) != nil)
            try await stores[0].end(session.id)
            #expect(try await stores[1].find(handle: handle) == nil)
        }
    }

    @Test("What is read, changed and written back loses nothing", arguments: DatabaseKind.allCases)
    func counter(kind: DatabaseKind) async throws {
        let place = try await SharedPlace(kind)
        defer { place.remove() }
        let nodes = [try place.open(), try place.open()]
        try await nodes[0].migrate(
            "c", [Migration(1, "CREATE TABLE counter (id BIGINT PRIMARY KEY, n BIGINT NOT NULL);")])
        try await nodes[0].write { sql in _ = try sql.execute("INSERT INTO counter VALUES (1, 0)") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<200 {
                group.addTask {
                    try await nodes[index % 2].write { sql in
                        let n = try sql.first("SELECT n FROM counter WHERE id = 1")?.integer("n") ?? 0
                        try sql.execute("UPDATE counter SET n = $1 WHERE id = 1", [.integer(n + 1)])
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await nodes[1].read { sql in try sql.first("SELECT n FROM counter")?["n"] } == 200)
    }

    @Test("Two that each see the other on call do not both leave", arguments: DatabaseKind.allCases)
    func skew(kind: DatabaseKind) async throws {
        let place = try await SharedPlace(kind)
        defer { place.remove() }
        let nodes = [try place.open(), try place.open()]
        try await nodes[0].migrate(
            "c",
            [Migration(1, "CREATE TABLE duty (name TEXT PRIMARY KEY, shift BIGINT NOT NULL, present BIGINT NOT NULL);")]
        )
        for shift in 0..<25 {
            try await nodes[0].write { sql in
                for name in ["a", "b"] {
                    try sql.execute(
                        "INSERT INTO duty VALUES ($1, $2, 1)", [.text("\(name)\(shift)"), SQLValue(shift)])
                }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (node, name) in zip(nodes, ["a", "b"]) {
                    group.addTask {
                        try await node.write { sql in
                            let others = try sql.first(
                                "SELECT count(*) AS n FROM duty WHERE shift = $1 AND present = 1", [SQLValue(shift)])
                            guard try others?.integer("n") == 2 else { return }
                            try sql.execute("UPDATE duty SET present = 0 WHERE name = $1", [.text("\(name)\(shift)")])
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        let left = try await nodes[0].read { sql in
            try sql.first("SELECT count(*) AS n FROM duty WHERE present = 1")?.integer("n")
        }
        #expect(left == 25)
    }

    @Test(
        "A statement that failed ends the transaction, also when its error is swallowed",
        arguments: DatabaseKind.allCases)
    func swallowed(kind: DatabaseKind) async throws {
        let place = try await SharedPlace(kind)
        defer { place.remove() }
        let database = try place.open()
        try await database.migrate("c", [Migration(1, "CREATE TABLE t (n BIGINT PRIMARY KEY);")])
        let error = await #expect(throws: NacreError.self) {
            try await database.write { sql in
                try sql.execute("INSERT INTO t VALUES (1)")
                _ = try? sql.execute("INSERT INTO t VALUES (1)")
            }
        }
        #expect(error?.code == "database.unique")
        let second = await #expect(throws: NacreError.self) {
            try await database.write { sql in
                _ = try? sql.execute("INSERT INTO nowhere VALUES (1)")
                try sql.execute("INSERT INTO t VALUES (2)")
            }
        }
        #expect(second?.code == "database.statement")
        #expect(try await database.read { sql in try sql.query("SELECT n FROM t").count } == 0)
    }

    @Test("Many rows are read a few at a time, with other questions between", arguments: DatabaseKind.allCases)
    func rows(kind: DatabaseKind) async throws {
        let place = try await SharedPlace(kind)
        defer { place.remove() }
        let database = try place.open()
        try await database.migrate("c", [Migration(1, "CREATE TABLE t (n BIGINT PRIMARY KEY, twice BIGINT);")])
        try await database.write { sql in
            for n in 0..<1000 { try sql.execute("INSERT INTO t VALUES ($1, $2)", [SQLValue(n), SQLValue(2 * n)]) }
        }
        let sums = try await database.read { sql in
            var (seen, sum): (Int64, Int64) = (0, 0)
            try sql.forEachRow("SELECT n FROM t WHERE n >= $1 ORDER BY n", [10]) { row throws(NacreError) in
                seen += 1
                sum += try sql.first("SELECT twice FROM t WHERE n = $1", [row["n"]])?.integer("twice") ?? 0
                return seen < 700
            }
            return [seen, sum]
        }
        #expect(sums == [700, (10..<710).reduce(0) { $0 + 2 * $1 }])
    }

    // MARK: Helpers

    private func stores(_ place: SharedPlace) throws -> [SessionStore] {
        let sealing = SealingKey(random: SeededRandom(9))
        return try (0..<2).map { index in
            SessionStore(
                database: try place.open(), sealing: sealing, time: SystemTime(),
                random: SeededRandom(UInt64(index + 1)))
        }
    }

    private var person: Authentication {
        Authentication(
            method: "fake", issuer: "https://idp.test", subject: "alice", providerSession: "idp-1", level: "eidas1",
            means: ["pwd"], profile: [:], secrets: SessionSecrets(refreshToken: "refresh-0"))
    }
}
