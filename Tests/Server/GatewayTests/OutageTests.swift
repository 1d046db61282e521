// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase
import NacreGateway
import NacreHTTP
import NacreRouting
import NacreTesting
import Testing

@Suite struct OutageTests {
    private let web = "/api/v1.0/authenticate/"
    private var mobile: String { web + "?mobile_scheme=stmessages&code_challenge=\(PKCEPair.challenge)" }

    @Test(
        "HO-3: the provider down, broken or answering HTML: a clear page, and the app is told",
        arguments: [
            (ProviderFault.down, "oidc.unreachable"), (.html, "oidc.not_json"), (.serverError, "oidc.status"),
        ])
    func outage(fault: ProviderFault, code: String) async throws {
        let fixture = try await GatewayFixture()
        fixture.provider.faults = [fault]
        let program = try await fixture.browser().send(.get, web, fields: ["Accept": "application/json"])
        #expect(program.status == .badGateway)
        #expect(try await program.json()["code"] == .string(code))
        let page = try await fixture.browser().send(.get, web)
        #expect(page.status == .badGateway)
        #expect(try await page.text().contains("cannot be reached"))
        let app = try await fixture.browser().send(.get, mobile)
        #expect(app.status == .ok)
        #expect(try await app.link()["error"] == "login_failed")
    }

    @Test("HO-3: a slow provider is given up after ten seconds and called slow")
    func slow() async throws {
        let fixture = try await GatewayFixture()
        fixture.provider.faults = [.slow]
        let browser = fixture.browser()
        async let answer = browser.send(.get, "/api/v1.0/authenticate/")
        // The provider's sleep and the gateway's limit.
        try await until { fixture.time.sleeperCount >= 2 }
        fixture.time.advance(by: .seconds(10))
        let page = try await answer
        #expect(page.status == .gatewayTimeout)
        #expect(try await page.text().contains("too long"))
    }

    @Test("A database that takes nothing is named as such, and not as the provider's outage")
    func storage() async throws {
        let fixture = try await GatewayFixture()
        let begun = fixture.browser()
        let callback = try await begun.depart(web)
        for table in ["gateway_pending", "sessions"] {
            try await fixture.database.write { sql in
                try sql.executeScript(
                    "CREATE TRIGGER \(table)_full BEFORE INSERT ON \(table) BEGIN SELECT RAISE(ABORT, 'no'); END")
            }
        }
        let page = try await fixture.browser().send(.get, web)
        #expect(page.status == .serviceUnavailable)
        #expect(try await page.text().contains("cannot store anything"))
        let program = try await fixture.browser().send(.get, web, fields: ["Accept": "application/json"])
        #expect(program.status == .serviceUnavailable)
        #expect(try await program.json()["code"] == "storage_unavailable")
        let app = try await fixture.browser().send(.get, mobile)
        #expect(try await app.link()["error"] == "login_failed")
        #expect(try await app.text().contains("cannot store anything"))
        #expect(try await begun.send(.get, callback).status == .serviceUnavailable)
        #expect(begun.cookies["sessionid"] == nil)
    }

    @Test("HO-3: another issuer's discovery document is refused")
    func issuerMismatch() async throws {
        let fixture = try await GatewayFixture { $0.oidc.issuer += "/" }
        let page = try await fixture.browser().send(.get, web, fields: ["Accept": "application/json"])
        #expect(page.status == .badGateway)
        #expect(try await page.json()["code"] == "oidc.issuer_mismatch")
    }

    @Test("HO-3: the profile must be the signed-in person's")
    func userInfoSubject() async throws {
        let fixture = try await GatewayFixture()
        // The provider gives the tokens; somebody between gives another profile.
        let provider = fixture.provider
        let between = ClosureTransport { request in
            request.path == "/userinfo" ? .json(["sub": "somebody-else"]) : try await provider.send(request)
        }
        let browser = try await fixture.browser(through: between)
        #expect(try await browser.follow(web).status == .badGateway)
        #expect(browser.cookies["sessionid"] == nil)
    }

    @Test("HO-3: a discovery document that was read once serves for an hour")
    func cached() async throws {
        let fixture = try await GatewayFixture()
        _ = try await fixture.signedInBrowser()
        _ = try await fixture.signedInBrowser()
        #expect(fixture.provider.requestCount("/.well-known/openid-configuration") == 1)
        fixture.time.advance(by: .seconds(3601))
        _ = try await fixture.signedInBrowser()
        #expect(fixture.provider.requestCount("/.well-known/openid-configuration") == 2)
    }
}
