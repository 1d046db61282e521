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

    /// Whether this device has signed this person in before.
    func knows(device: String, subject: String) async throws -> Bool {
        try await database.read { sql in
            try sql.first(
                "SELECT id FROM provider_device WHERE device_hash = $1 AND subject = $2",
                [Self.hash(device), .text(subject)]) != nil
        }
    }

    func remember(device: String, subject: String, now: Instant) async throws {
        try await database.write { sql in
            _ = try sql.execute(
                """
                INSERT INTO provider_device (device_hash, subject, last_seen) VALUES ($1, $2, $3)
                ON CONFLICT (device_hash, subject) DO UPDATE SET last_seen = excluded.last_seen
                """, [Self.hash(device), .text(subject), SQLValue(now)])
        }
    }

    /// Takes one try out of every bucket, or none and answers how long to wait. Taken before the password is looked at,
    /// so that many guesses at once do not slip through; a right password gives its try back.
    func takeTry(
        _ buckets: [(name: String, limit: Int)], window: Duration, now: Instant
    ) async throws -> Duration? {
        try await database.write { sql in
            var wait = Duration.zero
            for bucket in buckets {
                let row = try sql.first(
                    "SELECT count, window_ends FROM provider_failure WHERE bucket = $1 AND window_ends > $2",
                    [.text(bucket.name), SQLValue(now)])
                if let row, try row.integer("count") >= Int64(bucket.limit) {
                    wait = max(wait, try row.moment("window_ends") - now)
                }
            }
            guard wait == .zero else { return wait }
            for bucket in buckets {
                try sql.execute(
                    """
                    INSERT INTO provider_failure (bucket, count, window_ends) VALUES ($1, 1, $2)
                    ON CONFLICT (bucket) DO UPDATE SET
                        count = CASE WHEN provider_failure.window_ends > $3 THEN provider_failure.count + 1 ELSE 1 END,
                        window_ends = CASE WHEN provider_failure.window_ends > $3 THEN provider_failure.window_ends
                            ELSE excluded.window_ends END
                    """, [.text(bucket.name), SQLValue(now + window), SQLValue(now)])
            }
            return nil
        }
    }

    func giveBackTry(_ buckets: [(name: String, limit: Int)]) async throws {
        try await database.write { sql in
            for bucket in buckets {
                try sql.execute(
                    "UPDATE provider_failure SET count = count - 1 WHERE bucket = $1 AND count > 0",
                    [.text(bucket.name)])
            }
        }
    }
}
