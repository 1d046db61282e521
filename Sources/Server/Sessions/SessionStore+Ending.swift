// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreDatabase

extension SessionStore {
    /// How many rows one transaction removes (with what was derived from them), so that nobody waits long behind it.
    package static let sweepBatch = 500

    /// The person's unexpired sessions, newest use first, at most two hundred.
    package func list(issuer: String, subject: String) async throws -> [Session] {
        let now = time.now
        let rows = try await database.read { sql in
            try sql.query(
                """
                SELECT * FROM sessions WHERE issuer = $1 AND subject = $2 AND idle_expires_at > $3
                    AND expires_at > $3 AND handle IS NOT NULL ORDER BY last_seen_at DESC, row_id DESC LIMIT 200
                """, [.text(issuer), .text(subject), SQLValue(now)])
        }
        return try rows.map { row throws(NacreError) in try session(row) }
    }

    /// Ends one session and those derived from it. Harmless when it has ended already.
    @discardableResult
    package func end(_ id: String, reason: String = "signed_out") async throws -> Int {
        try await ended { now, sql in
            try Self.remove("id = $1", [.text(id)], reason: reason, now: now, sql)
        }
    }

    /// Ends the session of this identifier if it is this person's: what a list of sessions offers.
    @discardableResult
    package func end(_ id: String, of person: Session, reason: String = "ended_elsewhere") async throws -> Int {
        try await ended { now, sql in
            try Self.remove(
                "id = $1 AND issuer = $2 AND subject = $3",  // guard: session-owner
                [.text(id), .text(person.issuer), .text(person.subject)], reason: reason, now: now, sql)
        }
    }

    /// Ends every session of one session of the provider (back-channel logout, sign-out at the provider).
    @discardableResult
    package func end(issuer: String, providerSession: String) async throws -> Int {
        try await endedInBatches { now, sql in
            try Self.end(issuer: issuer, providerSession: providerSession, now: now, sql)
        }
    }

    /// The same as part of a larger transaction: a batch of them. The caller publishes what it answers when that is
    /// stored, and comes again until a batch is not full.
    package static func end(
        issuer: String, providerSession: String, now: Instant, _ sql: any SQLConnection
    ) throws(NacreError) -> [SessionEnding] {
        try remove(
            "issuer = $1 AND provider_session = $2", [.text(issuer), .text(providerSession)], reason: "backchannel",
            now: now, sql)
    }

    /// Ends a person's sessions of which the provider told no `sid` when they began, a batch of them: a logout token that
    /// names one cannot be told apart from theirs.
    package static func endUnnamed(
        issuer: String, subject: String, now: Instant, _ sql: any SQLConnection
    ) throws(NacreError) -> [SessionEnding] {
        try remove(
            "issuer = $1 AND subject = $2 AND provider_session IS NULL", [.text(issuer), .text(subject)],
            reason: "backchannel", now: now, sql)
    }

    /// Ends every session of a person, except perhaps the one that asks (sign-out everywhere).
    ///
    /// The one that asks keeps those it came from: without them it would end as well.
    @discardableResult
    package func end(
        issuer: String, subject: String, except kept: String? = nil, reason: String = "ended_elsewhere"
    ) async throws -> Int {
        try await endedInBatches { now, sql in
            try Self.end(issuer: issuer, subject: subject, except: kept, reason: reason, now: now, sql)
        }
    }

    /// The same as part of a larger transaction: a batch of them. The caller publishes what it answers when that is
    /// stored, and comes again until a batch is not full.
    package static func end(
        issuer: String, subject: String, except kept: String?, reason: String, now: Instant, _ sql: any SQLConnection
    ) throws(NacreError) -> [SessionEnding] {
        let chain = try chain(kept, sql)
        let places = chain.indices.map { "$\($0 + 3)" }.joined(separator: ", ")
        return try remove(
            "issuer = $1 AND subject = $2" + (chain.isEmpty ? "" : " AND id NOT IN (\(places))"),
            [.text(issuer), .text(subject)] + chain.map(SQLValue.text), reason: reason, now: now, sql)
    }

    /// A session and those it came from.
    private static func chain(_ id: String?, _ sql: any SQLConnection) throws(NacreError) -> [String] {
        var chain: [String] = []
        var next = id
        while let id = next, chain.count < 16, !chain.contains(id) {
            chain.append(id)
            next = try sql.first("SELECT parent FROM sessions WHERE id = $1", [.text(id)])?["parent"].text
        }
        return chain
    }

    /// Ends what a person has beyond `cap` beside the session of `row`, which was just made: those that were used the
    /// longest ago. Those that wait for their app count by themselves, so that an abandoned sign-in ends nothing.
    static func removeSurplus(
        beside row: SQLRow, cap: Int, now: Instant, _ sql: any SQLConnection
    ) throws(NacreError) -> [SessionEnding] {
        let kept = try chain(try row.text("id"), sql)
        let places = kept.indices.map { "$\($0 + 4)" }.joined(separator: ", ")
        let kind = row["handle"].isNull ? "NULL" : "NOT NULL"
        // guard: session-cap
        let surplus = """
            id IN (SELECT id FROM sessions WHERE issuer = $1 AND subject = $2 AND handle IS \(kind)
                AND idle_expires_at > $3 AND expires_at > $3 AND id NOT IN (\(places))
                ORDER BY last_seen_at DESC, row_id DESC LIMIT \(sweepBatch) OFFSET \(max(cap - kept.count, 0)))
            """
        return try remove(
            surplus,
            [.text(try row.text("issuer")), .text(try row.text("subject")), SQLValue(now)]
                + kept.map(SQLValue.text), reason: "too_many", now: now, sql)
    }

    /// Transactions of a batch each until one is not full.
    private func endedInBatches(
        _ body: @escaping @Sendable (Instant, any SQLConnection) throws -> [SessionEnding]
    ) async throws -> Int {
        var total = 0
        while true {
            let count = try await ended(body)
            total += count
            if count < Self.sweepBatch { return total }
        }
    }

    func ended(
        _ body: @escaping @Sendable (Instant, any SQLConnection) throws -> [SessionEnding]
    ) async throws -> Int {
        let now = time.now
        let endings = try await database.write { sql in try body(now, sql) }
        // Only what is stored is told.
        events.publish(endings)
        return endings.count
    }

    /// Deletes a batch of the rows that meet `condition` and all that were derived from them, and writes each ending down
    /// for the other processes.
    static func remove(
        _ condition: String, _ arguments: [SQLValue], reason: String, now: Instant, _ sql: any SQLConnection
    ) throws(NacreError) -> [SessionEnding] {
        var endings: [SessionEnding] = []
        var parents = try sql.query(
            """
            DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE \(condition) LIMIT \(sweepBatch))
            RETURNING id
            """, arguments)  // guard: session-batch
        var why = reason
        while !parents.isEmpty {
            var children: [SQLRow] = []
            for row in parents {
                let id = try row.text("id")
                endings.append(SessionEnding(session: id, reason: why))
                // guard: session-children
                children += try sql.query("DELETE FROM sessions WHERE parent = $1 RETURNING id", [.text(id)])
            }
            parents = children
            why = reason == "expired" ? reason : "parent_ended"
        }
        for ending in endings {
            try sql.execute(
                "INSERT INTO session_event (session, reason, created_at) VALUES ($1, $2, $3)",
                [.text(ending.session), .text(ending.reason), SQLValue(now)])
        }
        return endings
    }

    /// Removes what has expired, some hundred rows in a transaction and some thousand in a call; call it every few minutes.
    @discardableResult
    package func removeExpired() async throws -> Int {
        let now = time.now
        var total = 0
        for _ in 0..<20 {
            let count = try await ended { now, sql in
                try Self.remove(
                    "idle_expires_at <= $1 OR expires_at <= $1", [SQLValue(now)], reason: "expired", now: now, sql)
            }
            total += count
            if count < Self.sweepBatch { break }
        }
        try await SessionEventFeed.sweep(database, now: now)
        return total
    }
}
