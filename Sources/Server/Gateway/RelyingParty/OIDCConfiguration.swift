// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// How the gateway is known to the identity provider.
package struct OIDCConfiguration: Sendable {
    /// How the client proves itself at the token endpoint.
    package enum ClientAuthentication: String, Sendable, CaseIterable {
        /// `client_secret_basic`.
        case basic
        /// `client_secret_post`.
        case post
        /// What discovery names, `basic` first.
        case discovered
    }

    /// The issuer, character for character as the provider writes it.
    package var issuer: String
    /// Our client identifier.
    package var clientID: String
    /// Our secret; nil makes a public client, which is protected by PKCE alone.
    package var clientSecret: String?
    /// How the secret is sent.
    package var clientAuthentication: ClientAuthentication = .discovered
    /// What is asked for; `openid` is always part of it.
    package var scopes: [String] = ["openid", "email", "profile"]
    /// Further parameters of the authorization request, such as `acr_values`.
    package var extraParameters: [String: String] = [:]
    /// Levels of which one must be reached; empty when none is essential.
    package var essentialContexts: [String] = []
    /// The one algorithm of ID tokens; nil takes what the published keys are made for. `HS256` (with the client secret) is
    /// accepted only when it stands here.
    package var signatureAlgorithm: String?
    /// Whether logout tokens without the type `logout+jwt` are taken. Older providers send none; event and missing nonce
    /// still tell a logout token from an ID token.
    package var acceptsUntypedLogoutTokens = false
    /// How long one answer of the provider may take.
    package var timeLimit: Duration = .seconds(10)

    package init(issuer: String, clientID: String, clientSecret: String?) {
        self.issuer = issuer
        self.clientID = clientID
        self.clientSecret = clientSecret
    }

    /// Parameters that the gateway alone sets.
    package static let reservedParameters: Set<String> = [
        "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
        "code_challenge_method", "request", "request_uri", "response_mode", "claims",
    ]
}
