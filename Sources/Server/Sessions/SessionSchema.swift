// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase

/// The table of sessions. `handle` and `browser` hold hashes: a stolen database opens no session.
enum SessionSchema {
    static let component = "sessions"
    static let migrations = [
        Migration(
            1,
            """
            CREATE TABLE sessions (
                row_id {id},
                id TEXT NOT NULL UNIQUE,
                handle BYTEA UNIQUE,
                browser BYTEA UNIQUE,
                method TEXT NOT NULL,
                issuer TEXT NOT NULL,
                subject TEXT NOT NULL,
                provider_session TEXT,
                authenticated_at BIGINT,
                level TEXT,
                means TEXT NOT NULL,
                profile TEXT NOT NULL,
                secrets BYTEA NOT NULL,
                csrf BYTEA NOT NULL,
                device TEXT,
                created_at BIGINT NOT NULL,
                last_seen_at BIGINT NOT NULL,
                idle_expires_at BIGINT NOT NULL,
                expires_at BIGINT NOT NULL,
                revalidate_at BIGINT NOT NULL,
                parent TEXT);
            CREATE INDEX sessions_person ON sessions (issuer, subject);
            CREATE INDEX sessions_provider ON sessions (issuer, provider_session);
            CREATE INDEX sessions_parent ON sessions (parent);
            CREATE INDEX sessions_idle ON sessions (idle_expires_at);
            """),
        // `handle` is the hash of what the client shows: the cookie, the bearer token, or the name of the refresh token.
        Migration(
            2,
            """
            ALTER TABLE sessions ADD COLUMN presentation TEXT NOT NULL DEFAULT 'cookie';
            ALTER TABLE sessions ADD COLUMN previous_handle BYTEA;
            ALTER TABLE sessions ADD COLUMN rotated_at BIGINT;
            ALTER TABLE sessions ADD COLUMN retry_at BIGINT;
            ALTER TABLE sessions ADD COLUMN claimed_until BIGINT;
            CREATE INDEX sessions_end ON sessions (expires_at);
            CREATE TABLE session_event (
                row_id {id}, session TEXT NOT NULL, reason TEXT NOT NULL, created_at BIGINT NOT NULL);
            CREATE INDEX session_event_created ON session_event (created_at);
            CREATE TABLE session_key (
                row_id {id}, kid TEXT NOT NULL UNIQUE, sealed_key BYTEA NOT NULL, created_at BIGINT NOT NULL);
            """),
        // For how many milliseconds after its successor began to sign a key is still needed. Keys from before: as long as
        // refresh tokens live unless it is set otherwise.
        Migration(3, "ALTER TABLE session_key ADD COLUMN tail BIGINT NOT NULL DEFAULT 2592600000;"),
    ]
}

extension Session {
    init(row: SQLRow, sealing: SealingKey) throws(NacreError) {
        id = try row.text("id")
        method = try row.text("method")
        issuer = try row.text("issuer")
        subject = try row.text("subject")
        providerSession = row["provider_session"].text
        authenticatedAt = row["authenticated_at"].moment
        level = row["level"].text
        means = try row.text("means").split(separator: " ").map(String.init)
        profile = try JSONParser.parse(row.text("profile"))
        device = row["device"].text
        createdAt = try row.moment("created_at")
        lastSeenAt = try row.moment("last_seen_at")
        idleExpiresAt = try row.moment("idle_expires_at")
        expiresAt = try row.moment("expires_at")
        revalidateAt = try row.moment("revalidate_at")
        parent = row["parent"].text
        let kind = try row.text("presentation")
        guard let presentation = SessionPresentation(rawValue: kind) else {
            throw NacreError(
                "session.presentation", "A session of the kind \"\(kind)\" is stored here; install the newer program.")
        }
        self.presentation = presentation
        retryAt = row["retry_at"].moment
        csrfSecret = try row.blob("csrf")
        secrets = try SessionSecrets(bytes: sealing.open(row.blob("secrets"), context: Session.sealContext(id)))
    }

    /// What a sealed value is bound to, so that it opens in no other row.
    static func sealContext(_ id: String) -> [UInt8] { Array("session/secrets/\(id)".utf8) }

    /// 128 bits of SHA-256 over issuer and subject, which a line feed keeps apart (neither may hold one).
    package static func userID(issuer: String, subject: String) -> String {
        Hex.encode(SHA256.hash("\(issuer)\n\(subject)").prefix(16))
    }
}
