// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
import NacreCrypto
import NacreHTTP
import NacreJOSE
import NacreRouting
import Synchronization

extension MisbehavingProvider {
    func tokenAnswer(_ request: HTTPRequest, _ faults: Set<ProviderFault>) async throws -> HTTPResponse {
        let text = String(decoding: try await request.body.collect(upTo: 64 * 1024), as: UTF8.self)
        let form = FormFields(decoding: text) ?? FormFields()
        guard request.method == .post, !faults.contains(.invalidClient), isClient(request, form) else {
            return .json(["error": "invalid_client"], status: .unauthorized)
        }
        let grant: Grant?
        switch form["grant_type"] {
        case "authorization_code": grant = redeem(code: form["code"], form)
        case "refresh_token":
            grant = state.withLock { $0.refreshTokens.removeValue(forKey: form["refresh_token"] ?? "") }
        default: return .json(["error": "unsupported_grant_type"], status: .badRequest)
        }
        guard let grant, !faults.contains(.invalidGrant) else {
            return .json(["error": "invalid_grant"], status: .badRequest)
        }
        let accessToken = random.token()
        let refreshToken = random.token()
        state.withLock { state in
            state.accessTokens[accessToken] = state.person
            state.refreshTokens[refreshToken] = grant
        }
        if faults.contains(.rotatesBeforeSigning) { try rotateKeys() }
        let idToken = try self.idToken(nonce: grant.nonce, accessToken: accessToken, context: grant.context)
        var members: [String: JSONValue] = [
            "access_token": .string(accessToken),
            "token_type": faults.contains(.loudTokenType) ? "BEARER" : "Bearer",
            "refresh_token": .string(refreshToken), "id_token": .string(idToken),
        ]
        if !faults.contains(.missingLifetime) { members["expires_in"] = 300 }
        return .json(.object(members))
    }

    private func isClient(_ request: HTTPRequest, _ form: FormFields) -> Bool {
        let methods = authenticationMethods
        if form["client_id"] == clientID, form["client_secret"] == clientSecret {
            return methods.contains("client_secret_post")
        }
        guard methods.contains("client_secret_basic") else { return false }
        let expected = PercentEncoding.encode(clientID) + ":" + PercentEncoding.encode(clientSecret)
        return request.fields["Authorization"] == "Basic " + Base64.encode(Array(expected.utf8))
    }

    private func redeem(code: String?, _ form: FormFields) -> Grant? {
        guard let grant = state.withLock({ $0.codes.removeValue(forKey: code ?? "") }),
            grant.redirectURI == form["redirect_uri"]
        else { return nil }
        if let challenge = grant.challenge {
            guard let verifier = form["code_verifier"], Base64URL.encode(SHA256.hash(verifier)) == challenge else {
                return nil
            }
        }
        return grant
    }

    private static let omissions: [(ProviderFault, [String])] = [
        (.missingIssuer, ["iss"]), (.missingSubject, ["sub"]), (.missingAudience, ["aud"]), (.missingIssuedAt, ["iat"]),
        (.missingExpiry, ["exp"]), (.bareIDToken, ["name", "email"]),
    ]

    /// An ID token as the faults in force have it. `changing` may bend any claim further.
    public func idToken(
        nonce: String?, accessToken: String? = nil, context: String? = nil,
        changing change: (inout [String: JSONValue]) -> Void = { _ in }
    ) throws -> String {
        let (faults, person, key, session) = state.withLock { ($0.faults, $0.person, $0.keys[0], $0.sessionID) }
        let now = (time.now + clockOffset).seconds
        let (issued, ended) =
            faults.contains(.expired)
            ? (now - 720, now - 120) : faults.contains(.fromTheFuture) ? (now + 120, now + 720) : (now, now + 300)
        var claims: [String: JSONValue] = [
            "iss": .string(faults.contains(.wrongIssuer) ? "http://evil.test" : issuer),
            "sub": .string(person.subject), "name": .string(person.name), "email": .string(person.email),
            "aud": .string(faults.contains(.wrongAudience) ? "another-client" : clientID),
            "iat": .integer(issued), "exp": .integer(ended), "auth_time": .integer(now), "sid": .string(session),
        ]
        for (fault, names) in Self.omissions where faults.contains(fault) {
            for name in names { claims[name] = nil }
        }
        if faults.contains(.secondaryAudience) { claims["aud"] = [.string(clientID), "another-client"] }
        if faults.contains(.audienceAsList) { claims["aud"] = [.string(clientID)] }
        if faults.contains(.wrongAuthorizedParty) {
            claims["aud"] = [.string(clientID), "another-client"]
            claims["azp"] = "another-client"
        }
        if let nonce, !faults.contains(.missingNonce) {
            claims["nonce"] = .string(faults.contains(.wrongNonce) ? "another-nonce" : nonce)
        }
        if let context, !faults.contains(.missingContext) { claims["acr"] = .string(context) }
        if let accessToken, !faults.contains(.missingAccessTokenHash) {
            let token = faults.contains(.wrongAccessTokenHash) ? "another-token" : accessToken
            claims["at_hash"] = .string(IDTokenVerifier.accessTokenHash(token, algorithm: key.algorithm.rawValue))
        }
        change(&claims)
        return try sign(.object(claims), key: key, faults)
    }

    /// A back-channel logout token for the present session.
    public func logoutToken(changing change: (inout [String: JSONValue]) -> Void = { _ in }) throws -> String {
        let (faults, person, key, session) = state.withLock { ($0.faults, $0.person, $0.keys[0], $0.sessionID) }
        let now = (time.now + clockOffset).seconds
        var claims: [String: JSONValue] = [
            "iss": .string(issuer), "aud": .string(clientID), "iat": .integer(now), "exp": .integer(now + 120),
            "jti": .string(random.identifier()), "sub": .string(person.subject), "sid": .string(session),
            "events": ["http://schemas.openid.net/event/backchannel-logout": [:]],
        ]
        change(&claims)
        return try sign(.object(claims), key: key, faults, type: "logout+jwt")
    }

    func sign(
        _ claims: JSONValue, key: PrivateKey, _ faults: Set<ProviderFault>, type: String = "JWT"
    ) throws -> String {
        let keyID = JSONWebKey.thumbprint(of: key.publicKey)
        func text(_ algorithm: String) -> String {
            let header: JSONValue = ["alg": .string(algorithm), "kid": .string(keyID), "typ": .string(type)]
            return Base64URL.encode(header.bytes) + "." + Base64URL.encode(claims.bytes)
        }
        if faults.contains(.algorithmNone) { return text("none") + "." }
        if faults.contains(.symmetricWithPublicKey) {
            let code = HMACSHA256.authenticate(text("HS256").utf8, key: key.publicKey.pem.utf8)
            return text("HS256") + "." + Base64URL.encode(code)
        }
        if faults.contains(.unknownKey) {
            return try JWS.sign(claims, with: try PrivateKey.generate(.es256), keyID: "unknown-key", type: type)
        }
        if faults.contains(.wrongSignature) {
            return try JWS.sign(claims, with: try PrivateKey.generate(key.algorithm), keyID: keyID, type: type)
        }
        if faults.contains(.otherAlgorithm) {
            let other = state.withLock { $0.others[0] }
            return try JWS.sign(
                claims, with: other, keyID: JSONWebKey.thumbprint(of: other.publicKey), type: type)
        }
        return try JWS.sign(
            claims, with: key, keyID: faults.contains(.missingKeyID) ? nil : keyID, type: type)
    }
}
