// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase

/// What a person allowed one client in one sign-in: the family that codes and tokens belong to.
struct ProviderGrant: Sendable {
    var name: String
    var clientID: String
    var subject: String
    var sid: String
    var scope: String
    var nonce: String?
    var level: String
    var methods: [String]
    var authenticatedAt: Instant

    init(
        name: String, clientID: String, session: SSOSession, scope: String, nonce: String?
    ) {
        self.name = name
        self.clientID = clientID
        subject = session.subject
        sid = session.sid
        self.scope = scope
        self.nonce = nonce
        level = session.level
        methods = session.methods
        authenticatedAt = session.authenticatedAt
    }

    init(_ row: SQLRow) throws(NacreError) {
        name = try row.text("name")
        clientID = try row.text("client_id")
        subject = try row.text("subject")
        sid = try row.text("sid")
        scope = try row.text("scope")
        nonce = row["nonce"].text
        level = try row.text("level")
        methods = try row.text("methods").split(separator: " ").map(String.init)
        authenticatedAt = try row.moment("authenticated_at")
    }
}

/// New tokens, made before the transaction and stored as hashes in it.
struct NewTokens: Sendable {
    let accessToken: String
    let accessExpires: Instant
    let refreshToken: String
    let refreshExpires: Instant
}

/// How presenting a code or refresh token ended.
enum Redemption: Sendable {
    case granted(ProviderGrant)
    /// Unknown, expired, or not for this client, address or verifier.
    case refused
    /// Used before: the whole family is revoked now.
    case replayed
}

extension ProviderStore {
    func addCode(
        _ code: String, for grant: ProviderGrant, redirectURI: String, challenge: String?, expires: Instant,
        now: Instant
    ) async throws {
        try await database.write { sql in
            // In the same transaction: a sign-out that ends the session meanwhile must find the grant, or prevent it.
            let isLive = try sql.first(
                "SELECT id FROM provider_session WHERE sid = $1 AND subject = $2",
                [.text(grant.sid), .text(grant.subject)])
            guard isLive != nil else {  // guard: provider-code-live
                throw NacreError("provider.session_ended", "This sign-in has ended meanwhile; sign in again.")
            }
            try sql.execute(
                """
                INSERT INTO provider_grant (name, client_id, subject, sid, scope, nonce, level, methods,
                    authenticated_at, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
                """,
                [
                    .text(grant.name), .text(grant.clientID), .text(grant.subject), .text(grant.sid),
                    .text(grant.scope), SQLValue(grant.nonce), .text(grant.level),
                    .text(grant.methods.joined(separator: " ")), SQLValue(grant.authenticatedAt), SQLValue(now),
                ])
            try sql.execute(
                """
                INSERT INTO provider_code (code_hash, grant_name, redirect_uri, challenge, expires_at)
                VALUES ($1, $2, $3, $4, $5)
                """,
                [Self.hash(code), .text(grant.name), .text(redirectURI), SQLValue(challenge), SQLValue(expires)])
        }
    }

    /// Consumes a code before anything about it is checked; of several presentations at most one can win, and every
    /// later one revokes what the first got (RFC 6749 section 4.1.2).
    ///
    /// `isRight` gets the client, redirect address and challenge that the code was issued for.
    func redeem(
        code: String, tokens: NewTokens, now: Instant,
        isRight: @escaping @Sendable (ProviderGrant, _ redirectURI: String, _ challenge: String?) -> Bool
    ) async throws -> Redemption {
        try await database.write { sql in
            let rows = try sql.query(
                """
                UPDATE provider_code SET consumed_at = $1 WHERE code_hash = $2 AND consumed_at IS NULL
                RETURNING grant_name, redirect_uri, challenge, expires_at
                """, [SQLValue(now), Self.hash(code)])
            guard let row = rows.first else {
                let spent = try sql.first(
                    "SELECT grant_name FROM provider_code WHERE code_hash = $1", [Self.hash(code)])
                guard let spent else { return .refused }
                try Self.revoke(try spent.text("grant_name"), sql, now)  // guard: provider-code-replay
                return .replayed
            }
            guard let grant = try Self.liveGrant(try row.text("grant_name"), sql),
                try row.moment("expires_at") > now,
                isRight(grant, try row.text("redirect_uri"), row["challenge"].text)
            else { return .refused }
            try Self.add(tokens, to: grant, sql)
            return .granted(grant)
        }
    }

    /// Rotates a refresh token; one that was rotated before betrays a thief, and the family ends (RFC 9700 section 4.14).
    func refresh(
        token: String, clientID: String, tokens: NewTokens, now: Instant
    ) async throws -> Redemption {
        try await database.write { sql in
            let found = try sql.first(
                "SELECT grant_name, expires_at FROM provider_token WHERE token_hash = $1 AND kind = 'refresh'",
                [Self.hash(token)])
            guard let found, let grant = try Self.liveGrant(try found.text("grant_name"), sql),
                grant.clientID == clientID, try found.moment("expires_at") > now
            else { return .refused }
            // Judged by the change itself: of two processes that read it unused, one changes it.
            let taken = try sql.execute(
                "UPDATE provider_token SET consumed_at = $1 WHERE token_hash = $2 AND consumed_at IS NULL",
                [SQLValue(now), Self.hash(token)])
            guard taken == 1 else {  // guard: provider-refresh-reuse
                try Self.revoke(grant.name, sql, now)
                return .replayed
            }
            try Self.add(tokens, to: grant, sql)
            return .granted(grant)
        }
    }

    /// What an access token stands for.
    func grant(accessToken: String, now: Instant) async throws -> ProviderGrant? {
        try await database.read { sql in
            let row = try sql.first(
                """
                SELECT grant_name FROM provider_token WHERE token_hash = $1 AND kind = 'access' AND expires_at > $2
                """, [Self.hash(accessToken), SQLValue(now)])
            guard let row else { return nil }
            return try Self.liveGrant(try row.text("grant_name"), sql)
        }
    }

    private static func liveGrant(_ name: String, _ sql: any SQLConnection) throws(NacreError) -> ProviderGrant? {
        let row = try sql.first(
            "SELECT * FROM provider_grant WHERE name = $1 AND revoked_at IS NULL", [.text(name)])
        guard let row else { return nil }
        return try ProviderGrant(row)
    }

    private static func revoke(_ name: String, _ sql: any SQLConnection, _ now: Instant) throws(NacreError) {
        try sql.execute(
            "UPDATE provider_grant SET revoked_at = $1 WHERE name = $2 AND revoked_at IS NULL",
            [SQLValue(now), .text(name)])
    }

    private static func add(
        _ tokens: NewTokens, to grant: ProviderGrant, _ sql: any SQLConnection
    ) throws(NacreError) {
        for (token, kind, expires) in [
            (tokens.accessToken, "access", tokens.accessExpires),
            (tokens.refreshToken, "refresh", tokens.refreshExpires),
        ] {
            try sql.execute(
                "INSERT INTO provider_token (token_hash, kind, grant_name, expires_at) VALUES ($1, $2, $3, $4)",
                [hash(token), .text(kind), .text(grant.name), SQLValue(expires)])
        }
    }
}
