// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreCrypto
package import NacreDatabase

/// Creates, finds and ends sessions. Copies share one database.
///
/// A handle is a random 256-bit text that the client keeps (the `sessionid` cookie); only its hash is stored.
package struct SessionStore: Sendable {
    package let policy: SessionPolicy
    /// Hears of every session that ends here.
    package let events: SessionEvents
    let database: Database
    let sealing: SealingKey
    let time: any TimeSource
    let random: any RandomSource

    package init(
        database: Database, sealing: SealingKey, policy: SessionPolicy = SessionPolicy(), time: any TimeSource,
        random: any RandomSource, events: SessionEvents = SessionEvents()
    ) {
        self.events = events
        self.database = database
        self.sealing = sealing
        self.policy = policy
        self.time = time
        self.random = random
    }

    /// Creates or updates the table; call it once at start.
    package func prepare() async throws {
        try await database.migrate(SessionSchema.component, SessionSchema.migrations)
    }

    static func hash(_ handle: String) -> SQLValue { .blob(SHA256.hash(handle)) }

    /// A session in use from now on, and the handle that presents it.
    ///
    /// `replacing` is the handle the same browser presented before: that session ends in the same transaction, so that
    /// nobody who planted or knew it has anything (session fixation).
    package func begin(
        _ authentication: Authentication, device: String?, replacing old: String? = nil
    ) async throws -> (session: Session, handle: String) {
        let handle = random.token()
        let expiry = time.now + policy.idle
        let session = try await insert(
            authentication, device: device, handle: handle, browser: nil, idleExpiry: expiry, replacing: old)
        return (session, handle)
    }

    /// A session that waits for its app: no handle yet, gone after `lifetime` unless `activate` gives it one.
    ///
    /// `browserHandle` stays in the system browser and can do nothing but sign this session out (HO-7).
    package func beginWaiting(
        _ authentication: Authentication, device: String?, lifetime: Duration
    ) async throws -> (session: Session, browserHandle: String) {
        let browser = random.token()
        let session = try await insert(
            authentication, device: device, handle: nil, browser: browser, idleExpiry: time.now + lifetime,
            replacing: nil)
        return (session, browser)
    }

    private func insert(
        _ authentication: Authentication, device: String?, handle: String?, browser: String?, idleExpiry: Instant,
        replacing old: String?
    ) async throws -> Session {
        let id = random.identifier()
        let now = time.now
        let secrets = try sealing.seal(
            authentication.secrets.bytes, context: Session.sealContext(id), random: random)
        let arguments: [SQLValue] = [
            .text(id), handle.map(Self.hash) ?? .null, browser.map(Self.hash) ?? .null,
            .text(authentication.method), .text(authentication.issuer), .text(authentication.subject),
            SQLValue(authentication.providerSession), SQLValue(authentication.authenticatedAt),
            SQLValue(authentication.level), .text(authentication.means.joined(separator: " ")),
            .text(authentication.profile.text), .blob(secrets), .blob(random.bytes(32)), SQLValue(device),
            SQLValue(now), SQLValue(idleExpiry), SQLValue(now + policy.absolute),
            SQLValue(now + policy.revalidateAge),
        ]
        let row = try await database.write { sql in
            if let old { try sql.execute("DELETE FROM sessions WHERE handle = $1", [Self.hash(old)]) }
            return try sql.query(
                """
                INSERT INTO sessions (id, handle, browser, method, issuer, subject, provider_session,
                    authenticated_at, level, means, profile, secrets, csrf, device, created_at, last_seen_at,
                    idle_expires_at, expires_at, revalidate_at)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15, $16, $17, $18)
                RETURNING *
                """, arguments)[0]
        }
        return try Session(row: row, sealing: sealing)
    }

    /// Gives a waiting session its one handle; nil when it has one already, has expired, or was ended meanwhile.
    package func activate(_ id: String, device: String? = nil) async throws -> (session: Session, handle: String)? {
        let handle = random.token()
        let now = time.now
        let expiry = now + policy.idle
        let row = try await database.write { sql in
            try sql.first(
                """
                UPDATE sessions SET handle = $1, last_seen_at = $2, idle_expires_at = $3,
                    device = COALESCE($5, device)
                WHERE id = $4 AND handle IS NULL AND idle_expires_at > $2 RETURNING *
                """, [Self.hash(handle), SQLValue(now), SQLValue(expiry), .text(id), SQLValue(device)])
        }
        guard let row else { return nil }
        return (try Session(row: row, sealing: sealing), handle)
    }

    /// The unexpired session of this handle, or nil.
    package func find(handle: String) async throws -> Session? {
        try await find("handle", Self.hash(handle))
    }

    /// The unexpired session that this browser may sign out, or nil.
    package func find(browserHandle: String) async throws -> Session? {
        try await find("browser", Self.hash(browserHandle))
    }

    private func find(_ column: String, _ hash: SQLValue) async throws -> Session? {
        let now = time.now
        let row = try await database.read { sql in
            try sql.first(
                "SELECT * FROM sessions WHERE \(column) = $1 AND idle_expires_at > $2 AND expires_at > $2",
                [hash, SQLValue(now)])
        }
        return try row.map { row throws(NacreError) in try Session(row: row, sealing: sealing) }
    }

    /// Writes down that the session is in use, so that its window slides.
    package func touch(_ id: String) async throws {
        let now = time.now
        let expiry = now + policy.idle
        try await database.write { sql in
            _ = try sql.execute(
                "UPDATE sessions SET last_seen_at = $1, idle_expires_at = $2 WHERE id = $3 AND last_seen_at < $1",
                [SQLValue(now), SQLValue(expiry), .text(id)])
        }
    }

    /// Stores what a revalidation brought: new tokens before anything else uses them. False when the session has ended.
    package func renew(_ id: String, _ authentication: Authentication) async throws -> Bool {
        let now = time.now
        let secrets = try sealing.seal(
            authentication.secrets.bytes, context: Session.sealContext(id), random: random)
        let arguments: [SQLValue] = [
            .blob(secrets), .text(authentication.profile.text), SQLValue(authentication.level),
            .text(authentication.means.joined(separator: " ")), SQLValue(authentication.authenticatedAt),
            SQLValue(now + policy.revalidateAge), .text(id), SQLValue(authentication.providerSession),
        ]
        return try await database.write { sql in
            try sql.execute(
                """
                UPDATE sessions SET secrets = $1, profile = $2, level = $3, means = $4, authenticated_at = $5,
                    revalidate_at = $6, provider_session = $8 WHERE id = $7
                """, arguments) == 1
        }
    }
}
