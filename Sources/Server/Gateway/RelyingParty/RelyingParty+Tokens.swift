// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreJOSE

extension RelyingParty {
    /// What the token endpoint gave.
    struct Tokens: Sendable {
        let accessToken: String
        let refreshToken: String?
        let idToken: String?
    }

    /// Asks the token endpoint.
    ///
    /// - Throws: `oidc.refused.<error>` for an OAuth error (RFC 6749 section 5.2), `oidc.token_answer` for an answer that
    ///   is none, and what `ProviderClient` throws.
    nonisolated func tokens(_ parameters: FormFields, _ metadata: ProviderMetadata) async throws -> Tokens {
        var form = parameters
        var fields: HTTPFields = [
            "Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded",
        ]
        if let secret = configuration.clientSecret {
            switch method(metadata) {
            case .post:
                form.append("client_id", configuration.clientID)
                form.append("client_secret", secret)
            default:
                // RFC 6749 section 2.3.1: both halves are form-encoded before they are joined.
                let pair = PercentEncoding.encode(configuration.clientID) + ":" + PercentEncoding.encode(secret)
                fields["Authorization"] = "Basic " + Base64.encode(Array(pair.utf8))
            }
        } else {
            form.append("client_id", configuration.clientID)
        }
        let endpoint = metadata.tokenEndpoint
        let answer = try await client.send(HTTPRequest(.post, endpoint, fields: fields, body: .text(form.encoded)))
        let value = try answer.object(from: endpoint)
        if let error = value["error"]?.string {
            let code = String(error.filter { $0.isLetter || $0 == "_" }.prefix(40))
            throw NacreError(
                .init(rawValue: "oidc.refused.\(code)"), "The identity provider refused with \(code); sign in again.")
        }
        guard answer.status == .ok, let accessToken = value["access_token"]?.string,
            value["token_type"]?.string?.lowercased() == "bearer"
        else {
            throw NacreError(
                "oidc.token_answer", "The identity provider's token answer (\(answer.status.rawValue)) has no tokens.")
        }
        return Tokens(
            accessToken: accessToken, refreshToken: value["refresh_token"]?.string, idToken: value["id_token"]?.string)
    }

    private nonisolated func method(_ metadata: ProviderMetadata) -> OIDCConfiguration.ClientAuthentication {
        guard configuration.clientAuthentication == .discovered else { return configuration.clientAuthentication }
        guard let methods = metadata.authenticationMethods, !methods.contains("client_secret_basic") else {
            return .basic
        }
        return methods.contains("client_secret_post") ? .post : .basic
    }

    /// The claims about the person: the ID token's, with those of userinfo over them.
    nonisolated func profile(
        _ claims: JWTClaims, _ accessToken: String, _ metadata: ProviderMetadata
    ) async throws -> JSONValue {
        var members = claims.members
        if let endpoint = metadata.userInfoEndpoint {
            let fields: HTTPFields = [
                "Accept": "application/json, application/jwt", "Authorization": "Bearer \(accessToken)",
            ]
            let answer = try await client.send(HTTPRequest(.get, endpoint, fields: fields))
            guard answer.status == .ok else {
                throw NacreError(
                    "oidc.userinfo", "The identity provider answered \(answer.status.rawValue) instead of the profile.")
            }
            let value = try await userInfo(answer, endpoint, metadata)
            // Core section 5.3.2: without this, one person's tokens could be joined with another's profile.
            // guard: userinfo-subject
            guard let subject = value["sub"]?.string, areIdentical(subject, claims.subject) else {
                throw NacreError("oidc.userinfo_subject", "The identity provider sent the profile of somebody else.")
            }
            members.merge(value.object ?? [:]) { _, new in new }
        }
        return Profile.reduced(members)
    }

    private nonisolated func userInfo(
        _ answer: ProviderClient.Answer, _ endpoint: WebURL, _ metadata: ProviderMetadata
    ) async throws -> JSONValue {
        guard answer.type == "application/jwt" else { return try answer.object(from: endpoint) }
        let jws = try JWS(parsing: String(decoding: answer.body, as: UTF8.self))
        try checkAlgorithm(jws.header)
        let key = try await verifier(metadata).verificationKey(for: jws.header)
        let claims = try JWTClaims(parsing: jws.verifiedPayload(with: key))
        let isFromThem = claims.issuer == nil || areIdentical(claims.issuer, configuration.issuer)
        let isForUs = claims.audience.isEmpty || claims.audience.contains { areIdentical($0, configuration.clientID) }
        guard isFromThem, isForUs else {  // guard: userinfo-audience
            throw NacreError("oidc.userinfo", "The identity provider sent a profile for another client.")
        }
        return .object(claims.members)
    }
}

/// The claims that are kept with a session.
enum Profile {
    private static let protocolClaims: Set<String> = [
        "iss", "aud", "exp", "iat", "nbf", "nonce", "at_hash", "c_hash", "s_hash", "azp", "auth_time", "acr", "amr",
        "sid", "jti", "sub",
    ]
    private static let wellKnown: Set<String> = [
        "email", "email_verified", "name", "given_name", "family_name", "usual_name", "preferred_username", "locale",
    ]
    private static let maximumSize = 8 * 1024

    /// Without what belongs to the protocol; only the well-known ones when all together are too large.
    static func reduced(_ members: [String: JSONValue]) -> JSONValue {
        let kept = members.filter { !protocolClaims.contains($0.key) }
        let all = JSONValue.object(kept)
        guard all.bytes.count > maximumSize else { return all }
        return .object(kept.filter { wellKnown.contains($0.key) && ($0.value.string?.utf8.count ?? 0) <= 512 })
    }
}
