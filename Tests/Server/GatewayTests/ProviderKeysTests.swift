// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreGateway
import NacreHTTP
import NacreTesting
import Testing

@Suite("HO-3: the provider's keys and clock under bad conditions") struct ProviderKeysTests {
    @Test("HO-3: a storm of logout tokens with unknown kids fetches the keys once more in ten seconds")
    func storm() async throws {
        let world = try await ConformanceWorld()
        let browser = try await world.expectSignIn()
        world.provider.faults = [.unknownKey]
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<60 {
                group.addTask { try await world.backchannel(try world.provider.logoutToken()).status.rawValue }
            }
            return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(statuses == [400])
        #expect(world.provider.requestCount("/jwks") == 2)
        world.provider.faults = []
        #expect(try await browser.send(.get, world.me).status == .ok)
        // A rotation during the storm is seen ten seconds later at the latest.
        try world.provider.rotateKeys()
        world.fixture.time.advance(by: .seconds(10))
        try await world.expectSignIn()
        #expect(world.provider.requestCount("/jwks") == 3)
    }

    @Test("HO-3: keys that rotate during load cost one fetch, and nobody is turned away")
    func rotationDuringLoad() async throws {
        let world = try await ConformanceWorld()
        try await world.expectSignIn()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                if number == 20 { try world.provider.rotateKeys() }
                group.addTask { try await world.expectSignIn() }
            }
            try await group.waitForAll()
        }
        #expect(world.provider.requestCount("/jwks") == 2)
    }

    @Test("HO-3: while the key set does not answer nobody is signed in, it is said, and later it works")
    func keysDown() async throws {
        let world = try await ConformanceWorld([.keysDown])
        let browser = world.fixture.browser()
        let answer = try await browser.follow(world.web)
        #expect(answer.status == .badGateway)
        #expect(try await answer.text().contains("cannot be reached"))
        #expect(browser.cookies["sessionid"] == nil)
        world.provider.faults = []
        try await world.expectSignIn()
    }

    @Test("HO-3: known keys serve while the key set does not answer, and it is asked every ten seconds only")
    func keysDownLater() async throws {
        let world = try await ConformanceWorld()
        try await world.expectSignIn()
        world.provider.faults = [.keysDown]
        world.fixture.time.advance(by: .seconds(600))
        for _ in 0..<5 { try await world.expectSignIn() }
        #expect(world.provider.requestCount("/jwks") == 2)
    }

    @Test("HO-3: the known discovery document serves while the provider does not answer, asked every ten seconds only")
    func discoveryDownLater() async throws {
        let world = try await ConformanceWorld()
        try await world.expectSignIn()
        world.fixture.time.advance(by: .seconds(3600))
        world.provider.faults = [.down]
        for _ in 0..<5 { #expect(try await world.fixture.browser().send(.get, world.web).status == .found) }
        #expect(world.provider.requestCount("/.well-known/openid-configuration") == 2)
        world.provider.faults = []
        world.fixture.time.advance(by: .seconds(10))
        try await world.expectSignIn()
        #expect(world.provider.requestCount("/.well-known/openid-configuration") == 3)
    }

    @Test("HO-3: a refusal that names another issuer is no refusal of ours (RFC 9207)")
    func refusalOfAnother() async throws {
        let world = try await ConformanceWorld([.accessDenied, .wrongResponseIssuer])
        let page = try await world.fixture.browser().follow(
            world.web + "?mobile_scheme=stmessages&code_challenge=\(PKCEPair.challenge)")
        #expect(try await page.link()["error"] == "login_failed")
    }

    @Test("HO-7: a logout token that no key can judge yet is a 503 and may be sent again")
    func logoutWhileKeysDown() async throws {
        let world = try await ConformanceWorld()
        let browser = try await world.expectSignIn()
        try world.provider.rotateKeys()
        let token = try world.provider.logoutToken()
        world.provider.faults = [.keysDown]
        for _ in 0..<3 { #expect(try await world.backchannel(token).status == .serviceUnavailable) }
        #expect(world.provider.requestCount("/jwks") == 2)
        #expect(try await browser.send(.get, world.me).status == .ok)
        world.provider.faults = []
        world.fixture.time.advance(by: .seconds(10))
        #expect(try await world.backchannel(token).status == .ok)
        #expect(try await browser.send(.get, world.me).status == .unauthorized)
    }

    /// Tokens live five minutes. Ahead, a token comes from the future beyond the allowed minute; behind, it has expired
    /// beyond it.
    @Test(
        "HO-3: a provider's clock may differ by a minute, and by five minutes ahead nobody is signed in",
        arguments: [
            (0, true), (60, true), (61, false), (300, false), (-300, true), (-359, true), (-360, false), (-600, false),
        ])
    func clocks(seconds: Int, works: Bool) async throws {
        let world = try await ConformanceWorld()
        world.provider.clockOffset = .seconds(seconds)
        if works { try await world.expectSignIn() } else { try await world.expectRefusal() }
    }

    /// Logout tokens live two minutes.
    @Test(
        "HO-7: a logout token may be a minute early or late, and five minutes are too many",
        arguments: [(60, 200), (61, 400), (300, 400), (-179, 200), (-180, 400), (-300, 400)])
    func logoutClocks(seconds: Int, status: Int) async throws {
        let world = try await ConformanceWorld()
        let browser = try await world.expectSignIn()
        world.provider.clockOffset = .seconds(seconds)
        #expect(try await world.backchannel(try world.provider.logoutToken()).status.rawValue == status)
        #expect(try await browser.send(.get, world.me).status.rawValue == (status == 200 ? 401 : 200))
    }

    @Test("HO-7: a logout token without its type is taken only where that is configured, and never one with a nonce")
    func untyped() async throws {
        func token(_ world: ConformanceWorld, nonce: String? = nil) throws -> String {
            try world.provider.idToken(nonce: nonce) {
                $0["events"] = ["http://schemas.openid.net/event/backchannel-logout": [:]]
                $0["jti"] = .string(nonce ?? "1")
            }
        }
        let strict = try await ConformanceWorld()
        let lenient = try await ConformanceWorld { $0.oidc.acceptsUntypedLogoutTokens = true }
        for (world, status) in [(strict, 400), (lenient, 200)] {
            let browser = try await world.expectSignIn()
            #expect(try await world.backchannel(try token(world, nonce: "n")).status == .badRequest)
            #expect(try await world.backchannel(try world.provider.idToken(nonce: nil)).status == .badRequest)
            #expect(try await browser.send(.get, world.me).status == .ok)
            #expect(try await world.backchannel(try token(world)).status.rawValue == status)
            #expect(try await browser.send(.get, world.me).status.rawValue == (status == 200 ? 401 : 200))
        }
    }

    @Test("HO-7: a logout token may name the person alone, and then ends every session of theirs")
    func logoutBySubject() async throws {
        let world = try await ConformanceWorld()
        let browser = try await world.expectSignIn()
        world.provider.person.subject = "sub-bob"
        let other = try await world.expectSignIn()
        let token = try world.provider.logoutToken { $0["sid"] = nil }
        #expect(try await world.backchannel(token).status == .ok)
        #expect(try await other.send(.get, world.me).status == .unauthorized)
        #expect(try await browser.send(.get, world.me).status == .ok)
    }

    @Test("HO-3: the secret goes by the method that discovery names, or that is configured")
    func clientSecretPost() async throws {
        let world = try await ConformanceWorld()
        world.provider.authenticationMethods = ["client_secret_post"]
        try await world.expectSignIn()
        let (form, authorization) = try await world.tokenRequest()
        #expect(authorization == nil)
        #expect(form["client_secret"] == "messages-secret-1")
        let forced = try await ConformanceWorld { $0.oidc.clientAuthentication = .post }
        try await forced.expectSignIn()
        #expect(try await forced.tokenRequest().authorization == nil)
    }

    @Test(
        "HO-3: an answer that says something twice is refused",
        arguments: ["code=x", "iss=http%3A%2F%2Fidp.test", "error=a&error=b"])
    func twice(addition: String) async throws {
        let world = try await ConformanceWorld()
        let browser = world.fixture.browser()
        let callback = try await browser.depart(world.web)
        #expect(try await browser.send(.get, callback + "&" + addition).status == .badGateway)
        #expect(world.provider.requestCount("/token") == 0)
    }
}
