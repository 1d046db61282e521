// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase
import NacreDatabaseTesting
import NacreLimits
import NacreTesting
import Testing

@Suite("Limits shared between processes") struct SharedLimiterTests {
    private let limit = Limit("exchange", 20, per: .seconds(60))

    /// How many of `count` tries pass.
    private func passed(_ count: Int, _ limiter: SharedLimiter, _ keys: [LimitedKey]) async throws -> Int {
        var passed = 0
        for _ in 0..<count where try await limiter.take(keys) == nil { passed += 1 }
        return passed
    }

    @Test(
        "A window empties steadily: after so many seconds so many more pass",
        arguments: [(0, 0), (2, 0), (3, 1), (6, 2), (30, 10), (59, 19), (60, 20), (3600, 20)])
    func window(seconds: Int, free: Int) async throws {
        let fixture = try await LimitsFixture()
        let key = [limit.of("192.0.2.1")]
        #expect(try await passed(25, fixture.first, key) == 20)
        fixture.time.advance(by: .seconds(seconds))
        #expect(try await passed(25, fixture.second, key) == free, "in the process that has not seen them yet")
    }

    @Test("A refusal says how long to wait, and that is enough")
    func waiting() async throws {
        let fixture = try await LimitsFixture()
        let key = [limit.of("192.0.2.1")]
        #expect(try await passed(20, fixture.first, key) == 20)
        fixture.time.advance(by: .milliseconds(1200))
        #expect(try await fixture.first.take(key) == .milliseconds(1800))
        #expect(try await fixture.second.take(key) == .milliseconds(1800))
        #expect(try await fixture.second.take(key)?.retrySeconds == 2)
        fixture.time.advance(by: .milliseconds(1800))
        #expect(try await fixture.second.take(key) == nil)
    }

    @Test("Two processes share one count, and a restart forgets nothing")
    func shared() async throws {
        let fixture = try await LimitsFixture()
        let key = [limit.of("192.0.2.1")]
        #expect(try await passed(12, fixture.first, key) == 12)
        #expect(try await passed(12, fixture.second, key) == 8)
        let restarted = SharedLimiter(database: fixture.database, time: fixture.time, log: .none)
        #expect(try await passed(5, restarted, key) == 0)
        #expect(try await passed(5, restarted, [limit.of("192.0.2.2")]) == 5)
        #expect(try await passed(5, restarted, [Limit("other", 20, per: .seconds(60)).of("192.0.2.1")]) == 5)
    }

    @Test("Tries at the same moment in two processes do not slip through")
    func racing() async throws {
        let fixture = try await LimitsFixture()
        let (limit, first, second) = (limit, fixture.first, fixture.second)
        let passed = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<100 {
                group.addTask {
                    try await (number % 2 == 0 ? first : second).take([limit.of("a")]) == nil ? 1 : 0
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(passed == 20)
    }

    @Test("Of several counts all are taken or none")
    func together() async throws {
        let fixture = try await LimitsFixture()
        let narrow = Limit("account", 2, per: .seconds(60))
        let both = [limit.of("192.0.2.1"), narrow.of("alice")]
        #expect(try await passed(5, fixture.first, both) == 2)
        #expect(try await passed(5, fixture.second, both) == 0)
        #expect(try await passed(30, fixture.second, [limit.of("192.0.2.1")]) == 18)
    }

    @Test("What is given back can be taken again, in the other process too")
    func givenBack() async throws {
        let fixture = try await LimitsFixture()
        let key = [Limit("password", 3, per: .seconds(600)).of("alice")]
        #expect(try await passed(3, fixture.first, key) == 3)
        try await fixture.first.giveBack(key)
        #expect(try await passed(3, fixture.second, key) == 1)
    }

    @Test("Who is refused costs no write")
    func floodOfOne() async throws {
        let fixture = try await LimitsFixture()
        let counted = CountingBackend(fixture.database)
        let limiter = SharedLimiter(database: counted.database(time: fixture.time), time: fixture.time, log: .none)
        #expect(try await passed(20, fixture.first, [limit.of("a")]) == 20)
        #expect(try await passed(1000, limiter, [limit.of("a")]) == 0)
        #expect(counted.writes == 1)
    }

    @Test("A flood from everywhere writes at most so many times in a second")
    func floodOfMany() async throws {
        let fixture = try await LimitsFixture()
        let counted = CountingBackend(fixture.database)
        let limiter = SharedLimiter(database: counted.database(time: fixture.time), time: fixture.time, log: .none)
        for number in 0..<1000 { _ = try await limiter.take([limit.of("\(number)")]) }
        #expect(counted.writes == 200)
        #expect(try await limiter.take([limit.of("password")], outage: .refuse) != nil, "guesses wait instead")
        fixture.time.advance(by: .seconds(1))
        #expect(try await limiter.take([limit.of("password")], outage: .refuse) == nil)
    }

    @Test("Counts that are empty leave the table")
    func swept() async throws {
        let fixture = try await LimitsFixture()
        for number in 0..<30 { _ = try await fixture.first.take([limit.of("\(number)")]) }
        fixture.time.advance(by: .seconds(599))
        _ = try await fixture.first.take([limit.of("new")])
        #expect(try await fixture.rows() == 31)
        fixture.time.advance(by: .seconds(5))
        _ = try await fixture.first.take([limit.of("newer")])
        #expect(try await fixture.rows() == 2)
    }

    @Test("The table holds no address")
    func hashed() async throws {
        let fixture = try await LimitsFixture()
        _ = try await fixture.first.take([limit.of("192.0.2.1")])
        let row = try #require(try await fixture.database.read { sql in try sql.first("SELECT * FROM rate_limit") })
        #expect(row["id"].blob?.count == 32)
        #expect(row.columns == ["id", "empty_at"])
    }

    @Test(
        "Without the database each process counts for itself, and says so once",
        arguments: ["database.busy", "database.disk_full", "database.read_only", "database.io"] as [NacreError.Code])
    func outage(code: NacreError.Code) async throws {
        let time = ManualTime()
        let broken = BrokenDatabase(code)
        let sink = RecordingLogSink()
        let limiter = SharedLimiter(
            database: Database(backend: broken, time: time), time: time,
            log: Log(label: "limits", time: time, sink: sink))
        #expect(try await passed(25, limiter, [limit.of("a")]) == 20)
        #expect(sink.records.filter { $0.event == "limits.not_shared" }.count == 1)
    }

    @Test("Without the database nobody guesses passwords")
    func outageOfGuesses() async throws {
        let time = ManualTime()
        let limiter = SharedLimiter(
            database: Database(backend: BrokenDatabase("database.busy"), time: time), time: time, log: .none)
        await #expect(throws: NacreError.self) { try await limiter.take([limit.of("a")], outage: .refuse) }
    }

    @Test("A process whose clock is five minutes ahead locks nobody out elsewhere", arguments: [-300, 300])
    func skew(seconds: Int) async throws {
        let fixture = try await LimitsFixture()
        let other = ManualTime(fixture.time.now + .seconds(seconds))
        let elsewhere = SharedLimiter(database: fixture.database, time: other, log: .none)
        #expect(try await passed(1, elsewhere, [limit.of("a")]) == 1)
        #expect(try await passed(30, fixture.first, [limit.of("a")]) >= 19)
        #expect(try await passed(30, fixture.first, [limit.of("a")]) == 0, "and the limit still holds here")
    }
}
