// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
import NacreCrypto
public import NacreJOSE

/// Takes the gateway's word: a short-lived token, signed with ES256, about the person behind one request.
public struct GatewayIdentityVerifier: IdentityVerifier {
    /// How far the gateway's clock may differ from ours.
    public static let clockSkew: Duration = .seconds(30)

    private let key: @Sendable (JWSHeader) async throws -> PublicKey
    private let issuer: String
    private let audience: String
    private let time: any TimeSource

    /// A verifier with the keys that the gateway publishes.
    ///
    /// `issuer` and `audience` are compared with the claims `iss` and `aud` character for character.
    public init(keys: JWKSCache, issuer: String, audience: String, time: any TimeSource = SystemTime()) {
        self.init(issuer: issuer, audience: audience, time: time) { try await keys.key(for: $0) }
    }

    /// A verifier with keys from a configuration, for a backend that may not ask the gateway.
    public init(keySet: JSONWebKeySet, issuer: String, audience: String, time: any TimeSource = SystemTime()) {
        self.init(issuer: issuer, audience: audience, time: time) { header in
            guard let key = try keySet.key(for: header) else {
                throw NacreError("jose.unknown_key", "The token is signed by a key that is not configured.")
            }
            return key
        }
    }

    private init(
        issuer: String, audience: String, time: any TimeSource,
        key: @escaping @Sendable (JWSHeader) async throws -> PublicKey
    ) {
        self.issuer = issuer
        self.audience = audience
        self.time = time
        self.key = key
    }

    /// The person that the token names.
    ///
    /// - Throws: `identity.token` for form, key and signature, `identity.claims` for what it says, and what fetching the
    ///   keys throws (`jwks.*`, `transport.*`), which says nothing about the token.
    public func identity(of token: String) async throws -> Identity {
        let claims: JWTClaims
        do {
            let jws = try JWS(parsing: token)
            // Before any key is fetched, so that nonsense causes no traffic.
            guard jws.header.algorithm == "ES256" else {  // guard: identity-algorithm
                throw NacreError("jose.algorithm", "The gateway signs with ES256 only.")
            }
            let key = try await key(jws.header)
            claims = try JWTClaims(parsing: jws.verifiedPayload(with: .publicKey(key)))
        } catch let error as NacreError where error.isAboutToken {
            throw NacreError("identity.token", "The identity token is not the gateway's.", cause: error)
        }
        return try check(claims)
    }

    private func check(_ claims: JWTClaims) throws(NacreError) -> Identity {
        let now = time.now
        func refuse(_ reason: String) -> NacreError { NacreError("identity.claims", "The identity token \(reason).") }
        guard claims.issuer == issuer else {  // guard: identity-issuer
            throw refuse("comes from another gateway")
        }
        guard claims.audience.contains(audience) else {  // guard: identity-audience
            throw refuse("is for another backend")
        }
        guard let expiry = claims.expiry, now < expiry + Self.clockSkew else {  // guard: identity-expiry
            throw refuse("has expired")
        }
        let begin = max(claims.notBefore ?? now, claims.issuedAt ?? now)
        guard begin <= now + Self.clockSkew else {  // guard: identity-future
            throw refuse("comes from the future")
        }
        guard let subject = claims.subject, !subject.isEmpty else { throw refuse("names nobody") }
        // A subject is a person only at their own provider: the same text at another one is somebody else.
        let provider = claims.members["idp"] ?? .string(issuer)
        guard let provider = provider.string, !provider.isEmpty else { throw refuse("names no provider") }
        return Identity(
            issuer: provider,  // guard: identity-provider
            subject: subject, email: claims.members["email"]?.string ?? "", name: claims.members["name"]?.string ?? "")
    }
}

extension NacreError {
    /// Whether the token itself was refused, as opposed to the keys being out of reach.
    fileprivate var isAboutToken: Bool { code.rawValue.hasPrefix("jose.") || code.rawValue.hasPrefix("jwt.") }
}
