// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase

/// A person's single sign-on session in one browser.
struct SSOSession: Sendable {
    /// The name of the session towards clients (`sid`).
    var sid: String
    var subject: String
    var level: String
    var methods: [String]
    var authenticatedAt: Instant
    var expiresAt: Instant
}

extension ProviderStore {
    /// The session of a cookie.
    func session(token: String, now: Instant) async throws -> SSOSession? {
        try await database.read { sql in
            try sql.first(
                "SELECT * FROM provider_session WHERE token_hash = $1 AND expires_at > $2",
                [Self.hash(token), SQLValue(now)]
            ).map { row throws(NacreError) in
                SSOSession(
                    sid: try row.text("sid"), subject: try row.text("subject"), level: try row.text("level"),
                    methods: try row.text("methods").split(separator: " ").map(String.init),
                    authenticatedAt: try row.moment("authenticated_at"), expiresAt: try row.moment("expires_at"))
            }
        }
    }

    /// Stores a session under a new cookie; `old` ends, so that no cookie outlives a sign-in (no fixation).
    func start(_ session: SSOSession, token: String, replacing old: String?) async throws {
        try await database.write { sql in
            if let old { try sql.execute("DELETE FROM provider_session WHERE token_hash = $1", [Self.hash(old)]) }
            // A person who signs in again keeps the `sid`, so that one sign-out still reaches every client.
            try sql.execute("DELETE FROM provider_session WHERE sid = $1", [.text(session.sid)])
            try sql.execute(
                """
                INSERT INTO provider_session (token_hash, sid, subject, level, methods, authenticated_at, expires_at)
                VALUES ($1, $2, $3, $4, $5, $6, $7)
                """,
                [
                    Self.hash(token), .text(session.sid), .text(session.subject), .text(session.level),
                    .text(session.methods.joined(separator: " ")), SQLValue(session.authenticatedAt),
                    SQLValue(session.expiresAt),
                ])
        }
    }

    /// Ends a session and revokes every token that was given in it.
    func endSession(sid: String, now: Instant) async throws {
        try await database.write { sql in
            try sql.execute("DELETE FROM provider_session WHERE sid = $1", [.text(sid)])
            try sql.execute(
                "UPDATE provider_grant SET revoked_at = $1 WHERE sid = $2 AND revoked_at IS NULL",
                [SQLValue(now), .text(sid)])
        }
    }

    /// Whether this device has signed this person in before.
    func knows(device: String, subject: String) async throws -> Bool {
        try await database.read { sql in
            try sql.first(
                "SELECT id FROM provider_device WHERE device_hash = $1 AND subject = $2",
                [Self.hash(device), .text(subject)]) != nil
        }
    }

    /// Remembers that this device signed this person in. An account has at most so many devices, the newest, none of them
    /// older than its cookie.
    func remember(device: String, subject: String, now: Instant) async throws {
        try await database.write { sql in
            try sql.execute(
                """
                INSERT INTO provider_device (device_hash, subject, last_seen) VALUES ($1, $2, $3)
                ON CONFLICT (device_hash, subject) DO UPDATE SET last_seen = excluded.last_seen
                """, [Self.hash(device), .text(subject), SQLValue(now)])
            // guard: provider-device-bound
            try sql.execute(
                """
                DELETE FROM provider_device WHERE subject = $1 AND (last_seen < $2 OR id NOT IN
                    (SELECT id FROM provider_device WHERE subject = $1 ORDER BY last_seen DESC, id DESC LIMIT 20))
                """, [.text(subject), SQLValue(now - .seconds(365 * 86_400))])
        }
    }
}
