// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreCrypto
package import NacreHTTP
import NacreJOSE
import NacreSessions

/// The gateway as an OpenID Connect client (HO-3). Holds caches only; every secret of a sign-in is the caller's.
package actor RelyingParty {
    /// One authorization request: where to send the browser, and what to remember until it comes back.
    struct Departure: Sendable {
        let location: String
        let nonce: String
        let verifier: String
    }

    nonisolated let configuration: OIDCConfiguration
    private nonisolated let redirectURI: String
    nonisolated let client: ProviderClient
    private nonisolated let metadataCache: MetadataCache
    private nonisolated let random: any RandomSource
    private var verifiers: [WebURL: IDTokenVerifier] = [:]

    /// A client whose callback is at `redirectURI`.
    package init(
        _ configuration: OIDCConfiguration, redirectURI: String, transport: any HTTPTransport, time: any TimeSource,
        random: any RandomSource
    ) {
        self.configuration = configuration
        self.redirectURI = redirectURI
        self.random = random
        client = ProviderClient(transport: transport, time: time, timeLimit: configuration.timeLimit)
        metadataCache = MetadataCache(issuer: configuration.issuer, client: client)
    }

    nonisolated func metadata() async throws -> ProviderMetadata { try await metadataCache.metadata() }

    /// What verifies this provider's signatures, made once per key set address so that keys stay cached.
    func verifier(_ metadata: ProviderMetadata) -> IDTokenVerifier {
        if let known = verifiers[metadata.keysURL] { return known }
        let keys = JWKSCache(url: metadata.keysURL, transport: client.transport, time: client.time)
        let secret =
            configuration.signatureAlgorithm == "HS256" ? configuration.clientSecret.map { Array($0.utf8) } : nil
        let made = IDTokenVerifier(keys: keys, time: client.time, sharedSecret: secret)
        verifiers[metadata.keysURL] = made
        return made
    }

    /// The claims of an ID token, after every check (HO-3).
    nonisolated func claims(
        _ idToken: String, expecting expectation: IDTokenExpectation, _ metadata: ProviderMetadata
    ) async throws -> JWTClaims {
        try checkAlgorithm(try JWS(parsing: idToken).header)  // guard: configured-algorithm
        return try await verifier(metadata).verify(idToken, expecting: expectation)
    }

    /// Where one algorithm is configured, every token of this provider is signed by it.
    nonisolated func checkAlgorithm(_ header: JWSHeader) throws(NacreError) {
        guard let algorithm = configuration.signatureAlgorithm, header.algorithm != algorithm else { return }
        throw NacreError("jose.algorithm", "The token is not signed by \(algorithm), as OIDC_RP_SIGN_ALGO demands.")
    }

    /// An authorization request under this `state`; `loginHint` tells the provider who is expected, `prompt` what to ask
    /// them whatever session they have there.
    nonisolated func departure(
        state: String, loginHint: String? = nil, prompt: String? = nil
    ) async throws -> Departure {
        let metadata = try await metadata()
        let nonce = random.token()
        let verifier = random.token()
        var query = FormFields(decoding: metadata.authorizationEndpoint.query ?? "") ?? FormFields()
        query.append("response_type", "code")
        query.append("client_id", configuration.clientID)
        query.append("redirect_uri", redirectURI)
        query.append("scope", configuration.scopes.joined(separator: " "))
        query.append("state", state)
        query.append("nonce", nonce)
        if metadata.supportsPKCE {
            query.append("code_challenge", PKCE.challenge(verifier))
            query.append("code_challenge_method", "S256")
        }
        if !configuration.essentialContexts.isEmpty {
            let values = configuration.essentialContexts.map(JSONValue.string)
            let claims: JSONValue = ["id_token": ["acr": ["essential": true, "values": .array(values)]]]
            query.append("claims", claims.text)
        }
        for (name, value) in configuration.extraParameters.sorted(by: { $0.key < $1.key })
        where name != "login_hint" || loginHint == nil {
            if name == "prompt", prompt != nil { continue }
            query.append(name, value)
        }
        if let prompt {
            query.append("prompt", metadata.prompt(prompt, beside: configuration.extraParameters["prompt"]))
        }
        if let loginHint { query.append("login_hint", loginHint) }
        let endpoint = metadata.authorizationEndpoint
        return Departure(
            location: "\(endpoint.origin)\(endpoint.path)?\(query.encoded)", nonce: nonce, verifier: verifier)
    }

    /// Whether the answer's `iss` parameter is this provider's (RFC 9207): a mix-up of providers ends here.
    nonisolated func accepts(responseIssuer: String?) async throws -> Bool {
        guard let responseIssuer else { return try await !metadata().sendsIssuer }  // guard: response-issuer-missing
        return areIdentical(responseIssuer, configuration.issuer)  // guard: response-issuer
    }

    /// The person who signed in, for the `code` of the callback.
    nonisolated func arrival(code: String, nonce: String, verifier: String) async throws -> Authentication {
        let metadata = try await metadata()
        var form: FormFields = [
            "grant_type": "authorization_code", "code": code, "redirect_uri": redirectURI,
        ]
        if metadata.supportsPKCE { form.append("code_verifier", verifier) }
        let tokens = try await self.tokens(form, metadata)
        guard let idToken = tokens.idToken else {
            throw NacreError(
                "oidc.token_answer", "The identity provider sent no ID token; is the scope openid allowed?")
        }
        var expectation = IDTokenExpectation(
            issuer: configuration.issuer, clientID: configuration.clientID, nonce: .required(nonce))
        expectation.essentialContexts = configuration.essentialContexts
        expectation.accessToken = tokens.accessToken
        let claims = try await claims(idToken, expecting: expectation, metadata)
        let profile = try await self.profile(claims, tokens.accessToken, metadata)
        return authentication(
            claims, profile: profile,
            secrets: SessionSecrets(refreshToken: tokens.refreshToken, idToken: idToken))
    }

    nonisolated func authentication(
        _ claims: JWTClaims, profile: JSONValue, secrets: SessionSecrets
    ) -> Authentication {
        Authentication(
            method: OIDCMethod.name, issuer: configuration.issuer, subject: claims.subject ?? "",
            providerSession: claims.sessionID, authenticatedAt: claims.authenticationTime,
            level: claims.authenticationContext, means: claims.authenticationMethods, profile: profile,
            secrets: secrets)
    }

    /// Where the browser ends the provider's session, or nil when the provider has no such address.
    nonisolated func logoutLocation(
        idToken: String?, state: String, returnURI: String
    ) async throws -> String? {
        guard let endpoint = try await metadata().endSessionEndpoint else { return nil }
        var query = FormFields(decoding: endpoint.query ?? "") ?? FormFields()
        if let idToken { query.append("id_token_hint", idToken) }
        // Beside the hint: providers that no longer know the hint's session still know whose return address it is.
        query.append("client_id", configuration.clientID)
        query.append("post_logout_redirect_uri", returnURI)
        query.append("state", state)
        return "\(endpoint.origin)\(endpoint.path)?\(query.encoded)"
    }
}

/// Proof Key for Code Exchange (RFC 7636), S256 only.
enum PKCE {
    static func challenge(_ verifier: String) -> String { Base64URL.encode(SHA256.hash(verifier)) }

    /// Whether `verifier` made `challenge`; constant time.
    static func matches(verifier: String, challenge: String) -> Bool {
        constantTimeEqual(Array(Self.challenge(verifier).utf8), Array(challenge.utf8))
    }
}
