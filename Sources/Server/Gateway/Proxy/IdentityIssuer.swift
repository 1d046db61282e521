// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreJOSE
import NacreKeys
import NacreSessions
import Synchronization

/// Tells the upstream who is signed in: a signed token that lives for a minute, and plain fields beside it.
///
/// An upstream that can be reached by anybody but the gateway must check the token; its keys are at
/// `/.well-known/jwks.json`. Claims: `iss` (the gateway's origin), `aud` (the upstream), `sub` and `idp` (the person at
/// their provider), `uid` (one text for both), `sid` (the session), `email`, `name`, `locale`, `acr`, `amr`, `auth_time`.
package struct IdentityIssuer: Sendable {
    /// How long a token lives.
    package static let lifetime: Duration = .seconds(60)
    /// How long one token serves the requests of its session: a signature and its text cost more than passing a request on.
    static let reuse: Duration = .seconds(10)
    static let tokenField = "X-Nacre-Identity"

    let keys: IdentityKeys
    let issuer: String
    let time: any TimeSource
    let random: any RandomSource
    private let recent = RecentIdentities()

    init(keys: IdentityKeys, issuer: String, time: any TimeSource, random: any RandomSource) {
        self.keys = keys
        self.issuer = issuer
        self.time = time
        self.random = random
    }

    /// Adds the fields of this session to a request for `audience`.
    func identify(_ session: Session, to audience: String, in fields: inout HTTPFields) async throws {
        let signer = try await keys.signer()
        let now = time.now
        let place = RecentIdentities.Place(
            session: session.id, audience: audience, key: signer.id, revalidateAt: session.revalidateAt)
        let made: [HTTPFields.Field]
        if let known = recent.fields(place, now) {
            made = known
        } else {
            made = try self.fields(session, audience, signer, now)
            recent.keep(made, place, now + Self.reuse)
        }
        for field in made { fields.append(field.name, field.value) }
    }

    private func fields(
        _ session: Session, _ audience: String, _ signer: RotatingKeys.Entry, _ now: Instant
    ) throws(NacreError) -> [HTTPFields.Field] {
        var fields = HTTPFields()
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
        return fields.fields
    }
}

/// The identities made in the last seconds. A renewed session (new claims) and a new key make new ones.
private final class RecentIdentities: Sendable {
    struct Place: Hashable {
        let session: String
        let audience: String
        let key: String
        let revalidateAt: Instant
    }

    private static let maximum = 4096
    private let entries = Mutex<[Place: (fields: [HTTPFields.Field], end: Instant)]>([:])

    func fields(_ place: Place, _ now: Instant) -> [HTTPFields.Field]? {
        let entry = entries.withLock { $0[place] }
        guard let entry, now < entry.end else { return nil }  // guard: identity-reuse
        return entry.fields
    }

    func keep(_ fields: [HTTPFields.Field], _ place: Place, _ end: Instant) {
        entries.withLock { entries in
            // They live for seconds: all may go when they are many.
            if entries.count >= Self.maximum { entries = [:] }
            entries[place] = (fields, end)
        }
    }
}
