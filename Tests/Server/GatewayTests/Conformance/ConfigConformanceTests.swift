// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreGateway
import NacreHTTP
import NacreTesting
import Testing

@Suite("Conformance, config plan (HO-3)") struct ConfigConformanceTests {
    @Test("oidcc-client-test-discovery-openid-config")
    func discovery() async throws {
        let world = try await ConformanceWorld()
        try await world.expectSignIn()
        #expect(world.provider.requestCount("/.well-known/openid-configuration") == 1)
        // Every other address came out of the document.
        let places = Set(world.provider.requests.map(\.path))
        #expect(places == ["/.well-known/openid-configuration", "/authorize", "/token", "/jwks", "/userinfo"])
    }

    @Test("oidcc-client-test-discovery-jwks-uri-keys")
    func keys() async throws {
        let world = try await ConformanceWorld()
        try await world.expectSignIn()
        try await world.expectSignIn("the keys are kept")
        #expect(world.provider.requestCount("/jwks") == 1)
        try await ConformanceWorld([.unknownKey]).expectRefusal()
    }

    @Test("oidcc-client-test-discovery-issuer-mismatch")
    func issuerMismatch() async throws {
        let world = try await ConformanceWorld([.discoveryOfAnother])
        try await world.expectRefusal()
        #expect(world.provider.requestCount("/authorize") == 0)
    }

    @Test("oidcc-client-test-idtoken-sig-none")
    func none() async throws {
        let world = try await ConformanceWorld([.algorithmNone])
        try await world.expectRefusal()
        #expect(world.provider.requestCount("/jwks") == 0, "a token that no key can fit fetches none")
    }

    @Test("oidcc-client-test-signing-key-rotation")
    func rotation() async throws {
        let world = try await ConformanceWorld()
        try await world.expectSignIn()
        try world.provider.rotateKeys()
        try await world.expectSignIn("by the new key, at once")
        #expect(world.provider.requestCount("/jwks") == 2)
    }

    @Test("oidcc-client-test-signing-key-rotation-just-before-signing")
    func rotationJustBeforeSigning() async throws {
        let world = try await ConformanceWorld()
        try await world.expectSignIn()
        world.provider.faults = [.rotatesBeforeSigning]
        try await world.expectSignIn("signed by a key that was made after the request")
        world.fixture.time.advance(by: .seconds(10))
        try await world.expectSignIn()
        #expect(world.provider.requestCount("/jwks") == 3)
    }
}

@Suite("Conformance, refresh tokens (HO-13)") struct RefreshConformanceTests {
    private static let age: Duration = .seconds(12 * 3600)

    @Test("oidcc-client-test-refresh-token")
    func refresh() async throws {
        let world = try await ConformanceWorld()
        let browser = try await world.expectSignIn()
        world.fixture.time.advance(by: Self.age)
        #expect(try await browser.send(.get, world.me).status == .ok)
        let (form, _) = try await world.tokenRequest()
        #expect(form["grant_type"] == "refresh_token")
        #expect(form["refresh_token"]?.isEmpty == false)
    }

    @Test("oidcc-client-test-refresh-token-invalid-issuer")
    func invalidIssuer() async throws {
        let world = try await ConformanceWorld()
        try await expectEnd(world) { $0.faults = [.wrongIssuer] }
    }

    @Test("oidcc-client-test-refresh-token-invalid-sub")
    func invalidSubject() async throws {
        let world = try await ConformanceWorld()
        try await expectEnd(world) { $0.person.subject = "sub-mallory" }
    }

    private func expectEnd(_ world: ConformanceWorld, _ spoil: (MisbehavingProvider) -> Void) async throws {
        let browser = try await world.expectSignIn()
        let asked = world.provider.requestCount("/userinfo")
        world.fixture.time.advance(by: Self.age)
        spoil(world.provider)
        #expect(try await browser.send(.get, world.me).status == .unauthorized)
        #expect(world.provider.requestCount("/userinfo") == asked)
        world.provider.faults = []
        #expect(try await browser.send(.get, world.me).status == .unauthorized, "ended for good")
    }
}
