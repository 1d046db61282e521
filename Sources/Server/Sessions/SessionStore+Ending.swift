// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreDatabase

extension SessionStore {
    /// The person's unexpired sessions, newest use first.
    package func list(issuer: String, subject: String) async throws -> [Session] {
        let now = time.now
        let rows = try await database.read { sql in
            try sql.query(
                """
                SELECT * FROM sessions WHERE issuer = $1 AND subject = $2 AND idle_expires_at > $3
                    AND expires_at > $3 AND handle IS NOT NULL ORDER BY last_seen_at DESC, row_id DESC
                """, [.text(issuer), .text(subject), SQLValue(now)])
        }
        return try rows.map { row throws(NacreError) in try Session(row: row, sealing: sealing) }
    }

    /// Ends one session and those derived from it. Harmless when it has ended already.
    @discardableResult
    package func end(_ id: String) async throws -> Int {
        try await database.write { sql in
            try sql.execute("DELETE FROM sessions WHERE id = $1 OR parent = $1", [.text(id)])
        }
    }

    /// Ends every session of one session of the provider (back-channel logout, sign-out at the provider).
    @discardableResult
    package func end(issuer: String, providerSession: String) async throws -> Int {
        try await database.write { sql in try Self.end(issuer: issuer, providerSession: providerSession, sql) }
    }

    /// The same as part of a larger transaction.
    @discardableResult
    package static func end(
        issuer: String, providerSession: String, _ sql: any SQLConnection
    ) throws(NacreError) -> Int {
        try sql.execute(
            """
            DELETE FROM sessions WHERE (issuer = $1 AND provider_session = $2) OR parent IN
                (SELECT id FROM sessions WHERE issuer = $1 AND provider_session = $2)
            """, [.text(issuer), .text(providerSession)])
    }

    /// Ends every session of a person, except perhaps the one that asks (sign-out everywhere).
    @discardableResult
    package func end(issuer: String, subject: String, except kept: String? = nil) async throws -> Int {
        try await database.write { sql in try Self.end(issuer: issuer, subject: subject, except: kept, sql) }
    }

    /// The same as part of a larger transaction.
    @discardableResult
    package static func end(
        issuer: String, subject: String, except kept: String?, _ sql: any SQLConnection
    ) throws(NacreError) -> Int {
        try sql.execute(
            "DELETE FROM sessions WHERE issuer = $1 AND subject = $2 AND id <> $3",
            [.text(issuer), .text(subject), .text(kept ?? "")])
    }

    /// Removes what has expired, in batches; call it now and then.
    @discardableResult
    package func removeExpired() async throws -> Int {
        try await database.remove(
            RetentionRule("sessions", key: "row_id", where: "idle_expires_at <= $1 OR expires_at <= $1"), time.now)
    }
}
