// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreGateway
import NacreHTTP
import NacreTesting
import Testing

@Suite struct CallbackTests {
    private let web = "/api/v1.0/authenticate/"
    private func mobile(_ scheme: String = "stmessages", flow: String? = nil) -> String {
        "/api/v1.0/authenticate/?mobile_scheme=\(scheme)&code_challenge=\(PKCEPair.challenge)"
            + (flow.map { "&flow=\($0)" } ?? "")
    }

    @Test("HO-4: the hand-off page is a 200 under a strict policy that leads to the app by itself and by a button")
    func handOffPage() async throws {
        let fixture = try await GatewayFixture()
        let browser = fixture.browser()
        let page = try await browser.follow(mobile(flow: "flow-123"))
        #expect(page.status == .ok)
        #expect(page.fields["Location"] == nil)
        #expect(page.fields["Cache-Control"] == "no-store")
        let policy = try #require(page.fields["Content-Security-Policy"])
        #expect(policy.contains("default-src 'none'") && !policy.contains("unsafe"))
        let target = try await page.target()
        #expect(target.hasPrefix("stmessages://auth?token="))
        let link = try await page.link()
        #expect(link["flow"] == "flow-123")
        #expect(Base64URL.decode(link["token"] ?? "")?.count == 32)
        let text = try await page.text()
        #expect(text.contains("http-equiv=\"refresh\" content=\"0;url=stmessages://auth?token="))
        #expect(!text.contains("<script"))
        #expect(browser.trail.allSatisfy { !$0.hasPrefix("stmessages:") })
    }

    @Test(
        "HO-4: the hand-off page speaks French to a French browser",
        arguments: [
            ("fr-FR,fr;q=0.9,en;q=0.8", "Ouvrir Messages"), ("de,en;q=0.5", "Open Messages"),
            ("en;q=0.2, fr;q=0.1", "Open"),
        ])
    func language(accept: String, button: String) async throws {
        let fixture = try await GatewayFixture()
        let browser = fixture.browser()
        let callback = try await browser.depart(mobile())
        let page = try await browser.send(
            .get, callback, fields: ["Accept": "text/html", "Accept-Language": accept])
        #expect(try await page.text().contains(button))
    }

    @Test(
        "HO-5: a refusal at the provider leads to error=access_denied, any other failure to login_failed",
        arguments: [
            (ProviderFault.accessDenied, "access_denied"), (.invalidGrant, "login_failed"),
            (.invalidClient, "login_failed"),
            (.wrongNonce, "login_failed"), (.tokenEndpointDown, "login_failed"),
        ])
    func failures(fault: ProviderFault, error: String) async throws {
        let fixture = try await GatewayFixture()
        fixture.provider.faults = [fault]
        let page = try await fixture.browser().follow(mobile(flow: "f1"))
        #expect(page.status == .ok)
        let link = try await page.link()
        #expect(link["error"] == error)
        #expect(link["flow"] == "f1")
        #expect(link["token"] == nil)
    }

    @Test(
        "HO-3: an ID token or answer that is not right signs nobody in",
        arguments: [
            ProviderFault.wrongIssuer, .wrongAudience, .wrongAuthorizedParty, .wrongNonce, .missingNonce, .expired,
            .fromTheFuture, .algorithmNone, .symmetricWithPublicKey, .unknownKey, .wrongSignature,
            .wrongAccessTokenHash,
            .wrongResponseIssuer,
        ])
    func badTokens(fault: ProviderFault) async throws {
        let fixture = try await GatewayFixture()
        fixture.provider.faults = [fault]
        let browser = fixture.browser()
        let response = try await browser.follow(web)
        #expect(response.status == .badGateway)
        #expect(browser.cookies["sessionid"] == nil)
        let link = try await fixture.browser().follow(mobile()).link()
        #expect(link["error"] == "login_failed")
    }

    @Test("HO-3: an answer without iss is refused where the provider announces it (RFC 9207)")
    func missingResponseIssuer() async throws {
        let fixture = try await GatewayFixture()
        let browser = fixture.browser()
        let callback = try await browser.depart(web)
        let parts = callback.split(separator: "&").filter { !$0.hasPrefix("iss=") }
        #expect(try await browser.send(.get, parts.joined(separator: "&")).status == .badGateway)
        fixture.provider.advertisesResponseIssuer = false
        fixture.time.advance(by: .seconds(3601))
        _ = try await fixture.signedInBrowser()
    }

    @Test("HO-3: where one algorithm is configured no other is accepted", arguments: [("ES256", 302), ("RS256", 502)])
    func configuredAlgorithm(name: String, status: Int) async throws {
        let fixture = try await GatewayFixture { $0.oidc.signatureAlgorithm = name }
        #expect(try await fixture.browser().follow(web).status.rawValue == status)
    }

    @Test("HO-3: a key that the provider rotated in is fetched")
    func rotation() async throws {
        let fixture = try await GatewayFixture()
        _ = try await fixture.signedInBrowser()
        try fixture.provider.rotateKeys()
        fixture.time.advance(by: .seconds(11))
        _ = try await fixture.signedInBrowser()
    }

    @Test("HO-2: a callback with a foreign, replayed or missing state changes nothing")
    func foreignState() async throws {
        let fixture = try await GatewayFixture()
        let browser = fixture.browser()
        let callback = try await browser.depart(mobile())
        let stranger = fixture.browser()
        _ = try await stranger.send(.get, web)
        #expect(try await stranger.send(.get, callback).status == .badRequest)
        #expect(try await fixture.browser().send(.get, callback).status == .badRequest)
        #expect(try await browser.send(.get, "/api/v1.0/callback/?code=x").status == .badRequest)
        #expect(try await browser.send(.get, "/api/v1.0/callback/?code=x&state=guess").status == .badRequest)
        // The browser's own record was left alone by all of these, serves once, and not twice.
        #expect(try await browser.send(.get, callback).status == .ok)
        #expect(try await browser.send(.get, callback).status == .badRequest)
    }

    @Test("HO-2: a record older than ten minutes is ignored")
    func tenMinutes() async throws {
        let fixture = try await GatewayFixture()
        let browser = fixture.browser()
        let late = try await browser.depart(mobile())
        fixture.time.advance(by: .seconds(601))
        let response = try await browser.send(.get, late)
        #expect(response.status == .badRequest)
        #expect(browser.cookies["sessionid"] == nil)
        let inTime = try await browser.depart(mobile())
        fixture.time.advance(by: .seconds(600))
        #expect(try await browser.send(.get, inTime).status == .ok)
    }

    @Test("HO-2: overlapping web and mobile sign-ins each get their own outcome, in any order")
    func overlapping() async throws {
        let fixture = try await GatewayFixture()
        let browser = fixture.browser()
        let first = try await browser.depart(mobile(flow: "first"))
        let second = try await browser.depart(web + "?returnTo=%2Fweb")
        let third = try await browser.depart(mobile("stcalendar", flow: "third"))
        let webAnswer = try await browser.send(.get, second)
        #expect(webAnswer.fields["Location"] == "/web")
        let calendar = try await browser.send(.get, third)
        #expect(try await calendar.target().hasPrefix("stcalendar://auth?token="))
        #expect(try await calendar.link()["flow"] == "third")
        let messages = try await browser.send(.get, first)
        #expect(try await messages.target().hasPrefix("stmessages://auth?token="))
        #expect(try await messages.link()["flow"] == "first")
    }

    @Test("HO-2: an abandoned mobile sign-in does not divert a later web one")
    func abandoned() async throws {
        let fixture = try await GatewayFixture()
        let browser = fixture.browser()
        _ = try await browser.send(.get, mobile())
        #expect(try await browser.follow(web).fields["Location"] == "/")
    }

    @Test("HO-4: a mobile sign-in leaves the browser's own web session alone")
    func webSessionStays() async throws {
        let fixture = try await GatewayFixture()
        let browser = try await fixture.signedInBrowser()
        let before = browser.cookies["sessionid"]
        _ = try await fixture.signedInApp(browser: browser)
        #expect(browser.cookies["sessionid"] == before)
        #expect(try await browser.send(.get, "/api/v1.0/users/me/").status == .ok)
    }
}
