// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
import NacreCrypto

/// What a relying party expects of one ID token.
public struct IDTokenExpectation: Sendable {
    /// How the token's `nonce` is judged.
    public enum Nonce: Sendable {
        /// It must be there and equal: the answer to an authorization request.
        case required(String)
        /// When it is there it must be equal: a refresh (OpenID Connect Core section 12.2).
        case ifPresent(String)
        /// Not looked at: an `id_token_hint`.
        case unchecked
    }

    /// The issuer, character for character.
    public var issuer: String
    /// Our client identifier.
    public var clientID: String
    /// The nonce of the request.
    public var nonce: Nonce
    /// Levels of which one must have been reached; empty when none was essential.
    public var essentialContexts: [String] = []
    /// How long ago the person may have signed in, where the request set `max_age`.
    public var maximumAge: Duration?
    /// The access token that came along, for `at_hash`.
    public var accessToken: String?
    /// The subject that an earlier token had, for a refresh.
    public var subject: String?

    /// An expectation of these parts.
    public init(issuer: String, clientID: String, nonce: Nonce) {
        self.issuer = issuer
        self.clientID = clientID
        self.nonce = nonce
    }
}

/// Verifies ID tokens (HO-3; OpenID Connect Core section 3.1.3.7).
public struct IDTokenVerifier: Sendable {
    /// How far two clocks may differ.
    public static let clockSkew: Duration = .seconds(60)

    private let keys: JWKSCache
    private let time: any TimeSource
    private let sharedSecret: [UInt8]?

    /// A verifier with the issuer's keys. `sharedSecret` allows HS256 beside them and must be configured on purpose.
    public init(keys: JWKSCache, time: any TimeSource, sharedSecret: [UInt8]? = nil) {
        self.keys = keys
        self.time = time
        self.sharedSecret = sharedSecret
    }

    /// The claims of `token`, after every check.
    ///
    /// - Throws: `jose.*` and `jwt.malformed` for form, key and signature, `id_token.*` for a claim, and what fetching
    ///   the keys throws (`jwks.*`, `transport.*`).
    public func verify(_ token: String, expecting expectation: IDTokenExpectation) async throws -> JWTClaims {
        let jws = try JWS(parsing: token)
        let payload = try jws.verifiedPayload(with: try await verificationKey(for: jws.header))
        let claims = try JWTClaims(parsing: payload)
        try Self.check(claims, algorithm: jws.header.algorithm, expectation, now: time.now)
        return claims
    }

    /// What a token with this header is verified with, also one that is no ID token.
    ///
    /// - Throws: `jose.algorithm` before anything is fetched, and what `JWKSCache` throws.
    package func verificationKey(for header: JWSHeader) async throws -> JWSVerificationKey {
        if let sharedSecret, header.algorithm == "HS256" { return .sharedSecret(sharedSecret) }
        // Before any key is fetched: a header that names no usable algorithm must not cause traffic.
        let isKnown = SignatureAlgorithm(rawValue: header.algorithm) != nil  // guard: id-token-symmetric
        guard isKnown else { throw JWS.wrongAlgorithm }
        return .publicKey(try await keys.key(for: header))
    }

    static func check(
        _ claims: JWTClaims, algorithm: String, _ expectation: IDTokenExpectation, now: Instant
    ) throws(NacreError) {
        func refuse(_ code: NacreError.Code, _ message: String) -> NacreError { NacreError(code, message) }
        guard areIdentical(claims.issuer, expectation.issuer) else {  // guard: id-token-issuer
            throw refuse("id_token.issuer", "The ID token comes from another issuer.")
        }
        guard let subject = claims.subject, !subject.isEmpty, subject.utf8.count <= 255 else {
            throw refuse("id_token.subject", "The ID token names nobody.")
        }
        let isSamePerson = expectation.subject.map { areIdentical($0, subject) } ?? true  // guard: id-token-subject
        guard isSamePerson else {
            throw refuse("id_token.subject", "The ID token is about somebody else than before.")
        }
        let isForUs = claims.audience.contains { areIdentical($0, expectation.clientID) }  // guard: id-token-audience
        guard isForUs else {
            throw refuse("id_token.audience", "The ID token is for another client.")
        }
        let party = claims.authorizedParty
        let isOurs = areIdentical(party, expectation.clientID) || (party == nil && claims.audience.count == 1)
        guard isOurs else {  // guard: id-token-azp
            throw refuse("id_token.authorized_party", "The ID token was issued to another client.")
        }
        try checkTimes(claims, expectation, now: now)
        switch expectation.nonce {
        case .unchecked: break
        case .ifPresent where claims.nonce == nil: break
        case .required(let nonce), .ifPresent(let nonce):
            let isSame = constantTimeEqual(Array((claims.nonce ?? "").utf8), Array(nonce.utf8))
            guard isSame, !nonce.isEmpty else {  // guard: id-token-nonce
                throw refuse("id_token.nonce", "The ID token answers another request.")
            }
        }
        if let hash = claims.accessTokenHash, let token = expectation.accessToken {
            guard hash == accessTokenHash(token, algorithm: algorithm) else {  // guard: id-token-at-hash
                throw refuse("id_token.at_hash", "The ID token belongs to another access token.")
            }
        }
        let contexts = expectation.essentialContexts
        guard contexts.isEmpty || contexts.contains(claims.authenticationContext ?? "") else {  // guard: id-token-acr
            throw refuse("id_token.acr", "The identity provider did not reach the level of sign-in that is required.")
        }
    }

    private static func checkTimes(
        _ claims: JWTClaims, _ expectation: IDTokenExpectation, now: Instant
    ) throws(NacreError) {
        guard let expiry = claims.expiry, let issued = claims.issuedAt else {
            throw NacreError("id_token.times", "The ID token does not say when it was issued and when it ends.")
        }
        guard now < expiry + clockSkew else {  // guard: id-token-expiry
            throw NacreError("id_token.expired", "The ID token has expired; check the clocks of both machines.")
        }
        let latest = now + clockSkew
        guard issued <= latest, (claims.notBefore ?? issued) <= latest else {  // guard: id-token-future
            throw NacreError(
                "id_token.not_yet_valid", "The ID token comes from the future; check the clocks of both machines.")
        }
        if let limit = expectation.maximumAge {
            let earliest = now - limit - clockSkew
            guard let signedIn = claims.authenticationTime, signedIn >= earliest else {  // guard: id-token-max-age
                throw NacreError("id_token.auth_time", "The person signed in longer ago than was asked for.")
            }
        }
    }

    /// The `at_hash` of an access token: the left half of its digest by the token's own hash function.
    package static func accessTokenHash(_ token: String, algorithm: String) -> String {
        let digest =
            algorithm == SignatureAlgorithm.edDSA.rawValue
            ? SHA512.hash(Array(token.utf8)) : SHA256.hash(Array(token.utf8))
        return Base64URL.encode(digest.prefix(digest.count / 2))
    }
}
