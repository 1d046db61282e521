// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreCrypto
package import NacreDatabase
import Synchronization

/// Limits that all processes of one database share.
///
/// Whoever is refused costs no write, whoever passes costs one. A process writes at most `writesPerSecond` of them; beyond
/// that, and while the database does not answer, each process counts for itself.
package final class SharedLimiter: Sendable {
    /// What holds when the database cannot be asked.
    package enum Outage: Sendable {
        /// This process's own count decides: people go on, a flood meets as many times the limit as there are processes.
        case countHere
        /// The error is thrown, and nobody passes: for guesses at passwords.
        case refuse
    }

    private static let component = "limits"
    private static let migrations = [
        // `empty_at`, in microseconds: when the count is empty again. The key is a hash: addresses are people's data.
        Migration(
            1,
            """
            CREATE TABLE rate_limit (id BYTEA NOT NULL PRIMARY KEY, empty_at BIGINT NOT NULL);
            CREATE INDEX rate_limit_empty ON rate_limit (empty_at);
            """)
    ]
    /// Together with the sweep this bounds the table to some hundred thousand short rows.
    private static let writesPerSecond = Limit("writes", 200, per: .seconds(1))
    private static let sweepBatch = 1000
    private static let sweepInterval: Duration = .seconds(600)

    private let database: Database
    private let time: any TimeSource
    private let log: Log
    private let local = LocalLimiter()
    private let writes = Mutex(Cell(emptyAt: 0))
    private let saidAt = Mutex<Instant?>(nil)
    private let sweptAt: Mutex<Instant>

    package init(database: Database, time: any TimeSource, log: Log) {
        self.database = database
        self.time = time
        self.log = log
        sweptAt = Mutex(time.now)
    }

    /// Creates the table; call it once at start.
    package func prepare() async throws { try await database.migrate(Self.component, Self.migrations) }

    private var now: Int64 { time.now.milliseconds * 1000 }

    private static func identified(_ keys: [LimitedKey]) -> [(id: [UInt8], limit: Limit)] {
        keys.map { (SHA256.hash("\($0.limit.name)\n\($0.key)"), $0.limit) }
    }

    /// Takes one of each count, or none of any and answers how long to wait; nil when it may be done.
    package func take(_ keys: [LimitedKey], outage: Outage = .countHere) async throws -> Duration? {
        let now = now
        let keys = Self.identified(keys)
        let wait = local.take(keys, now: now)  // guard: limit-local
        guard wait == 0 else { return .microseconds(wait) }
        let mayWrite = writes.withLock { cell in
            guard cell.wait(Self.writesPerSecond, now: now) == 0 else { return false }  // guard: limit-writes
            cell.take(Self.writesPerSecond, now: now)
            return true
        }
        guard mayWrite else {
            guard outage == .refuse else { return nil }
            local.giveBack(keys)
            return .seconds(1)
        }
        do {
            let refusal = try await database.write { sql in try Self.take(keys, now: now, sql) }
            try await sweepIfDue()
            guard let refusal else { return nil }
            local.giveBack(keys)
            local.learn(refusal.id, emptyAt: refusal.emptyAt)
            return .microseconds(refusal.wait)
        } catch let error as NacreError where error.code.rawValue.hasPrefix("database.") {
            guard outage == .countHere else {  // guard: limit-outage
                local.giveBack(keys)
                throw error
            }
            say(error)
            return nil
        }
    }

    private struct Refusal: Sendable {
        let id: [UInt8]
        let emptyAt: Int64
        let wait: Int64
    }

    private static func take(
        _ keys: [(id: [UInt8], limit: Limit)], now: Int64, _ sql: any SQLConnection
    ) throws(NacreError) -> Refusal? {
        // In one order everywhere: two transactions that take the same rows never wait for each other in a circle.
        let ordered = keys.sorted { $0.id.lexicographicallyPrecedes($1.id) }
        for (index, (id, limit)) in ordered.enumerated() {
            // A moment beyond the window comes from a process whose clock is ahead: then each counts for itself.
            let taken = try sql.first(
                """
                INSERT INTO rate_limit (id, empty_at) VALUES ($1, $2)
                ON CONFLICT (id) DO UPDATE SET
                    empty_at = (CASE WHEN rate_limit.empty_at > $3 THEN rate_limit.empty_at ELSE $3 END) + $4
                WHERE rate_limit.empty_at + $4 <= $5 OR rate_limit.empty_at > $5
                RETURNING empty_at
                """,
                [
                    .blob(id), SQLValue(now + limit.interval), SQLValue(now), SQLValue(limit.interval),
                    SQLValue(now + limit.windowLength),
                ])
            guard taken == nil else { continue }
            let row = try sql.first("SELECT empty_at FROM rate_limit WHERE id = $1", [.blob(id)])
            try giveBack(Array(ordered[..<index]), now: now, sql)
            let cell = Cell(emptyAt: try row?.integer("empty_at") ?? now)
            return Refusal(id: id, emptyAt: cell.emptyAt, wait: max(1000, cell.wait(limit, now: now)))
        }
        return nil
    }

    private static func giveBack(
        _ keys: [(id: [UInt8], limit: Limit)], now: Int64, _ sql: any SQLConnection
    ) throws(NacreError) {
        for (id, limit) in keys {
            try sql.execute(
                "UPDATE rate_limit SET empty_at = empty_at - $1 WHERE id = $2 AND empty_at > $3",
                [SQLValue(limit.interval), .blob(id), SQLValue(now)])
        }
    }

    /// Gives one of each back, after it turned out not to count: a right password.
    package func giveBack(_ keys: [LimitedKey]) async throws {
        let now = now
        let keys = Self.identified(keys)
        local.giveBack(keys)
        try await database.write { sql in try Self.giveBack(keys, now: now, sql) }
    }

    /// Every ten minutes one caller removes the counts that have been empty for as long (by any clock).
    private func sweepIfDue() async throws {
        let moment = time.now
        let isDue = sweptAt.withLock { swept -> Bool in
            guard moment - swept >= Self.sweepInterval else { return false }
            swept = moment
            return true
        }
        guard isDue else { return }  // guard: limit-sweep
        let end = SQLValue(now - Self.sweepInterval.inMilliseconds * 1000)
        for _ in 0..<500 {
            let count = try await database.write { sql in
                try sql.execute(
                    """
                    DELETE FROM rate_limit WHERE id IN
                        (SELECT id FROM rate_limit WHERE empty_at < $1 LIMIT \(Self.sweepBatch))
                    """, [end])
            }
            if count < Self.sweepBatch { return }
        }
    }

    /// Once a minute: a flood while the database is gone must not become a flood of log lines.
    private func say(_ error: NacreError) {
        let isDue = saidAt.withLock { said -> Bool in
            if let last = said, time.now - last < .seconds(60) { return false }
            said = time.now
            return true
        }
        if isDue { log.error("limits.not_shared", ["error": .string(error.description)]) }
    }
}

extension Duration {
    /// Whole seconds, rounded up and at least one: what `Retry-After` says.
    package var retrySeconds: Int { max(1, Int((inMilliseconds + 999) / 1000)) }
}
