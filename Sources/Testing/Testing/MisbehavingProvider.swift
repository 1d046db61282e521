// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
public import NacreCrypto
public import NacreHTTP
import NacreJOSE
public import NacreRouting
import Synchronization

/// An OpenID provider in the test's own process that signs `person` in without a form, and lies on request.
///
/// As an `HTTPTransport` it is what a relying party talks to; as an `HTTPResponder` it can stand behind a listener.
/// The authorization endpoint is called through `authorize`, as a browser would.
public final class MisbehavingProvider: HTTPResponder, HTTPTransport {
    struct Grant {
        var clientID: String
        var redirectURI: String
        var nonce: String?
        var challenge: String?
        var context: String?
        var isSpent = false
    }

    struct State {
        var faults: Set<ProviderFault> = []
        var person = ProviderPerson()
        var keys: [PrivateKey] = []
        /// Published beside them; `ProviderFault.otherAlgorithm` signs with the first.
        var others: [PrivateKey] = []
        var authenticationMethods = ["client_secret_basic", "client_secret_post"]
        var clockOffset: Duration = .zero
        var codes: [String: Grant] = [:]
        var refreshTokens: [String: Grant] = [:]
        var accessTokens: [String: ProviderPerson] = [:]
        var sessionID = "idp-session-1"
        var isSignedIn = true
        var requests: [HTTPRequest] = []
        var advertisesPKCE = true
        var advertisesResponseIssuer = true
    }

    /// The issuer's URL.
    public let issuer: String
    /// The one client.
    public let clientID: String
    /// Its secret.
    public let clientSecret: String
    let time: any TimeSource
    let random: any RandomSource
    let state = Mutex(State())

    /// A well-behaved provider with one key of `algorithm`.
    public init(
        issuer: String = "http://idp.test", clientID: String = "messages", clientSecret: String = "messages-secret-1",
        algorithm: SignatureAlgorithm = .es256, time: any TimeSource = ManualTime(),
        random: any RandomSource = SeededRandom(7)
    ) throws {
        self.issuer = issuer
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.time = time
        self.random = random
        let key = try PrivateKey.generate(algorithm)
        let other = try PrivateKey.generate(algorithm == .edDSA ? .es256 : .edDSA)
        state.withLock { state in
            state.keys = [key]
            state.others = [other]
        }
    }

    // MARK: What a test bends and reads

    /// The faults in force.
    public var faults: Set<ProviderFault> {
        get { state.withLock { $0.faults } }
        set { state.withLock { $0.faults = newValue } }
    }
    /// Who gets signed in.
    public var person: ProviderPerson {
        get { state.withLock { $0.person } }
        set { state.withLock { $0.person = newValue } }
    }
    /// Whether discovery says that PKCE S256 is understood.
    public var advertisesPKCE: Bool {
        get { state.withLock { $0.advertisesPKCE } }
        set { state.withLock { $0.advertisesPKCE = newValue } }
    }
    /// Whether discovery announces the RFC 9207 `iss` parameter (and answers carry it).
    public var advertisesResponseIssuer: Bool {
        get { state.withLock { $0.advertisesResponseIssuer } }
        set { state.withLock { $0.advertisesResponseIssuer = newValue } }
    }
    /// Whether the person has a session here; after a sign-out, `authorize` answers a form until this is set again.
    public var isSignedIn: Bool {
        get { state.withLock { $0.isSignedIn } }
        set { state.withLock { $0.isSignedIn = newValue } }
    }
    /// The `sid` of the present session.
    public var sessionID: String { state.withLock { $0.sessionID } }
    /// Every request so far.
    public var requests: [HTTPRequest] { state.withLock { $0.requests } }
    /// How many requests asked for this path.
    public func requestCount(_ path: String) -> Int { requests.count { $0.path == path } }
    /// Signs with a new key from now on and publishes it; the old one is published no more.
    public func rotateKeys() throws {
        let key = try PrivateKey.generate(state.withLock { $0.keys[0].algorithm })
        state.withLock { $0.keys = [key] }
    }
    /// Publishes one more key of the algorithm in use; it signs nothing.
    public func publishAnotherKey() throws {
        let key = try PrivateKey.generate(state.withLock { $0.keys[0].algorithm })
        state.withLock { $0.others.append(key) }
    }
    /// What discovery names under `token_endpoint_auth_methods_supported`; nothing else is accepted.
    public var authenticationMethods: [String] {
        get { state.withLock { $0.authenticationMethods } }
        set { state.withLock { $0.authenticationMethods = newValue } }
    }
    /// How far the clock under this provider's tokens is ahead.
    public var clockOffset: Duration {
        get { state.withLock { $0.clockOffset } }
        set { state.withLock { $0.clockOffset = newValue } }
    }
    /// Makes every refresh token worthless.
    public func revokeRefreshTokens() { state.withLock { $0.refreshTokens = [:] } }

    // MARK: Answers

    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await respond(to: request, context: RequestContext(id: "test", clientAddress: "127.0.0.1"))
    }

    public func respond(to request: HTTPRequest, context: RequestContext) async throws -> HTTPResponse {
        let faults = state.withLock { state in
            state.requests.append(request)
            return state.faults
        }
        guard !faults.contains(.down), request.url.hasPrefix(issuer + "/") else {
            throw NacreError("transport.unreachable", "The identity provider cannot be reached.")
        }
        if faults.contains(.slow) { try await time.sleep(for: .seconds(600)) }
        if faults.contains(.serverError) { return HTTPResponse(status: .internalServerError, body: .text("oops")) }
        if faults.contains(.html) {
            return .html("<!doctype html><title>Proxy error</title>", policy: "default-src 'none'")
        }
        // The issuer may have a path of its own.
        switch request.url.dropFirst(issuer.count).prefix(while: { $0 != "?" }) {
        case "/.well-known/openid-configuration": return .json(discovery(faults))
        case "/jwks":
            if faults.contains(.keysDown) {
                throw NacreError("transport.unreachable", "The identity provider cannot be reached.")
            }
            return keysAnswer()
        case "/authorize": return authorizeAnswer(request, faults)
        case "/token":
            if faults.contains(.tokenEndpointDown) {
                throw NacreError("transport.unreachable", "The identity provider cannot be reached.")
            }
            return try await tokenAnswer(request, faults)
        case "/userinfo": return try userInfoAnswer(request, faults)
        case "/logout": return logoutAnswer(request, faults)
        default: return .failure(.notFound, code: "not_found", message: "There is nothing here.")
        }
    }

    private func discovery(_ faults: Set<ProviderFault>) -> JSONValue {
        let (pkce, responseIssuer, methods) = state.withLock {
            ($0.advertisesPKCE, $0.advertisesResponseIssuer, $0.authenticationMethods)
        }
        var members: [String: JSONValue] = [
            "issuer": .string(faults.contains(.discoveryOfAnother) ? "http://evil.test" : issuer),
            "authorization_endpoint": .string(issuer + "/authorize"),
            "token_endpoint": .string(issuer + "/token"),
            "userinfo_endpoint": .string(issuer + "/userinfo"),
            "jwks_uri": .string(issuer + "/jwks"),
            "end_session_endpoint": .string(issuer + "/logout"),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256", "RS256", "EdDSA"],
            "token_endpoint_auth_methods_supported": .array(methods.map(JSONValue.string)),
        ]
        if pkce { members["code_challenge_methods_supported"] = ["S256"] }
        if responseIssuer { members["authorization_response_iss_parameter_supported"] = true }
        return .object(members)
    }

    private func keysAnswer() -> HTTPResponse {
        let keys = state.withLock { $0.keys + $0.others }
        var response = HTTPResponse.json(JSONWebKeySet(keys.map { JSONWebKey($0.publicKey) }).json)
        response.fields["Cache-Control"] = "max-age=300"
        return response
    }

    private func authorizeAnswer(_ request: HTTPRequest, _ faults: Set<ProviderFault>) -> HTTPResponse {
        let query = FormFields(decoding: request.query ?? "") ?? FormFields()
        guard query["client_id"] == clientID, query["response_type"] == "code", let redirect = query["redirect_uri"]
        else { return HTTPResponse(status: .badRequest, body: .text("bad authorization request")) }
        let isSignedIn = state.withLock { $0.isSignedIn }
        guard isSignedIn || query["prompt"] == "none" else {
            return .html("<!doctype html><title>Sign in</title><form method=post>", policy: "default-src 'none'")
        }
        var answer = FormFields()
        if faults.contains(.accessDenied) || !isSignedIn {
            answer.append("error", isSignedIn ? "access_denied" : "login_required")
        } else {
            let code = random.token()
            let grant = Grant(
                clientID: clientID, redirectURI: redirect, nonce: query["nonce"], challenge: query["code_challenge"],
                context: query["acr_values"]?.split(separator: " ").first.map(String.init))
            state.withLock { $0.codes[code] = grant }
            answer.append("code", code)
        }
        if let value = query["state"], !faults.contains(.missingState) {
            answer.append("state", faults.contains(.wrongState) ? "other" : value)
        }
        if advertisesResponseIssuer, !faults.contains(.missingResponseIssuer) {
            answer.append("iss", faults.contains(.wrongResponseIssuer) ? "http://evil.test" : issuer)
        }
        return .redirect(to: redirect + (redirect.contains("?") ? "&" : "?") + answer.encoded)
    }

    private func logoutAnswer(_ request: HTTPRequest, _ faults: Set<ProviderFault>) -> HTTPResponse {
        let query = FormFields(decoding: request.query ?? "") ?? FormFields()
        state.withLock { state in
            state.isSignedIn = false
            state.refreshTokens = [:]
            state.sessionID += "+"
        }
        guard let target = query["post_logout_redirect_uri"] else {
            return .html("<!doctype html><title>Signed out</title>", policy: "default-src 'none'")
        }
        let back = faults.contains(.logoutWrongState) ? "another-state" : query["state"]
        let stated = faults.contains(.logoutMissingState) ? nil : back
        let suffix = stated.map { "?state=" + PercentEncoding.encode($0) } ?? ""
        return .redirect(to: target + suffix)
    }

    private func userInfoAnswer(_ request: HTTPRequest, _ faults: Set<ProviderFault>) throws -> HTTPResponse {
        let token = request.fields["Authorization"]?.split(separator: " ").last.map(String.init) ?? ""
        guard let person = state.withLock({ $0.accessTokens[token] }) else {
            return HTTPResponse(status: .unauthorized, fields: ["WWW-Authenticate": "Bearer error=\"invalid_token\""])
        }
        var members: [String: JSONValue] = [
            "sub": .string(faults.contains(.userInfoOfAnother) ? "sub-mallory" : person.subject),
            "name": .string(person.name), "email": .string(person.email), "email_verified": true,
        ]
        guard faults.contains(.userInfoSigned) else { return .json(.object(members)) }
        (members["iss"], members["aud"]) = (.string(issuer), .string(clientID))
        let signed = try sign(.object(members), key: state.withLock { $0.keys[0] }, [])
        return HTTPResponse(fields: ["Content-Type": "application/jwt"], body: .text(signed))
    }
}
