// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase
import NacreTesting
import Testing

@testable import NacreServer

@Suite struct HousekeepingTests {
    @Test func `of two processes one holds the lease, until it is gone`() async throws {
        let time = ManualTime()
        let database = try Database.sqlite(path: ":memory:", time: time)
        try await database.migrate(Lease.component, Lease.migrations)
        let one = Lease(database: database, name: "retention", holder: "one", time: time)
        let two = Lease(database: database, name: "retention", holder: "two", time: time)
        #expect(try await one.take(for: .seconds(900)))
        #expect(try await !two.take(for: .seconds(900)))
        time.advance(by: .seconds(600))
        #expect(try await one.take(for: .seconds(900)))
        time.advance(by: .seconds(600))
        #expect(try await !two.take(for: .seconds(900)))
        time.advance(by: .seconds(301))
        #expect(try await two.take(for: .seconds(900)))
        #expect(try await !one.take(for: .seconds(900)))
    }

    @Test func `many rows go in batches, and only those that may`() async throws {
        let time = ManualTime()
        let database = try Database.sqlite(path: ":memory:", time: time)
        try await database.write { sql in
            try sql.executeScript("CREATE TABLE t (id INTEGER PRIMARY KEY, expires_at BIGINT NOT NULL)")
            for id in 1...57 { try sql.execute("INSERT INTO t VALUES ($1, $2)", [SQLValue(id), SQLValue(id)]) }
        }
        let metrics = ServerMetrics(version: "1", time: time)
        let rule = RetentionRule("t", key: "id", where: "expires_at <= $1")
        #expect(
            try await database.measured("gateway", metrics, time: time)
                .remove(rule, Instant(milliseconds: 50), batch: 10) == 50)
        let text = try PrometheusText(metrics.text)
        #expect(text.value("nacre_database_transactions_total", ["database": "gateway", "kind": "write"]) == 6)
        #expect(try await database.read { sql in try sql.query("SELECT id FROM t").count } == 7)
    }
}
