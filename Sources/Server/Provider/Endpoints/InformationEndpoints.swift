// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreJOSE
import NacreRouting

/// What the provider tells about itself and about people: discovery, keys, userinfo.
struct InformationEndpoints: Sendable {
    let core: ProviderCore

    /// OpenID Connect Discovery 1.0.
    func discovery(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        let issuer = core.issuer
        var response = HTTPResponse.json([
            "issuer": .string(issuer),
            "authorization_endpoint": .string(issuer + "/authorize"),
            "token_endpoint": .string(issuer + "/token"),
            "userinfo_endpoint": .string(issuer + "/userinfo"),
            "jwks_uri": .string(issuer + "/jwks"),
            "end_session_endpoint": .string(issuer + "/logout"),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256", "RS256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
            "code_challenge_methods_supported": ["S256"],
            "scopes_supported": ["openid", "profile", "email"],
            "claims_supported": [
                "sub", "iss", "aud", "exp", "iat", "auth_time", "nonce", "acr", "amr", "at_hash", "sid", "name",
                "given_name", "family_name", "preferred_username", "locale", "email", "email_verified",
            ],
            "acr_values_supported": .array(core.configuration.levels.reachable.map { .string($0.name) }),
            "prompt_values_supported": ["none", "login", "select_account"],
            "ui_locales_supported": .array(PageLanguage.allCases.map { .string($0.rawValue) }),
            "authorization_response_iss_parameter_supported": true,
            "backchannel_logout_supported": true,
            "backchannel_logout_session_supported": true,
            "claims_parameter_supported": false,
            "request_parameter_supported": false,
            "request_uri_parameter_supported": false,
        ])
        response.fields["Cache-Control"] = "public, max-age=300"
        response.fields["Access-Control-Allow-Origin"] = "*"
        return response
    }

    /// The public keys. Short-lived in caches, so that a rotation is seen soon.
    func keys(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        var response = HTTPResponse.json(await core.keys.published().json)
        response.fields["Cache-Control"] = "public, max-age=300"
        response.fields["Access-Control-Allow-Origin"] = "*"
        return response
    }

    /// OpenID Connect Core section 5.3. The token comes in the Authorization field only, never in a URL.
    func userInfo(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        let parts = (request.fields["Authorization"] ?? "").parts(at: " ")
        guard parts.count == 2, equalNames(parts[0], "bearer"),
            let grant = try await core.store.grant(accessToken: String(parts[1]), now: core.time.now),
            let account = try await core.store.account(subject: grant.subject)
        else {
            let reason = request.fields["Authorization"] == nil ? "" : " error=\"invalid_token\""
            var response = HTTPResponse.json(["error": "invalid_token"], status: .unauthorized)
            response.fields["WWW-Authenticate"] = "Bearer" + reason
            return response
        }
        var claims: [String: JSONValue] = ["sub": .string(account.subject)]
        let scopes = grant.scope.split(separator: " ")
        if scopes.contains("profile") {
            claims["name"] = .string(account.name)
            claims["given_name"] = .string(account.givenName)
            claims["family_name"] = .string(account.familyName)
            claims["preferred_username"] = .string(account.username)
            claims["locale"] = .string(account.locale)
        }
        if scopes.contains("email") {
            claims["email"] = .string(account.email)
            claims["email_verified"] = true
        }
        return .json(.object(claims))
    }
}
