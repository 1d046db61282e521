// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreCrypto
package import NacreDatabase

/// Creates, finds and ends sessions. Copies share one database.
///
/// A handle is a random 256-bit text that the client keeps (the `sessionid` cookie, a bearer token, the name of a refresh
/// token); only its hash is stored.
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

    /// Creates or updates the tables; call it once at start.
    package func prepare() async throws {
        try await database.migrate(SessionSchema.component, SessionSchema.migrations)
    }

    static func hash(_ handle: String) -> SQLValue { .blob(SHA256.hash(handle)) }

    func session(_ row: SQLRow) throws(NacreError) -> Session { try Session(row: row, sealing: sealing) }

    /// A session in use from now on, and the handle that presents it.
    ///
    /// `replacing` is the cookie the same browser presented before: that session ends in the same transaction, so that
    /// nobody who planted or knew it has anything (session fixation). `handle` is made here unless it is given.
    package func begin(
        _ authentication: Authentication, device: String?, replacing old: String? = nil,
        as presentation: SessionPresentation = .cookie, handle: String? = nil
    ) async throws -> (session: Session, handle: String) {
        let handle = handle ?? random.token()
        let expiry = time.now + policy.idle
        let session = try await insert(
            NewSession(
                authentication: authentication, device: device, presentation: presentation, handle: handle,
                idleExpiry: expiry),
            replacing: old)
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
            NewSession(
                authentication: authentication, device: device, browser: browser, idleExpiry: time.now + lifetime),
            replacing: nil)
        return (session, browser)
    }

    /// What a row is made of beside the clock.
    struct NewSession: Sendable {
        var authentication: Authentication
        var device: String?
        var presentation: SessionPresentation = .cookie
        var handle: String?
        var browser: String?
        var idleExpiry: Instant
        var expiry: Instant?
        var revalidateAt: Instant?
        var parent: String?
    }

    private func insert(_ new: NewSession, replacing old: String?) async throws -> Session {
        let id = random.identifier()
        let (insertion, now, cap) = (try insertion(of: new, id: id), time.now, policy.perPerson)
        let (row, ended) = try await database.write { sql in
            var ended: [SessionEnding] = []
            if let old {
                ended = try Self.remove(
                    "handle = $1 AND presentation = 'cookie'", [Self.hash(old)], reason: "replaced", now: now, sql)
            }
            let row = try sql.query(Self.insertion, insertion)[0]
            return (row, try ended + Self.removeSurplus(beside: row, cap: cap, now: now, sql))
        }
        events.publish(ended)
        return try session(row)
    }

    static let insertion = """
        INSERT INTO sessions (id, handle, browser, method, issuer, subject, provider_session,
            authenticated_at, level, means, profile, secrets, csrf, device, created_at, last_seen_at,
            idle_expires_at, expires_at, revalidate_at, presentation, parent)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15, $16, $17, $18, $19, $20)
        RETURNING *
        """

    func insertion(of new: NewSession, id: String) throws(NacreError) -> [SQLValue] {
        let now = time.now
        let authentication = new.authentication
        let secrets = try sealing.seal(
            authentication.secrets.bytes, context: Session.sealContext(id), random: random)
        return [
            .text(id), new.handle.map(Self.hash) ?? .null, new.browser.map(Self.hash) ?? .null,
            .text(authentication.method), .text(authentication.issuer), .text(authentication.subject),
            SQLValue(authentication.providerSession), SQLValue(authentication.authenticatedAt),
            SQLValue(authentication.level), .text(authentication.means.joined(separator: " ")),
            .text(authentication.profile.text), .blob(secrets), .blob(random.bytes(32)),
            SQLValue(DeviceName.cleaned(new.device)), SQLValue(now), SQLValue(new.idleExpiry),
            SQLValue(new.expiry ?? now + policy.absolute), SQLValue(new.revalidateAt ?? now + policy.revalidateAge),
            .text(new.presentation.rawValue), SQLValue(new.parent),
        ]
    }

    /// Gives a waiting session its one handle; nil when it has one already, has expired, or was ended meanwhile.
    package func activate(
        _ id: String, device: String? = nil, as presentation: SessionPresentation = .cookie, handle: String? = nil
    ) async throws -> (session: Session, handle: String)? {
        let handle = handle ?? random.token()
        let now = time.now
        let expiry = now + policy.idle
        let arguments: [SQLValue] = [
            Self.hash(handle), SQLValue(now), SQLValue(expiry), .text(id), SQLValue(DeviceName.cleaned(device)),
            .text(presentation.rawValue),
        ]
        let cap = policy.perPerson
        let found = try await database.write { sql -> (row: SQLRow, ended: [SessionEnding])? in
            let row = try sql.first(
                """
                UPDATE sessions SET handle = $1, last_seen_at = $2, idle_expires_at = $3,
                    device = COALESCE($5, device), presentation = $6
                WHERE id = $4 AND handle IS NULL AND idle_expires_at > $2 RETURNING *
                """, arguments)
            guard let row else { return nil }
            return (row, try Self.removeSurplus(beside: row, cap: cap, now: now, sql))
        }
        guard let found else { return nil }
        events.publish(found.ended)
        return (try session(found.row), handle)
    }

    /// The unexpired session that this handle presents in this way, or nil.
    package func find(handle: String, as presentation: SessionPresentation = .cookie) async throws -> Session? {
        // guard: session-presentation
        try await find("handle = $1 AND presentation = $3", [Self.hash(handle)], [.text(presentation.rawValue)])
    }

    /// The unexpired session that this browser may sign out, or nil.
    package func find(browserHandle: String) async throws -> Session? {
        try await find("browser = $1", [Self.hash(browserHandle)])
    }

    /// The unexpired session of this identifier, which is no credential: only for those who know already who asks.
    package func find(id: String) async throws -> Session? { try await find("id = $1", [.text(id)]) }

    private func find(_ condition: String, _ key: [SQLValue], _ more: [SQLValue] = []) async throws -> Session? {
        let arguments = key + [SQLValue(time.now)] + more
        let row = try await database.read { sql in
            try sql.first(
                "SELECT * FROM sessions WHERE \(condition) AND idle_expires_at > $2 AND expires_at > $2", arguments)
        }
        return try row.map { row throws(NacreError) in try session(row) }
    }

    /// Writes down that the session is in use, so that its window slides; so do the windows of those it came from.
    package func touch(_ id: String) async throws {
        let now = time.now
        let expiry = now + policy.idle
        try await database.write { sql in
            var next: String? = id
            // The bound is for damaged rows only: a chain has one or two links.
            for _ in 0..<16 {
                guard let current = next else { return }
                next = try sql.first(
                    """
                    UPDATE sessions SET last_seen_at = $1, idle_expires_at = $2 WHERE id = $3 AND last_seen_at <= $1
                    RETURNING parent
                    """, [SQLValue(now), SQLValue(expiry), .text(current)])?["parent"].text
            }
        }
    }
}
