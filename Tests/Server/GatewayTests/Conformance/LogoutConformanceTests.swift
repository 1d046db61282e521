// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreGateway
import NacreHTTP
import NacreTesting
import Testing

@Suite("Conformance, back-channel logout (HO-7)") struct BackchannelConformanceTests {
    @Test("oidcc-client-test-rp-backchannel-rpinitlogout")
    func initiated() async throws {
        let world = try await ConformanceWorld()
        let browser = try await world.expectSignIn()
        let (app, _) = try await world.fixture.signedInApp()
        let session = world.provider.sessionID
        let departure = try await browser.send(.get, "/api/v1.0/logout/")
        let back = try await browser.visitProvider(try #require(departure.fields["Location"]))
        // The provider tells the clients of its session before it sends the browser back.
        let token = try world.provider.logoutToken { $0["sid"] = .string(session) }
        let answer = try await world.backchannel(token)
        #expect(answer.status == .ok)
        #expect(answer.fields["Cache-Control"] == "no-store")
        #expect(try await app.send(.get, world.me).status == .unauthorized)
        let target = String(try #require(back.fields["Location"]).dropFirst(GatewayFixture.origin.count))
        #expect(try await browser.send(.get, target).fields["Location"] == "/")
        #expect(try await browser.send(.get, world.me).status == .unauthorized)
        #expect(try await world.backchannel(token).status == .badRequest, "replayed")
    }

    @Test("oidcc-client-test-rp-backchannel-rpinitlogout-alg-none")
    func none() async throws {
        try await ConformanceWorld().expectLogoutRefusal([.algorithmNone])
    }

    @Test("oidcc-client-test-rp-backchannel-rpinitlogout-no-event")
    func noEvent() async throws {
        try await ConformanceWorld().expectLogoutRefusal { $0["events"] = nil }
    }

    @Test("oidcc-client-test-rp-backchannel-rpinitlogout-with-nonce")
    func nonce() async throws {
        try await ConformanceWorld().expectLogoutRefusal { $0["nonce"] = "a-nonce" }
    }

    @Test("oidcc-client-test-rp-backchannel-rpinitlogout-wrong-alg")
    func wrongAlgorithm() async throws {
        try await ConformanceWorld { $0.oidc.signatureAlgorithm = "ES256" }.expectLogoutRefusal([.otherAlgorithm])
        try await ConformanceWorld().expectLogoutRefusal([.symmetricWithPublicKey])
    }

    @Test("oidcc-client-test-rp-backchannel-rpinitlogout-wrong-aud")
    func wrongAudience() async throws {
        try await ConformanceWorld().expectLogoutRefusal { $0["aud"] = "another-client" }
    }

    @Test("oidcc-client-test-rp-backchannel-rpinitlogout-wrong-event")
    func wrongEvent() async throws {
        try await ConformanceWorld().expectLogoutRefusal {
            $0["events"] = ["http://schemas.openid.net/event/another": [:]]
        }
    }

    @Test("oidcc-client-test-rp-backchannel-rpinitlogout-wrong-iss")
    func wrongIssuer() async throws {
        try await ConformanceWorld().expectLogoutRefusal { $0["iss"] = "http://evil.test" }
    }
}

@Suite("Conformance, RP-initiated logout (HO-7)") struct InitiatedLogoutConformanceTests {
    @Test("oidcc-client-test-rp-init-logout")
    func initiated() async throws {
        let world = try await ConformanceWorld()
        let browser = try await world.expectSignIn()
        #expect(try await browser.follow("/api/v1.0/logout/?returnTo=%2Fbye").fields["Location"] == "/bye")
        let request = try #require(world.provider.requests.last { $0.path == "/logout" })
        let query = try #require(FormFields(decoding: request.query ?? ""))
        #expect(query["id_token_hint"]?.split(separator: ".").count == 3)
        #expect(query["post_logout_redirect_uri"] == "http://gateway.test/api/v1.0/logout-callback/")
        #expect((query["state"] ?? "").utf8.count >= 43)
        #expect(try await browser.send(.get, world.me).status == .unauthorized)
        #expect(!world.provider.isSignedIn)
    }

    @Test("oidcc-client-test-rp-init-logout-other-state")
    func otherState() async throws { try await expectNoOutcome(.logoutWrongState) }

    @Test("oidcc-client-test-rp-init-logout-no-state")
    func noState() async throws { try await expectNoOutcome(.logoutMissingState) }

    /// Signed out all the same, but an answer that is not this sign-out's leads neither to the app nor on the page's way.
    private func expectNoOutcome(_ fault: ProviderFault) async throws {
        let world = try await ConformanceWorld([fault])
        let browser = world.fixture.browser()
        let (app, _) = try await world.fixture.signedInApp(browser: browser)
        let answer = try await browser.follow("/api/v1.0/logout/?mobile_scheme=stmessages")
        #expect(answer.fields["Location"] == "/")
        #expect(try await app.send(.get, world.me).status == .unauthorized)
        #expect(browser.roundTrips.count == 1, "the sign-out still waits for its own answer")
        #expect(try await browser.follow("/api/v1.0/logout/?returnTo=%2Fbye").fields["Location"] == "/")
    }
}

@Suite("Conformance, third-party-initiated login (HO-3)") struct ThirdPartyConformanceTests {
    private let initiate = "/api/v1.0/initiate-login/"

    @Test("oidcc-client-test-3rd-party-init-login")
    func initiated() async throws {
        let world = try await ConformanceWorld()
        let browser = world.fixture.browser()
        var query: FormFields = ["iss": world.provider.issuer, "login_hint": "alice@example.test"]
        query.append("target_link_uri", "http://gateway.test/inbox?folder=1")
        let answer = try await browser.follow(initiate + "?" + query.encoded)
        #expect(answer.fields["Location"] == "http://gateway.test/inbox?folder=1")
        #expect(try await browser.send(.get, world.me).status == .ok)
        #expect(try world.authorizationRequest()["login_hint"] == "alice@example.test")
    }

    @Test("HO-3: third-party-initiated login also takes a form, and then answers 303")
    func form() async throws {
        let world = try await ConformanceWorld { $0.oidc.extraParameters = ["login_hint": "somebody"] }
        let browser = world.fixture.browser()
        let form: FormFields = ["iss": world.provider.issuer, "login_hint": "alice"]
        let departure = try await browser.post(
            initiate, Array(form.encoded.utf8), fields: ["Content-Type": "application/x-www-form-urlencoded"])
        #expect(departure.status == .seeOther)
        let callback = try await browser.comeBack(from: departure)
        #expect(try world.authorizationRequest().values("login_hint") == ["alice"])
        #expect(try await browser.send(.get, callback).fields["Location"] == "/")
    }

    @Test(
        "HO-3: third-party-initiated login is refused for another issuer and for a target elsewhere",
        arguments: [
            "", "iss=http%3A%2F%2Fevil.test", "iss=http%3A%2F%2Fidp.test%2F",
            "iss=http%3A%2F%2Fidp.test&iss=http%3A%2F%2Fidp.test",
            "iss=http%3A%2F%2Fidp.test&target_link_uri=https%3A%2F%2Fevil.test%2F",
            "iss=http%3A%2F%2Fidp.test&target_link_uri=%2F%2Fevil.test%2F",
            "iss=http%3A%2F%2Fidp.test&target_link_uri=http%3A%2F%2Fgateway.test%40evil.test%2F",
            "iss=http%3A%2F%2Fidp.test&target_link_uri=javascript%3Aalert(1)",
            "iss=http%3A%2F%2Fidp.test&target_link_uri=%2Fa&target_link_uri=%2Fb",
            "iss=http%3A%2F%2Fidp.test&login_hint=" + String(repeating: "a", count: 513),
        ])
    func refusals(query: String) async throws {
        let world = try await ConformanceWorld()
        let browser = world.fixture.browser()
        let answer = try await browser.send(.get, initiate + "?" + query)
        #expect(answer.status == .badRequest)
        #expect(answer.fields["Location"] == nil)
        #expect(browser.roundTrips.isEmpty)
    }

    @Test("HO-3: third-party-initiated logins are limited like all others")
    func limited() async throws {
        let world = try await ConformanceWorld { $0.departuresPerMinute = 2 }
        let query = "?iss=http%3A%2F%2Fidp.test"
        for _ in 0..<2 { #expect(try await world.fixture.browser().send(.get, initiate + query).status == .found) }
        #expect(try await world.fixture.browser().send(.get, initiate + query).status == .tooManyRequests)
    }
}
