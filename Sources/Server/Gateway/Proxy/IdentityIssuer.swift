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

    let key: PrivateKey
    let keyID: String
    let issuer: String
    let time: any TimeSource
    let random: any RandomSource

    init(key: PrivateKey, issuer: String, time: any TimeSource, random: any RandomSource) {
        self.key = key
        self.issuer = issuer
        self.time = time
        self.random = random
        keyID = JSONWebKey.thumbprint(of: key.publicKey)
    }

    /// The published keys.
    var keys: JSONValue { JSONWebKeySet([JSONWebKey(key.publicKey)]).json }

    /// Adds the fields of this session to a request for `audience`.
    func identify(_ session: Session, to audience: String, in fields: inout HTTPFields) throws(NacreError) {
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
        fields[Self.tokenField] = try JWS.sign(.object(claims), with: key, keyID: keyID)
        fields["X-Nacre-User"] = session.userID
        fields["X-Remote-User"] = session.userID
        // Field values are ASCII: what people are called is percent-encoded UTF-8.
        fields["X-Nacre-Issuer"] = PercentEncoding.encode(session.issuer)
        fields["X-Nacre-Subject"] = PercentEncoding.encode(session.subject)
        if let email = session.profile["email"]?.string { fields["X-Nacre-Email"] = PercentEncoding.encode(email) }
        if let name = session.profile["name"]?.string { fields["X-Nacre-Name"] = PercentEncoding.encode(name) }
    }

    /// Whether a field of this lower-case name says who is signed in or where a request comes from: only we may say so.
    static func isOurs(_ name: String) -> Bool {
        // CGI turns "-" into "_", and some servers every other sign too ("X.Nacre.User"), so all those spellings reach
        // some upstream under one name.
        let name = name.withHyphensOnly()
        // guard: spoofed-fields
        return name.hasPrefix("x-nacre-") || name.hasPrefix("x-forwarded-") || name == "forwarded"
            || name == "x-remote-user" || name == "remote-user" || name == "x-real-ip"
    }
}

extension String {
    /// The name with every sign of it written as a hyphen.
    fileprivate func withHyphensOnly() -> String {
        String(map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })  // guard: spoofed-spellings
    }
}
