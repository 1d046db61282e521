// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase

/// One client that still has to hear that a session is over.
struct PendingLogout: Sendable {
    let id: Int64
    let clientID: String
    let sid: String
    let subject: String
    /// How often it was tried, this time included.
    let attempts: Int
}

extension ProviderStore {
    /// So long is tried; then the clients' own revalidation has to end the session (HO-13).
    static let logoutPatience: Duration = .seconds(86_400)

    /// How long after the n-th try the next one comes: the first also covers a sender that died in between.
    static func logoutDelay(_ attempts: Int) -> Duration {
        let delays: [Duration] = [.seconds(15), .seconds(60), .seconds(240), .seconds(900), .seconds(3600)]
        return delays[min(max(attempts, 1), delays.count) - 1]
    }

    /// Ends a session and revokes every token that was given in it; in the same transaction notes which of `clients`
    /// took part in it and must hear of it.
    func endSession(sid: String, telling clients: [String], now: Instant) async throws {
        try await database.write { sql in
            try sql.execute("DELETE FROM provider_session WHERE sid = $1", [.text(sid)])
            let members = try sql.query(
                "SELECT DISTINCT client_id, subject FROM provider_grant WHERE sid = $1 AND ended_at IS NULL",
                [.text(sid)])
            for member in members where clients.contains(try member.text("client_id")) {
                try sql.execute(
                    """
                    INSERT INTO provider_logout (client_id, sid, subject, attempts, next_attempt, created_at)
                    VALUES ($1, $2, $3, 0, $4, $4) ON CONFLICT (client_id, sid) DO NOTHING
                    """,
                    [
                        .text(try member.text("client_id")), .text(sid), .text(try member.text("subject")),
                        SQLValue(now),
                    ])
            }
            try sql.execute(
                "UPDATE provider_grant SET ended_at = $1 WHERE sid = $2 AND ended_at IS NULL",
                [SQLValue(now), .text(sid)])
            try sql.execute(
                "UPDATE provider_grant SET revoked_at = $1 WHERE sid = $2 AND revoked_at IS NULL",
                [SQLValue(now), .text(sid)])
        }
    }

    /// Takes what is due, and forgets what was tried long enough. Whoever takes one has until its next try; when the
    /// sender dies, another takes it then.
    func takeLogouts(limit: Int, now: Instant) async throws -> (due: [PendingLogout], abandoned: [PendingLogout]) {
        try await database.write { sql in
            let old = try sql.query(
                "DELETE FROM provider_logout WHERE created_at < $1 RETURNING *", [SQLValue(now - Self.logoutPatience)])
            let rows = try sql.query(
                "SELECT * FROM provider_logout WHERE next_attempt <= $1 ORDER BY next_attempt, id LIMIT \(limit)",
                [SQLValue(now)])
            var due: [PendingLogout] = []
            for row in rows {
                let attempts = Int(try row.integer("attempts")) + 1
                let taken = try sql.execute(
                    // guard: provider-logout-claim
                    "UPDATE provider_logout SET attempts = $1, next_attempt = $2 WHERE id = $3 AND attempts = $4",
                    [
                        SQLValue(attempts), SQLValue(now + Self.logoutDelay(attempts)),
                        .integer(try row.integer("id")), SQLValue(attempts - 1),
                    ])
                if taken == 1 { due.append(try Self.logout(row, attempts)) }
            }
            return (due, try old.map { row in try Self.logout(row, Int(try row.integer("attempts"))) })
        }
    }

    /// The client has heard it, or there is no such client any more.
    func finish(_ logout: PendingLogout) async throws {
        try await database.write { sql in
            _ = try sql.execute("DELETE FROM provider_logout WHERE id = $1", [.integer(logout.id)])
        }
    }

    private static func logout(_ row: SQLRow, _ attempts: Int) throws(NacreError) -> PendingLogout {
        PendingLogout(
            id: try row.integer("id"), clientID: try row.text("client_id"), sid: try row.text("sid"),
            subject: try row.text("subject"), attempts: attempts)
    }
}
