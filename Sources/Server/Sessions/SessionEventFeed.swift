// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreDatabase

/// Brings the endings that other processes wrote into the database to this process's `SessionEvents`.
package actor SessionEventFeed {
    /// How often the table is looked at while anybody watches: what an open connection may outlive its session by.
    package static let interval: Duration = .seconds(1)
    /// A row may become visible so long after a younger one: transactions that take their number first can end last.
    private static let settling: Duration = .seconds(30)
    /// Rows older than this are removed; a process that slept longer than that has no connections left.
    private static let retention: Duration = .seconds(3600)
    private static let batch = 1000

    private let store: SessionStore
    private let log: Log
    /// Everything up to this row has been told.
    private var settled: Int64 = 0
    /// Rows beyond it that have been told, and since when.
    private var told: [Int64: Instant] = [:]
    private var hasBegun = false

    package init(_ store: SessionStore, log: Log) {
        self.store = store
        self.log = log
    }

    /// Looks every second until the task is cancelled.
    package func run() async {
        var failed = false
        while !Task.isCancelled {
            do {
                if !hasBegun || store.events.watchedCount > 0 { try await poll() }
                failed = false
            } catch {
                // Said once, not every second; nothing is lost, the rows stay.
                if !failed { log.error("sessions.feed_failed", ["error": .string("\(error)")]) }
                failed = true
            }
            do { try await store.time.sleep(for: Self.interval) } catch { return }
        }
    }

    /// Tells what has been written since the last look. The first look only finds where to begin.
    package func poll() async throws {
        let last = try await store.database.read { sql in
            try sql.first("SELECT COALESCE(MAX(row_id), 0) AS last FROM session_event")?.integer("last") ?? 0
        }
        guard hasBegun, last >= settled else {
            // A table that became shorter was restored from a backup.
            (hasBegun, settled, told) = (true, last, [:])
            return
        }
        while true {
            let from = settled
            let rows = try await store.database.read { sql in
                try sql.query(
                    """
                    SELECT row_id, session, reason FROM session_event WHERE row_id > $1 ORDER BY row_id
                    LIMIT \(Self.batch)
                    """, [SQLValue(from)])
            }
            let now = store.time.now
            var fresh: [SessionEnding] = []
            for row in rows {
                let id = try row.integer("row_id")
                guard told[id] == nil else { continue }
                told[id] = now
                fresh.append(SessionEnding(session: try row.text("session"), reason: try row.text("reason")))
            }
            store.events.publish(fresh)
            let isFull = rows.count == Self.batch
            let limit = isFull ? try rows[rows.count - 1].integer("row_id") : Int64.max
            let old = told.filter { isFull ? $0.key <= limit : now - $0.value >= Self.settling }.keys.max()
            if let old {
                settled = old
                told = told.filter { $0.key > old }
            }
            guard isFull else { return }
        }
    }

    /// Removes old rows but the last one, whose number must not be given again.
    static func sweep(_ database: Database, now: Instant) async throws {
        let end = SQLValue(now - retention)
        for _ in 0..<20 {
            let count = try await database.write { sql in
                try sql.execute(
                    """
                    DELETE FROM session_event WHERE row_id IN (SELECT row_id FROM session_event
                        WHERE created_at < $1 AND row_id < (SELECT MAX(row_id) FROM session_event)
                        LIMIT \(SessionStore.sweepBatch))
                    """, [end])
            }
            if count < SessionStore.sweepBatch { return }
        }
    }
}
