// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreCrypto
import NacreJOSE
import NacreKeys

/// Which tokens clients may have, and how long each lives.
package struct TokenPolicy: Sendable {
    /// The presentations beside the cookie that clients may ask for. Default none.
    package var presentations: Set<SessionPresentation> = []
    /// Whether a bearer token is a JWT that ends after `bearerAge`, rather than an opaque text that lives with its session.
    package var bearerIsJWT = false
    /// How long a bearer token that is a JWT lives. Default 12 hours.
    package var bearerAge: Duration = .seconds(12 * 3600)
    /// How long an access token of a pair lives. Default 5 minutes.
    package var accessAge: Duration = .seconds(300)
    /// For so long after a rotation the old refresh token is answered like the first time, for clients whose network lost
    /// the answer. Zero, the default, takes every second use for a theft.
    package var retryWindow: Duration = .zero
    /// Whether a page with a cookie may fetch tokens. Default no.
    package var fromCookie = false
    /// How far the clocks of the processes may differ.
    package var clockSkew: Duration = .seconds(300)

    package init() {}
}

/// Tokens for one session, just made; nothing here can be shown again.
package struct IssuedTokens: Sendable {
    package let session: Session
    /// The access token of a pair, or the bearer token.
    package let access: String
    /// The refresh token of a pair.
    package let refresh: String?
    /// In how many seconds `access` ends.
    package let lifetime: Int64
}

/// Where the session of new tokens comes from.
package enum TokenOrigin: Sendable {
    /// A person who was just recognised.
    case person(Authentication)
    /// A session that waits for its app (the hand-off).
    case waiting(String)
    /// A session with another presentation; the new one ends with it.
    case session(Session)
}

/// Bearer and refresh tokens: two more ways to present a session's one row.
///
/// Access and refresh tokens are ES256 JWTs with `iss`, `aud`, `sub` (the person), `sid` (the session's identifier), `jti`,
/// `iat`, `exp` and `token_type`. A valid signature opens nothing by itself: the row is looked at each time, so an ended
/// session ends its tokens at once.
package struct SessionTokens: Sendable {
    /// Longer tokens are refused unread.
    package static let maximumLength = 4096
    private static let mediaType = "nacre-session+jwt"

    enum Kind: String { case access, refresh, bearer }

    package let policy: TokenPolicy
    private let store: SessionStore
    private let keeper: SessionKeeper
    private let keys: RotatingKeys
    private let issuer: String
    private let log: Log

    /// Tokens that name `issuer`, the public origin of the gateway.
    package init(
        store: SessionStore, keeper: SessionKeeper, policy: TokenPolicy, issuer: String, log: Log = .none
    ) {
        self.log = log
        self.store = store
        self.keeper = keeper
        self.policy = policy
        self.issuer = issuer
        keys = TokenKeys.keys(store, policy, log: log)
    }

    private var now: Instant { store.time.now }

    /// Makes the first key where there is none; call it once at start, after the store's `prepare`.
    package func prepare() async throws { try await keys.prepare() }

    /// Follows the key that signs by a new one, which signs once every process has seen it.
    ///
    /// With `stolen` it signs at once, and what older keys signed is worth nothing any more: everybody with such a token
    /// signs in again.
    package func rotateKeys(stolen: Bool = false) async throws { try await keys.rotate(stolen: stolen) }

    /// Rotates a key that is old enough and removes those whose last token is dead; call it every few minutes.
    package func maintainKeys() async throws { try await keys.maintain() }

    /// Tokens of a new session, or of one that waited.
    ///
    /// - Returns: nil when the session it comes from has ended.
    package func issue(
        _ presentation: SessionPresentation, from origin: TokenOrigin, device: String?
    ) async throws -> IssuedTokens? {
        precondition(presentation != .cookie, "a cookie is no token")
        // Opaque tokens and names of tokens are hashed alike but never stand for each other.
        let isOpaque = presentation == .bearer && !policy.bearerIsJWT
        let name = store.random.token()
        let handle = isOpaque ? name : Self.handle(name)
        // Before anything is stored: without a key there would be a session that nobody can present.
        let signer = isOpaque ? nil : try await keys.signer()
        let session: Session?
        switch origin {
        case .person(let person):
            session = try await store.begin(person, device: device, as: presentation, handle: handle).session
        case .waiting(let id):
            session = try await store.activate(id, device: device, as: presentation, handle: handle)?.session
        case .session(let parent):
            session = try await store.derive(from: parent, device: device, as: presentation, handle: handle)?.session
        }
        guard let session else { return nil }
        guard let signer else {
            let lifetime = (min(session.idleExpiresAt, session.expiresAt) - now).inMilliseconds / 1000
            return IssuedTokens(session: session, access: name, refresh: nil, lifetime: lifetime)
        }
        return try signed(session, name: name, by: signer)
    }

    private func signed(
        _ session: Session, name: String, by signer: RotatingKeys.Entry
    ) throws(NacreError) -> IssuedTokens {
        guard session.presentation == .pair else {
            let (token, lifetime) = try sign(.bearer, session, name: name, age: policy.bearerAge, by: signer)
            return IssuedTokens(session: session, access: token, refresh: nil, lifetime: lifetime)
        }
        let (access, lifetime) = try sign(
            .access, session, name: store.random.token(bits: 128), age: policy.accessAge, by: signer)
        let (refresh, _) = try sign(.refresh, session, name: name, age: store.policy.idle, by: signer)
        return IssuedTokens(session: session, access: access, refresh: refresh, lifetime: lifetime)
    }

    private func sign(
        _ kind: Kind, _ session: Session, name: String, age: Duration, by signer: RotatingKeys.Entry
    ) throws(NacreError) -> (token: String, lifetime: Int64) {
        let issued = now
        let expiry = min(issued + age, session.expiresAt)
        let claims: JSONValue = [
            "iss": .string(issuer), "aud": .string(issuer), "sub": .string(session.userID),
            "sid": .string(session.id), "jti": .string(name), "iat": .integer(issued.seconds),
            "exp": .integer(expiry.seconds), "token_type": .string(kind.rawValue),
        ]
        let token = try JWS.sign(claims, with: signer.key, keyID: signer.id, type: Self.mediaType)
        return (token, max(0, expiry.seconds - issued.seconds))
    }

    static func handle(_ name: String) -> String { "jti:" + name }

    /// What an `Authorization: Bearer` text is worth now.
    package func check(bearer text: String) async throws -> SessionCheck {
        if policy.presentations.contains(.bearer), !policy.bearerIsJWT, !text.utf8.contains(UInt8(ascii: ".")) {
            guard text.utf8.count == 43, Base64URL.decode(text) != nil else { return .absent }
            return try await keeper.check(text, as: .bearer)
        }
        guard let token = try await verified(text) else { return .absent }
        switch token.kind {
        case .access where policy.presentations.contains(.pair):
            return try await keeper.check(id: token.session, as: .pair)
        case .bearer where policy.presentations.contains(.bearer) && policy.bearerIsJWT:
            return try await keeper.check(Self.handle(token.name), as: .bearer)
        default: return .absent
        }
    }

    /// A new pair for a refresh token, once (JW-1); nil when it is worth nothing, or has been used before, which ends the
    /// session with everything derived from it.
    ///
    /// - Throws: `session.refresh_unknown` when nobody can tell whether this use was stored.
    package func refresh(_ text: String) async throws -> IssuedTokens? {
        guard let token = try await verified(text), token.kind == .refresh else { return nil }  // guard: token-kind
        guard case .valid(let session, _) = try await keeper.check(id: token.session, as: .pair) else { return nil }
        // Within the window for lost answers the same answer is needed twice: the next name follows from the last.
        let next =
            policy.retryWindow > .zero
            ? Base64URL.encode(
                HMACSHA256.authenticate(Array("refresh \(token.name)".utf8), key: session.csrfSecret))
            : store.random.token()
        // Before the old token is spent: without a key there would be no new one.
        let signer = try await keys.signer()
        let rotation = try await store.rotate(
            session.id, from: Self.handle(token.name), to: Self.handle(next), retryWindow: policy.retryWindow)
        switch rotation {
        case .rotated(let session), .repeated(let session): return try signed(session, name: next, by: signer)
        case .reused:
            log.warning("session.refresh_reused", ["session": .string(session.id)])
            return nil
        case .absent: return nil
        }
    }

    /// Ends the session of a refresh, access or bearer token; a used-up refresh token serves too. False when the token is
    /// not ours.
    package func revoke(_ text: String) async throws -> Bool {
        if policy.presentations.contains(.bearer), !policy.bearerIsJWT, text.utf8.count == 43 {
            guard let session = try await store.find(handle: text, as: .bearer) else { return false }
            try await store.end(session.id)
            return true
        }
        guard let token = try await verified(text) else { return false }
        try await store.end(token.session)
        return true
    }

    private struct Token {
        let kind: Kind
        let session: String
        let name: String
    }

    /// What a token of ours says, or nil: form, algorithm, key, signature, issuer, audience, times.
    private func verified(_ text: String) async throws -> Token? {
        guard text.utf8.count <= Self.maximumLength else { return nil }
        guard let jws = try? JWS(parsing: text), jws.header.type == Self.mediaType,
            let keyID = jws.header.keyID, let key = try await keys.verifier(keyID),
            let payload = try? jws.verifiedPayload(with: .publicKey(key)), let claims = try? JWTClaims(parsing: payload)
        else { return nil }
        let now = now
        let names = [claims.issuer ?? ""] + claims.audience
        guard names.count == 2, names.allSatisfy({ areIdentical($0, issuer) }),  // guard: token-issuer
            let expiry = claims.expiry, now < expiry + policy.clockSkew,  // guard: token-expiry
            let issued = claims.issuedAt, issued <= now + policy.clockSkew,  // guard: token-future
            let kind = claims.members["token_type"]?.string.flatMap(Kind.init(rawValue:)),
            let session = claims.sessionID, let name = claims.tokenID
        else { return nil }
        return Token(kind: kind, session: session, name: name)
    }
}
