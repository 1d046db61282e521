// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreJOSE

/// What a verified logout token ends.
struct LogoutOrder: Sendable {
    let subject: String?
    let providerSession: String?
    let tokenID: String
    let expiry: Instant
}

extension RelyingParty {
    private static var event: String { "http://schemas.openid.net/event/backchannel-logout" }

    /// Verifies a logout token (OpenID Connect Back-Channel Logout section 2.6).
    ///
    /// - Throws: `logout_token.*`, `jose.*`, `jwt.malformed`, and what fetching the keys throws.
    nonisolated func logoutOrder(_ token: String, now: Instant) async throws -> LogoutOrder {
        func refuse(_ reason: NacreError.Code, _ message: String) -> NacreError { NacreError(reason, message) }
        let jws = try JWS(parsing: token)
        let type = jws.header.type?.lowercased()
        let isUntyped = configuration.acceptsUntypedLogoutTokens && (type == nil || type == "jwt")
        guard isUntyped || type == "logout+jwt" || type == "application/logout+jwt" else {  // guard: logout-type
            throw refuse(
                "logout_token.type",
                "The token does not say that it is a logout token (typ logout+jwt); for a provider that never does, set "
                    + "oidc.untypedLogoutTokens.")
        }
        try checkAlgorithm(jws.header)  // guard: logout-algorithm
        let key = try await verifier(metadata()).verificationKey(for: jws.header)
        let claims = try JWTClaims(parsing: jws.verifiedPayload(with: key))
        guard areIdentical(claims.issuer, configuration.issuer) else {  // guard: logout-issuer
            throw refuse("logout_token.issuer", "The logout token comes from another issuer.")
        }
        let isForUs = claims.audience.contains { areIdentical($0, configuration.clientID) }  // guard: logout-audience
        guard isForUs else {
            throw refuse("logout_token.audience", "The logout token is for another client.")
        }
        guard let issued = claims.issuedAt, issued <= now + IDTokenVerifier.clockSkew,
            let expiry = claims.expiry ?? Optional(issued + .seconds(300)), now < expiry + IDTokenVerifier.clockSkew
        else {  // guard: logout-times
            throw refuse("logout_token.expired", "The logout token is out of date.")
        }
        guard claims.members["events"]?[Self.event]?.object != nil else {  // guard: logout-event
            throw refuse("logout_token.event", "The logout token does not name the event.")
        }
        // An ID token has a nonce; it must never pass as a logout token.
        guard claims.members["nonce"] == nil else {  // guard: logout-nonce
            throw refuse("logout_token.nonce", "The logout token has a nonce.")
        }
        guard let tokenID = claims.tokenID, claims.subject != nil || claims.sessionID != nil else {
            throw refuse("logout_token.claims", "The logout token names neither a person nor a session.")
        }
        return LogoutOrder(
            subject: claims.subject, providerSession: claims.sessionID, tokenID: tokenID,
            expiry: expiry + IDTokenVerifier.clockSkew)
    }
}
