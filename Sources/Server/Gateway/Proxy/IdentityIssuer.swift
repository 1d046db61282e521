// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreJOSE
import NacreSessions

/// Tells the upstream who is signed in: a signed token that lives for a minute, and plain fields beside it.
///
/// An upstream that can be reached by anybody but the gateway must check the token; its keys are at
/// `/.well-known/jwks.json`. Claims: `iss` (the gateway's origin), `aud` (the upstream), `sub` and `idp` (the person at
/// their provider), `uid` (one text for both), `sid` (the session), `email`, `name`, `locale`, `acr`, `amr`, `auth_time`.
package struct IdentityIssuer: Sendable {
    /// How long a token lives.
    package static let lifetime: Duration = .seconds(60)
    static let tokenField = "X-Nacre-Identity"

    let keys: IdentityKeys
    let issuer: String
    let time: any TimeSource
    let random: any RandomSource

    /// Adds the fields of this session to a request for `audience`.
    func identify(_ session: Session, to audience: String, in fields: inout HTTPFields) async throws {
        let signer = try await keys.signer()
        let now = time.now
        var claims: [String: JSONValue] = [
            "iss": .string(issuer), "aud": .string(audience), "sub": .string(session.subject),
            "idp": .string(session.issuer), "uid": .string(session.userID), "sid": .string(session.id),
            "iat": JSONValue(now.seconds), "exp": JSONValue((now + Self.lifetime).seconds),
            "jti": .string(random.identifier()), "amr": .array(session.means.map(JSONValue.string)),
        ]
        for name in ["email", "name", "locale"] { claims[name] = session.profile[name]?.string.map(JSONValue.string) }
        claims["acr"] = session.level.map(JSONValue.string)
        claims["auth_time"] = session.authenticatedAt.map { JSONValue($0.seconds) }
        fields.append(Self.tokenField, try JWS.sign(.object(claims), with: signer.key, keyID: signer.id))
        fields.append("X-Nacre-User", session.userID)
        fields.append("X-Remote-User", session.userID)
        // Field values are ASCII: what people are called is percent-encoded UTF-8.
        fields.append("X-Nacre-Issuer", PercentEncoding.encode(session.issuer))
        fields.append("X-Nacre-Subject", PercentEncoding.encode(session.subject))
        if let email = session.profile["email"]?.string {
            fields.append("X-Nacre-Email", PercentEncoding.encode(email))
        }
        if let name = session.profile["name"]?.string { fields.append("X-Nacre-Name", PercentEncoding.encode(name)) }
    }
}
