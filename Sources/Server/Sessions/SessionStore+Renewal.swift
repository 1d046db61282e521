// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase

/// What became of a refresh token that was presented.
package enum SessionRotation: Sendable {
    /// It was the current one; the new one is stored.
    case rotated(Session)
    /// It was the one before, and its answer was perhaps lost: the same answer is given again.
    case repeated(Session)
    /// It had been used before: somebody has a copy. The session has ended.
    case reused
    /// The session has ended or expired.
    case absent
}

/// The right to ask the provider about one session, with the one refresh token that is in its row.
struct SessionClaim: Sendable {
    /// The session as it was when it was claimed.
    let session: Session
    /// Until when others let the session be.
    let until: Instant
    /// Whether somebody claimed it before and never said what came of it: the refresh token may be spent.
    let followsLostOne: Bool
}

extension SessionStore {
    /// Stores what a revalidation brought: new tokens before anything else uses them. False when the session has ended,
    /// or was renewed meanwhile with the same right or a later one.
    ///
    /// A claim that has run out still counts as long as nobody else has renewed the session: what it brought is the only
    /// token that is not spent.
    func renew(_ claim: SessionClaim, _ authentication: Authentication) async throws -> Bool {
        let now = time.now
        let id = claim.session.id
        let secrets = try sealing.seal(
            authentication.secrets.bytes, context: Session.sealContext(id), random: random)
        let arguments: [SQLValue] = [
            .blob(secrets), .text(authentication.profile.text), SQLValue(authentication.level),
            .text(authentication.means.joined(separator: " ")), SQLValue(authentication.authenticatedAt),
            SQLValue(now + policy.revalidateAge), .text(id), SQLValue(authentication.providerSession),
            SQLValue(claim.session.revalidateAt),
        ]
        return try await database.write { sql in
            try sql.execute(
                """
                UPDATE sessions SET secrets = $1, profile = $2, level = $3, means = $4, authenticated_at = $5,
                    revalidate_at = $6, provider_session = $8, retry_at = NULL, claimed_until = NULL
                WHERE id = $7 AND revalidate_at = $9
                """,  // guard: session-renew-claim
                arguments) == 1
        }
    }

    /// Reserves the next revalidation for the caller: of several processes one gets the session, and with it the
    /// provider's refresh token, which may be used once.
    func claim(_ id: String) async throws -> SessionClaim? {
        let now = time.now
        let until = now + policy.claimInterval
        let found = try await database.write { sql -> (row: SQLRow, before: Instant?)? in
            let before = try sql.first("SELECT claimed_until FROM sessions WHERE id = $1", [.text(id)])
            let row = try sql.first(
                """
                UPDATE sessions SET claimed_until = $1 WHERE id = $2 AND revalidate_at <= $3
                    AND idle_expires_at > $3 AND expires_at > $3
                    AND (claimed_until IS NULL OR claimed_until <= $3) AND (retry_at IS NULL OR retry_at <= $3)
                RETURNING *
                """,  // guard: session-claim
                [SQLValue(until), .text(id), SQLValue(now)])
            guard let row else { return nil }
            return (row, before?["claimed_until"].moment)
        }
        guard let found else { return nil }
        return SessionClaim(session: try session(found.row), until: until, followsLostOne: found.before != nil)
    }

    /// Gives a reservation back after an attempt that failed; nobody tries again before the interval has passed. Not when
    /// somebody else has it by now.
    func postpone(_ claim: SessionClaim, by interval: Duration) async throws {
        let next = time.now + interval
        try await database.write { sql in
            _ = try sql.execute(
                // guard: session-postpone-claim
                "UPDATE sessions SET retry_at = $1, claimed_until = NULL WHERE id = $2 AND claimed_until = $3",
                [SQLValue(next), .text(claim.session.id), SQLValue(claim.until)])
        }
    }

    /// Ends the session that the provider refused, unless it was renewed meanwhile: then the refusal was about a token
    /// that is spent. How many ended.
    func end(_ claim: SessionClaim, reason: String) async throws -> Int {
        try await ended { now, sql in
            try Self.remove(
                "id = $1 AND revalidate_at = $2",  // guard: session-refused-claim
                [.text(claim.session.id), SQLValue(claim.session.revalidateAt)], reason: reason, now: now, sql)
        }
    }

    /// The session at the beginning of this one's chain, which holds the provider's tokens; nil when it has ended.
    func root(of session: Session) async throws -> Session? {
        var current = session
        for _ in 0..<16 {
            guard let parent = current.parent else { return current }
            guard let next = try await find(id: parent) else { return nil }
            current = next
        }
        return nil
    }

    /// Takes over what a revalidation of its root brought.
    func follow(_ id: String, root: Session) async throws {
        let arguments: [SQLValue] = [
            .text(root.profile.text), SQLValue(root.level), .text(root.means.joined(separator: " ")),
            SQLValue(root.authenticatedAt), SQLValue(root.revalidateAt), SQLValue(root.providerSession), .text(id),
        ]
        try await database.write { sql in
            _ = try sql.execute(
                """
                UPDATE sessions SET profile = $1, level = $2, means = $3, authenticated_at = $4, revalidate_at = $5,
                    provider_session = $6 WHERE id = $7
                """, arguments)
        }
    }

    /// A session of its own for another presentation of the same sign-in; it ends with `parent`.
    ///
    /// It holds none of the provider's tokens: a refresh token in two rows would be used twice.
    /// - Returns: nil when the parent has ended.
    package func derive(
        from parent: Session, device: String?, as presentation: SessionPresentation, handle: String? = nil
    ) async throws -> (session: Session, handle: String)? {
        let handle = handle ?? random.token()
        let now = time.now
        let facts = Authentication(
            method: parent.method, issuer: parent.issuer, subject: parent.subject,
            providerSession: parent.providerSession, authenticatedAt: parent.authenticatedAt, level: parent.level,
            means: parent.means, profile: parent.profile)
        let values = try insertion(
            of: NewSession(
                authentication: facts, device: device ?? parent.device, presentation: presentation, handle: handle,
                idleExpiry: now + policy.idle, expiry: parent.expiresAt, revalidateAt: parent.revalidateAt,
                parent: parent.id), id: random.identifier())
        let idleExpiry = now + policy.idle
        let cap = policy.perPerson
        let made = try await database.write { sql -> (row: SQLRow, ended: [SessionEnding])? in
            // The row stays locked until the child is stored: an end at the same time finds the child or stops it.
            let alive = try sql.execute(
                """
                UPDATE sessions SET last_seen_at = $1, idle_expires_at = $2
                WHERE id = $3 AND handle IS NOT NULL AND idle_expires_at > $1 AND expires_at > $1
                """, [SQLValue(now), SQLValue(idleExpiry), .text(parent.id)])
            guard alive == 1 else { return nil }  // guard: session-dead-parent
            let row = try sql.query(Self.insertion, values)[0]
            return (row, try Self.removeSurplus(beside: row, cap: cap, now: now, sql))
        }
        guard let made else { return nil }
        events.publish(made.ended)
        return (try session(made.row), handle)
    }

    /// Follows the refresh token `old` by `new`, once; a token that was followed before ends the session.
    ///
    /// All of it is one transaction: of racing callers, in one process or several, one gets the new token. When the
    /// connection breaks while it is being stored, the row says what became of it.
    ///
    /// - Throws: `session.refresh_unknown` when the row cannot be read either.
    package func rotate(
        _ id: String, from old: String, to new: String, retryWindow: Duration
    ) async throws -> SessionRotation {
        do {
            return try await rotateOnce(id, from: old, to: new, retryWindow: retryWindow)
        } catch let error as NacreError where error.code == "database.commit_unknown" {
            do {
                // To judge the same use a second time would take it for a theft.
                // guard: refresh-stored
                if let stored = try await find(id: id, handle: new) { return .rotated(stored) }
                return try await rotateOnce(id, from: old, to: new, retryWindow: retryWindow)
            } catch {
                throw NacreError(
                    "session.refresh_unknown",
                    "The connection to the database broke, and nobody can tell whether this refresh token was used up.",
                    cause: error)
            }
        }
    }

    /// The unexpired pair of this identifier if its refresh token is the one of `handle`.
    private func find(id: String, handle: String) async throws -> Session? {
        guard let session = try await find(handle: handle, as: .pair), session.id == id else { return nil }
        return session
    }

    private func rotateOnce(
        _ id: String, from old: String, to new: String, retryWindow: Duration
    ) async throws -> SessionRotation {
        let (now, hash) = (time.now, SHA256.hash(old))
        let arguments: [SQLValue] = [
            Self.hash(new), .blob(hash), SQLValue(now), SQLValue(now + policy.idle), .text(id),
        ]
        enum Found: Sendable {
            case row(SQLRow, isRepeated: Bool)
            case ended([SessionEnding])
        }
        let found = try await database.write { sql -> Found in
            let row = try sql.first(
                """
                UPDATE sessions SET handle = $1, previous_handle = $2, rotated_at = $3, last_seen_at = $3,
                    idle_expires_at = $4
                WHERE id = $5 AND handle = $2 AND presentation = 'pair' AND idle_expires_at > $3 AND expires_at > $3
                RETURNING *
                """, arguments)
            if let row { return .row(row, isRepeated: false) }
            let current = try sql.first(
                """
                SELECT * FROM sessions WHERE id = $1 AND presentation = 'pair' AND idle_expires_at > $2
                    AND expires_at > $2
                """, [.text(id), SQLValue(now)])
            guard let current else { return .ended([]) }
            if let previous = current["previous_handle"].blob, let at = current["rotated_at"].moment,
                retryWindow > .zero, now - at <= retryWindow, constantTimeEqual(previous, hash)
            {
                return .row(current, isRepeated: true)
            }
            // guard: refresh-reuse
            return .ended(try Self.remove("id = $1", [.text(id)], reason: "refresh_reused", now: now, sql))
        }
        switch found {
        case .row(let row, let isRepeated): return isRepeated ? .repeated(try session(row)) : .rotated(try session(row))
        case .ended(let endings):
            events.publish(endings)
            return endings.isEmpty ? .absent : .reused
        }
    }
}
