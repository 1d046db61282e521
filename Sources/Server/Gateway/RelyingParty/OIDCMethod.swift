// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreJOSE
package import NacreSessions

/// Sessions that an OpenID provider began: asked again with the refresh token (HO-13).
package struct OIDCMethod: AuthenticationMethod {
    static let name = "oidc"

    private let party: RelyingParty

    package init(_ party: RelyingParty) { self.party = party }

    package var name: String { Self.name }

    package func revalidate(_ session: Session) async -> Revalidation {
        guard areIdentical(session.issuer, party.configuration.issuer) else {
            return .refused(reason: "issuer_changed")
        }
        guard let refreshToken = session.secrets.refreshToken else { return .refused(reason: "no_refresh_token") }
        do {
            return .renewed(try await renewed(session, refreshToken))
        } catch let error as NacreError {
            switch error.code.rawValue {
            case "oidc.refused.invalid_grant": return .refused(reason: "invalid_grant")
            // A bad signature or another person's token is no outage: nothing that follows may be trusted.
            case let code where code.hasPrefix("id_token.") || code.hasPrefix("jose.") || code.hasPrefix("jwt."):
                return .refused(reason: code)
            case "oidc.userinfo_subject": return .refused(reason: error.code.rawValue)
            default: return .unreachable(error)
            }
        } catch {
            return .unreachable(
                NacreError("oidc.unreachable", "The identity provider could not be asked.", cause: error))
        }
    }

    private static func isOutage(_ code: String) -> Bool {
        // A key that the issuer does not show yet is late, not forged; nothing is trusted meanwhile, and nobody signed out.
        code.hasPrefix("jwks.") || code.hasPrefix("transport.") || code.hasPrefix("http.")
            || code == "jose.unknown_key"
    }

    private func renewed(_ session: Session, _ refreshToken: String) async throws -> Authentication {
        let metadata = try await party.metadata()
        let tokens = try await party.tokens(
            ["grant_type": "refresh_token", "refresh_token": refreshToken], metadata)
        // A provider that rotates sends a new one; one that does not lets the old one stand.
        var secrets = SessionSecrets(
            refreshToken: tokens.refreshToken ?? refreshToken, idToken: session.secrets.idToken)
        var result = Authentication(
            method: name, issuer: session.issuer, subject: session.subject, providerSession: session.providerSession,
            authenticatedAt: session.authenticatedAt, level: session.level, means: session.means,
            profile: session.profile, secrets: secrets)
        guard let idToken = tokens.idToken else { return result }
        // The nonce of the first token is not kept: a refreshed one is bound by issuer, audience and subject.
        var expectation = IDTokenExpectation(
            issuer: party.configuration.issuer, clientID: party.configuration.clientID, nonce: .unchecked)
        expectation.subject = session.subject
        expectation.accessToken = tokens.accessToken
        let claims: JWTClaims
        do {
            claims = try await party.claims(idToken, expecting: expectation, metadata)
        } catch let error as NacreError where Self.isOutage(error.code.rawValue) {
            // The old refresh token is spent: the new one must be kept although its companion cannot be checked now.
            return result
        }
        secrets.idToken = idToken
        result.secrets = secrets
        result.providerSession = claims.sessionID ?? session.providerSession
        result.authenticatedAt = claims.authenticationTime ?? session.authenticatedAt
        result.level = claims.authenticationContext ?? session.level
        do {
            result.profile = try await party.profile(claims, tokens.accessToken, metadata)
        } catch let error as NacreError where error.code != "oidc.userinfo_subject" {
            // The person is still welcome; their old profile serves until the next time. The rotated token must not be lost.
            result.profile = session.profile
        }
        return result
    }
}
