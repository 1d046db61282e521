// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreJOSE
import NacreRouting

/// `POST /token`: codes and refresh tokens against new tokens (RFC 6749 section 5, OpenID Connect Core section 3.1.3).
struct TokenEndpoint: Sendable {
    let core: ProviderCore

    func post(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        guard let form = try await core.form(of: request) else {
            return refuse("invalid_request", "Send a form.")
        }
        let names = form.pairs.map(\.name)
        guard Set(names).count == names.count else { return refuse("invalid_request", "A parameter stands twice.") }
        guard let client = authenticate(request, form) else {
            core.log.notice("token.client_refused")
            var response = refuse(
                "invalid_client", "The client is not known or its secret is not right.", .unauthorized)
            response.fields["WWW-Authenticate"] = "Basic realm=\"token\""
            return response
        }
        let now = core.time.now
        let lifetimes = core.configuration.lifetimes
        let tokens = NewTokens(
            accessToken: core.random.token(), accessExpires: now + lifetimes.accessToken,
            refreshToken: core.random.token(), refreshExpires: now + lifetimes.refreshToken)
        let redemption: Redemption
        switch form["grant_type"] {
        case "authorization_code":
            redemption = try await redeem(form, client, tokens, now)
            if case .replayed = redemption { core.log.warning("code.replayed", ["client": .string(client.id)]) }
        case "refresh_token":
            redemption = try await core.store.refresh(
                token: form["refresh_token"] ?? "", clientID: client.id, tokens: tokens, now: now)
            if case .replayed = redemption { core.log.warning("refresh.reused", ["client": .string(client.id)]) }
        case nil: return refuse("invalid_request", "There is no grant_type.")
        default: return refuse("unsupported_grant_type", "The grant_type is not supported.")
        }
        guard case .granted(let grant) = redemption, try await core.store.account(subject: grant.subject) != nil else {
            return refuse("invalid_grant", "The code or token is not valid any more; sign in again.")
        }
        return try await answer(grant, client, tokens, now)
    }

    /// The client, proved by exactly one method; a public one by its name alone.
    private func authenticate(_ request: HTTPRequest, _ form: FormFields) -> ProviderClient? {
        if let header = request.fields["Authorization"] {
            let parts = header.parts(at: " ")
            guard parts.count == 2, equalNames(parts[0], "basic"), form["client_secret"] == nil,
                let bytes = Base64.decode(parts[1]), let text = String(validating: bytes, as: UTF8.self),
                case let halves = text.parts(at: ":", most: 2, keepingEmpty: true), halves.count == 2,
                let id = PercentEncoding.decode(halves[0], plusIsSpace: true),
                let secret = PercentEncoding.decode(halves[1], plusIsSpace: true),
                form["client_id"] ?? id == id
            else { return nil }
            return core.configuration.client(id).flatMap { isRight(secret, for: $0) ? $0 : nil }
        }
        guard let client = form["client_id"].flatMap({ core.configuration.client($0) }) else { return nil }
        if client.isPublic { return form["client_secret"] == nil ? client : nil }
        return isRight(form["client_secret"] ?? "", for: client) ? client : nil
    }

    private func isRight(_ secret: String, for client: ProviderClient) -> Bool {
        guard let own = client.secret else { return false }
        return constantTimeEqual(SHA256.hash(secret), SHA256.hash(own))  // guard: provider-client-secret
    }

    private func redeem(
        _ form: FormFields, _ client: ProviderClient, _ tokens: NewTokens, _ now: Instant
    ) async throws -> Redemption {
        let (id, redirect, verifier) = (client.id, form["redirect_uri"], form["code_verifier"])
        return try await core.store.redeem(code: form["code"] ?? "", tokens: tokens, now: now) {
            grant, registered, challenge in
            // guard: provider-code-binding
            guard grant.clientID == id, areIdentical(registered, redirect) else { return false }
            // A verifier without a challenge is refused too: it may be an attacker's downgrade (RFC 9700 section 2.1.1).
            guard let challenge else { return verifier == nil }
            guard let verifier, (43...128).contains(verifier.utf8.count) else { return false }
            let digest = Base64URL.encode(SHA256.hash(verifier))
            return constantTimeEqual(Array(digest.utf8), Array(challenge.utf8))  // guard: provider-pkce-verifier
        }
    }

    private func answer(
        _ grant: ProviderGrant, _ client: ProviderClient, _ tokens: NewTokens, _ now: Instant
    ) async throws -> HTTPResponse {
        let signer = try await core.keys.signer(client.idTokenAlgorithm)
        var claims: [String: JSONValue] = [
            "iss": .string(core.issuer), "sub": .string(grant.subject), "aud": .string(client.id),
            "iat": .integer(now.seconds), "exp": .integer((now + core.configuration.lifetimes.idToken).seconds),
            "auth_time": .integer(grant.authenticatedAt.seconds), "sid": .string(grant.sid),
            "amr": .array(grant.methods.map(JSONValue.string)),
            "at_hash": .string(
                IDTokenVerifier.accessTokenHash(tokens.accessToken, algorithm: client.idTokenAlgorithm.rawValue)),
        ]
        if !grant.level.isEmpty { claims["acr"] = .string(grant.level) }
        if let nonce = grant.nonce { claims["nonce"] = .string(nonce) }
        return .json([
            "access_token": .string(tokens.accessToken), "token_type": "Bearer",
            "expires_in": .integer(core.configuration.lifetimes.accessToken.inMilliseconds / 1000),
            "refresh_token": .string(tokens.refreshToken), "scope": .string(grant.scope),
            "id_token": .string(try JWS.sign(.object(claims), with: signer.key, keyID: signer.id)),
        ])
    }

    private func refuse(_ error: String, _ description: String, _ status: HTTPStatus = .badRequest) -> HTTPResponse {
        .json(["error": .string(error), "error_description": .string(description)], status: status)
    }
}
