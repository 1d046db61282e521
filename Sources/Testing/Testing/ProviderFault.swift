// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// One way in which `MisbehavingProvider` can be wrong.
public enum ProviderFault: Hashable, Sendable, CaseIterable {
    /// The ID token names another issuer.
    case wrongIssuer
    /// The ID token is for another client.
    case wrongAudience
    /// The ID token is for us and another client, and `azp` names the other.
    case wrongAuthorizedParty
    /// The ID token answers another request.
    case wrongNonce
    /// The ID token has no nonce.
    case missingNonce
    /// The ID token ended two minutes ago.
    case expired
    /// The ID token is issued in two minutes.
    case fromTheFuture
    /// The ID token is unsigned (`alg: none`).
    case algorithmNone
    /// The ID token is signed by HS256 with the public key's PEM text as the secret.
    case symmetricWithPublicKey
    /// The ID token is signed by a key that is not published, under its own `kid`.
    case unknownKey
    /// The ID token's signature is another key's, under the published `kid`.
    case wrongSignature
    /// The ID token belongs to another access token.
    case wrongAccessTokenHash
    /// The ID token reaches no level although one was asked for.
    case missingContext
    /// Nobody answers: the transport fails.
    case down
    /// Only the token endpoint does not answer.
    case tokenEndpointDown
    /// Every answer takes ten minutes.
    case slow
    /// Every JSON answer is an HTML page.
    case html
    /// Every answer is a 500.
    case serverError
    /// The person refuses: the authorization answers `error=access_denied`.
    case accessDenied
    /// The token endpoint answers `invalid_grant`.
    case invalidGrant
    /// The token endpoint answers `invalid_client`.
    case invalidClient
    /// The RFC 9207 parameter `iss` names another issuer.
    case wrongResponseIssuer
    /// The `state` that comes back is another.
    case wrongState
    /// No `state` comes back.
    case missingState
    /// The RFC 9207 parameter `iss` is announced but does not come.
    case missingResponseIssuer
    /// The ID token names no issuer.
    case missingIssuer
    /// The ID token names nobody.
    case missingSubject
    /// The ID token is for nobody.
    case missingAudience
    /// The ID token does not say when it was issued.
    case missingIssuedAt
    /// The ID token does not say when it ends.
    case missingExpiry
    /// The ID token is for us and another client, without `azp`.
    case secondaryAudience
    /// The ID token's `aud` is a list with our name alone: unusual, and right.
    case audienceAsList
    /// The ID token has no `at_hash`: right in the code flow.
    case missingAccessTokenHash
    /// The ID token says nothing about the person but `sub`: right, userinfo says the rest.
    case bareIDToken
    /// Tokens name no key (`kid`).
    case missingKeyID
    /// Tokens are signed by a published key of another algorithm (EdDSA).
    case otherAlgorithm
    /// The keys rotate between the request and each signature.
    case rotatesBeforeSigning
    /// Only the key set does not answer.
    case keysDown
    /// Userinfo tells of another person.
    case userInfoOfAnother
    /// Userinfo is a signed token: unusual, and right.
    case userInfoSigned
    /// The discovery document names another issuer.
    case discoveryOfAnother
    /// The token answer's `token_type` is written `BEARER`: right.
    case loudTokenType
    /// The token answer has no `expires_in`: right.
    case missingLifetime
    /// The sign-out comes back with another `state`.
    case logoutWrongState
    /// The sign-out comes back without `state`.
    case logoutMissingState
}

/// The person that `MisbehavingProvider` signs in.
public struct ProviderPerson: Sendable {
    /// `sub`.
    public var subject: String
    /// `name`.
    public var name: String
    /// `email`.
    public var email: String

    /// A person of these claims.
    public init(
        subject: String = "sub-alice", name: String = "Alice Martin", email: String = "alice@example.test"
    ) {
        self.subject = subject
        self.name = name
        self.email = email
    }
}
