// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase
import NacreDatabaseTesting
import NacreHTTP
import NacreJOSE
import NacreRouting
import NacreTesting
import Testing

@testable import NacreGateway

@Suite("HO-7: what a logout token names") struct LogoutTokenTests {
    private let me = "/api/v1.0/users/me/"

    private func count(_ fixture: GatewayFixture) async throws -> Int {
        try await fixture.database.read { sql in try sql.query("SELECT id FROM sessions").count }
    }

    /// Changes the youngest session in the table.
    private func alter(_ fixture: GatewayFixture, _ change: String) async throws {
        try await fixture.database.write { sql in
            _ = try sql.execute(
                "UPDATE sessions SET \(change) WHERE row_id = (SELECT MAX(row_id) FROM sessions)")
        }
    }

    @Test(
        "Its sessions, and those of the person whose provider session nobody told; not those of another one or of others"
    )
    func unnamed() async throws {
        let world = try await ConformanceWorld()
        let named = try await world.expectSignIn()
        let unnamed = try await world.expectSignIn()
        try await alter(world.fixture, "provider_session = NULL")
        let elsewhere = try await world.expectSignIn()
        try await alter(world.fixture, "provider_session = 'idp-session-0'")
        world.provider.person.subject = "sub-bob"
        let other = try await world.expectSignIn()
        try await alter(world.fixture, "provider_session = NULL")
        world.provider.person.subject = "sub-carol"
        let otherNamed = try await world.expectSignIn()
        try await alter(world.fixture, "provider_session = 'idp-session-9'")
        world.provider.person.subject = "sub-alice"
        let alice = try #require(
            try await world.fixture.database.read { sql in
                try sql.first("SELECT subject FROM sessions ORDER BY row_id LIMIT 1")?.text("subject")
            })
        let token = try world.provider.logoutToken { $0["sub"] = .string(alice) }
        #expect(try await world.backchannel(token).status == .ok)
        for browser in [named, unnamed] { #expect(try await browser.send(.get, me).status == .unauthorized) }
        for browser in [elsewhere, other, otherNamed] { #expect(try await browser.send(.get, me).status == .ok) }
    }

    @Test("A token that names no person leaves sessions alone of which nobody knows the provider session")
    func withoutPerson() async throws {
        let world = try await ConformanceWorld()
        let named = try await world.expectSignIn()
        let unnamed = try await world.expectSignIn()
        try await alter(world.fixture, "provider_session = NULL")
        #expect(try await world.backchannel(try world.provider.logoutToken { $0["sub"] = nil }).status == .ok)
        #expect(try await named.send(.get, me).status == .unauthorized)
        #expect(try await unnamed.send(.get, me).status == .ok)
    }

    @Test("However many they are, all end, and the token is used up", arguments: ["sid", "unnamed", "sub"])
    func many(kind: String) async throws {
        let world = try await ConformanceWorld()
        try await world.expectSignIn()
        if kind == "unnamed" { try await alter(world.fixture, "provider_session = NULL") }
        try await world.fixture.database.double("sessions", times: 10)
        #expect(try await count(world.fixture) == 1024)
        let subject = try await world.fixture.database.read { sql in
            try sql.first("SELECT subject FROM sessions LIMIT 1")?.text("subject") ?? ""
        }
        let token = try world.provider.logoutToken {
            $0["sub"] = .string(subject)
            if kind == "sub" { $0["sid"] = nil }
        }
        #expect(try await world.backchannel(token).status == .ok)
        #expect(try await count(world.fixture) == 0)
        #expect(try await world.backchannel(token).status == .badRequest, "a replayed token")
    }

    @Test("A replayed token ends nothing that began since")
    func replay() async throws {
        let world = try await ConformanceWorld()
        try await world.expectSignIn()
        let token = try world.provider.logoutToken()
        #expect(try await world.backchannel(token).status == .ok)
        let browser = try await world.expectSignIn()
        #expect(try await world.backchannel(token).status == .badRequest)
        #expect(try await browser.send(.get, me).status == .ok)
    }

    @Test("A key that nobody has asked for yet is no forgery: 503 while others flood, and later it is obeyed")
    func unasked() async throws {
        let world = try await ConformanceWorld()
        let browser = try await world.expectSignIn()
        world.provider.faults = [.unknownKey]
        #expect(try await world.backchannel(try world.provider.logoutToken()).status == .badRequest)
        world.provider.faults = []
        try world.provider.rotateKeys()
        let token = try world.provider.logoutToken()
        #expect(try await world.backchannel(token).status == .serviceUnavailable)
        #expect(try await browser.send(.get, me).status == .ok)
        world.fixture.time.advance(by: .seconds(10))
        #expect(try await world.backchannel(token).status == .ok)
        #expect(try await browser.send(.get, me).status == .unauthorized)
    }

    @Test(
        "Keys that cannot be had, however they fail, are a 503 and not the token's fault", arguments: Failure.allCases)
    func keys(failure: Failure) async throws {
        let fixture = try await GatewayFixture()
        let provider = fixture.provider
        let transport = ClosureTransport { request in
            guard request.path == "/jwks" else { return try await provider.send(request) }
            switch failure {
            case .unreachable: throw NacreError("transport.unreachable", "down")
            case .tooLarge: return HTTPResponse(body: .bytes([UInt8](repeating: 32, count: 300_000)))
            case .noJSON: return HTTPResponse(body: .text("<html>"))
            case .status: return HTTPResponse(status: .internalServerError)
            }
        }
        let browser = try await fixture.browser(through: transport)
        let answer = try await browser.post(
            "/api/v1.0/backchannel-logout/", Array("logout_token=\(try provider.logoutToken())".utf8),
            fields: ["Content-Type": "application/x-www-form-urlencoded"])
        #expect(answer.status == .serviceUnavailable)
    }

    /// How a key set can fail.
    enum Failure: CaseIterable, Sendable { case unreachable, tooLarge, noJSON, status }
}

/// The same name for Unicode is not the same name (RFC 7519 section 7.3): a Kelvin sign is no K.
@Suite("HO-3: names are compared by code points") struct ExactNameTests {
    private static let kelvin = "\u{212A}"
    private static let issuer = "http://idp.test/K"
    private static let client = "client-K"

    private func party(statedIssuer: String = Self.issuer, _ key: PrivateKey) throws -> RelyingParty {
        let transport = ClosureTransport { request in
            guard request.path.hasSuffix("/jwks") else {
                return .json([
                    "issuer": .string(statedIssuer), "authorization_endpoint": .string(Self.issuer + "/authorize"),
                    "token_endpoint": .string(Self.issuer + "/token"), "jwks_uri": .string(Self.issuer + "/jwks"),
                ])
            }
            return .json(JSONWebKeySet([JSONWebKey(key.publicKey)]).json)
        }
        return RelyingParty(
            OIDCConfiguration(issuer: Self.issuer, clientID: Self.client, clientSecret: nil),
            redirectURI: "http://gateway.test/callback", transport: transport, time: ManualTime(),
            random: SeededRandom(3))
    }

    private func token(_ key: PrivateKey, issuer: String = Self.issuer, audience: JSONValue = .string(Self.client))
        throws
        -> String
    {
        let now = ManualTime().now.seconds
        return try JWS.sign(
            [
                "iss": .string(issuer), "aud": audience, "iat": .integer(now), "exp": .integer(now + 60), "jti": "1",
                "sub": "alice", "events": ["http://schemas.openid.net/event/backchannel-logout": [:]],
            ], with: key, keyID: JSONWebKey.thumbprint(of: key.publicKey), type: "logout+jwt")
    }

    @Test func `a logout token's issuer and audience`() async throws {
        let key = try PrivateKey.generate(.es256)
        let party = try party(key)
        let now = ManualTime().now
        #expect(try await party.logoutOrder(try token(key), now: now).subject == "alice")
        let issuer = await #expect(throws: NacreError.self) {
            let other = Self.issuer.replacing("K", with: Self.kelvin)
            _ = try await party.logoutOrder(try token(key, issuer: other), now: now)
        }
        #expect(issuer?.code == "logout_token.issuer")
        for audience in [.string("client-" + Self.kelvin), ["x", .string("client-" + Self.kelvin)]] as [JSONValue] {
            let error = await #expect(throws: NacreError.self) {
                _ = try await party.logoutOrder(try token(key, audience: audience), now: now)
            }
            #expect(error?.code == "logout_token.audience")
        }
    }

    @Test func `the issuer of an answer and of the discovery document`() async throws {
        let key = try PrivateKey.generate(.es256)
        let other = Self.issuer.replacing("K", with: Self.kelvin)
        #expect(try await party(key).accepts(responseIssuer: Self.issuer))
        #expect(try await !party(key).accepts(responseIssuer: other))
        let error = await #expect(throws: NacreError.self) { _ = try await party(statedIssuer: other, key).metadata() }
        #expect(error?.code == "oidc.issuer_mismatch")
    }
}
