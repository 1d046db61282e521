// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase
import NacreDatabaseTesting
import NacreGateway
import NacreHTTP
import NacreTesting
import Testing

@Suite struct SignOutTests {
    private let logout = "/api/v1.0/logout/"

    @Test("HO-7: the browser's round trip ends both sessions and comes back by a 302 to S://logout")
    func roundTrip() async throws {
        let fixture = try await GatewayFixture()
        let browser = fixture.browser()
        let (app, _) = try await fixture.signedInApp(browser: browser)
        let departure = try await browser.send(.get, logout + "?mobile_scheme=stmessages&flow=f9")
        let location = try #require(departure.fields["Location"])
        let query = try #require(FormFields(decoding: location.split(separator: "?").last ?? ""))
        #expect(query["client_id"] == "messages")
        #expect(query["id_token_hint"] != nil)
        #expect(query["post_logout_redirect_uri"] == "http://gateway.test/api/v1.0/logout-callback/")
        let back = try await browser.visitProvider(location)
        let target = String(try #require(back.fields["Location"]).dropFirst(GatewayFixture.origin.count))
        let end = try await browser.send(.get, target)
        #expect(end.status == .found)
        #expect(end.fields["Location"] == "stmessages://logout?flow=f9")
        #expect(!fixture.provider.isSignedIn)
        #expect(try await app.send(.get, "/api/v1.0/users/me/").status == .unauthorized)
        // Used up: the same return leads nowhere near the app.
        #expect(try await browser.send(.get, target).fields["Location"] == "/")
    }

    @Test("HO-7: without flow the link is exactly S://logout")
    func plainLink() async throws {
        let fixture = try await GatewayFixture()
        let browser = fixture.browser()
        _ = try await fixture.signedInApp(browser: browser)
        #expect(
            try await browser.follow(logout + "?mobile_scheme=stmessages").fields["Location"] == "stmessages://logout")
    }

    @Test("HO-7: an unknown scheme is 400 and ends nothing")
    func unknownScheme() async throws {
        let fixture = try await GatewayFixture()
        let browser = try await fixture.signedInBrowser()
        #expect(try await browser.send(.get, logout + "?mobile_scheme=other").status == .badRequest)
        #expect(try await browser.send(.get, "/api/v1.0/users/me/").status == .ok)
    }

    @Test("HO-7: an abandoned mobile sign-out never diverts a web one, nor one after ten minutes")
    func abandoned() async throws {
        let fixture = try await GatewayFixture()
        let browser = try await fixture.signedInBrowser()
        let mobile = try await browser.send(.get, logout + "?mobile_scheme=stmessages")
        #expect(try await browser.follow(logout).fields["Location"] == "/")
        let back = try await browser.visitProvider(try #require(mobile.fields["Location"]))
        fixture.time.advance(by: .seconds(601))
        let late = try await browser.send(
            .get, String(try #require(back.fields["Location"]).dropFirst(GatewayFixture.origin.count)))
        #expect(late.fields["Location"] == "/")
    }

    @Test("HO-7: a sign-out's state does not serve as a sign-in's")
    func kinds() async throws {
        let fixture = try await GatewayFixture()
        let browser = try await fixture.signedInBrowser()
        let departure = try await browser.send(.get, logout)
        let location = try #require(departure.fields["Location"])
        let query = try #require(FormFields(decoding: location.split(separator: "?").last ?? ""))
        let state = try #require(query["state"])
        #expect(try await browser.send(.get, "/api/v1.0/callback/?code=x&state=\(state)").status == .badRequest)
    }

    @Test("HO-7: with the provider down the person is signed out here and told about the rest")
    func providerDown() async throws {
        let pair = try await GatewayPair()
        let web = try await pair.signedIn(pair.first)
        let browser = pair.browser(pair.first)
        let page = try await browser.follow(
            "/api/v1.0/authenticate/?mobile_scheme=stmessages&code_challenge=\(PKCEPair.challenge)")
        let app = pair.browser(pair.first, address: "198.51.100.7")
        let token = try #require(try await page.link()["token"])
        #expect(try await app.exchange(token: token, verifier: PKCEPair.verifier).status == .ok)
        let untouched = try await pair.signedIn(pair.first)
        // The second process has not asked the provider for anything yet, and cannot now.
        pair.provider.faults = [.down]
        for (leaver, query) in [(web, ""), (browser, "?mobile_scheme=stmessages")] {
            let elsewhere = pair.browser(pair.second)
            elsewhere.cookies = leaver.cookies
            let answer = try await elsewhere.send(.get, logout + query)
            #expect(answer.status == .ok)
            #expect(try await answer.text().contains("still be signed in"))
        }
        pair.provider.faults = []
        // Both had kept their cookies: it is the session that is over.
        for client in [web, app] {
            #expect(client.cookies["sessionid"] != nil)
            #expect(try await client.send(.get, "/api/v1.0/users/me/").status == .unauthorized)
        }
        #expect(try await untouched.send(.get, "/api/v1.0/users/me/").status == .ok)
    }

    @Test("HO-7: the safety net ends the session with its CSRF token, and is idempotent")
    func safetyNet() async throws {
        let fixture = try await GatewayFixture()
        let (app, csrf) = try await fixture.signedInApp()
        let path = "/api/v1.0/mobile/auth/logout/"
        #expect(try await app.send(.post, path).status == .forbidden)
        #expect(try await app.send(.get, "/api/v1.0/users/me/").status == .ok)
        let cookies = app.cookies
        #expect(try await app.send(.post, path, fields: ["X-CSRFToken": csrf]).status == .noContent)
        app.cookies = cookies
        #expect(try await app.send(.get, "/api/v1.0/users/me/").status == .unauthorized)
        #expect(try await app.send(.post, path, fields: ["X-CSRFToken": csrf]).status == .noContent)
        #expect(try await fixture.browser().send(.post, path).status == .noContent)
    }

    @Test(
        "CSRF: a form of another site, which comes without the cookie, does not take the session's cookie away",
        arguments: ["/api/v1.0/mobile/auth/logout/", "/api/v1.0/users/me/", "/api/v1.0/csrf/", "/api/x"])
    func foreignForm(path: String) async throws {
        let fixture = try await GatewayFixture()
        let method: HTTPMethod = path.hasSuffix("/logout/") || path == "/api/x" ? .post : .get
        let answer = try await fixture.browser().send(method, path, fields: ["Origin": "https://evil.test"])
        #expect(answer.fields["Set-Cookie"] == nil)
        let stale = fixture.browser()
        stale.cookies["sessionid"] = Base64URL.encode([UInt8](repeating: 7, count: 32))
        #expect(try await stale.send(method, path).fields["Set-Cookie"]?.hasPrefix("sessionid=;") == true)
    }

    private func backchannel(_ fixture: GatewayFixture, _ token: String) async throws -> HTTPResponse {
        try await fixture.browser().post(
            "/api/v1.0/backchannel-logout/", Array("logout_token=\(token)".utf8),
            fields: ["Content-Type": "application/x-www-form-urlencoded"])
    }

    @Test("HO-7: back-channel logout ends every session of that provider session, once per token")
    func backchannelLogout() async throws {
        let fixture = try await GatewayFixture()
        let (app, _) = try await fixture.signedInApp()
        let browser = try await fixture.signedInBrowser()
        let token = try fixture.provider.logoutToken()
        let answer = try await backchannel(fixture, token)
        #expect(answer.status == .ok)
        #expect(answer.fields["Cache-Control"] == "no-store")
        #expect(try await app.send(.get, "/api/v1.0/users/me/").status == .unauthorized)
        #expect(try await browser.send(.get, "/api/v1.0/users/me/").status == .unauthorized)
        #expect(try await backchannel(fixture, token).status == .badRequest, "a replayed token")
    }

    @Test("HO-7: a logout token that could not be obeyed for want of the database may be sent again")
    func backchannelAgain() async throws {
        let fixture = try await GatewayFixture()
        let browser = try await fixture.signedInBrowser()
        let token = try fixture.provider.logoutToken()
        try await fixture.database.refuse("DELETE", on: "sessions")
        #expect(try await backchannel(fixture, token).status.rawValue >= 500)
        try await fixture.database.allow(on: "sessions")
        #expect(try await browser.send(.get, "/api/v1.0/users/me/").status == .ok)
        #expect(try await backchannel(fixture, token).status == .ok)
        #expect(try await browser.send(.get, "/api/v1.0/users/me/").status == .unauthorized)
    }

    /// What is wrong with a logout token.
    enum Fault: String, CaseIterable, Sendable {
        case otherIssuer, otherAudience, expired, fromTheFuture, noEvent, otherEvent, nonce, nobody, noIdentifier
    }

    @Test("HO-7: a logout token that is not right ends nothing", arguments: Fault.allCases)
    func badLogoutToken(fault: Fault) async throws {
        let fixture = try await GatewayFixture()
        let browser = try await fixture.signedInBrowser()
        let now = fixture.time.now.seconds
        let token = try fixture.provider.logoutToken { claims in
            switch fault {
            case .otherIssuer: claims["iss"] = "http://evil.test"
            case .otherAudience: claims["aud"] = "another-client"
            case .expired: (claims["iat"], claims["exp"]) = (.integer(now - 900), .integer(now - 600))
            case .fromTheFuture: (claims["iat"], claims["exp"]) = (.integer(now + 600), .integer(now + 900))
            case .noEvent: claims["events"] = nil
            case .otherEvent: claims["events"] = ["http://schemas.openid.net/event/other": [:]]
            case .nonce: claims["nonce"] = "n"
            case .nobody: (claims["sub"], claims["sid"]) = (nil, nil)
            case .noIdentifier: claims["jti"] = nil
            }
        }
        #expect(try await backchannel(fixture, token).status == .badRequest)
        #expect(try await browser.send(.get, "/api/v1.0/users/me/").status == .ok)
    }

    @Test(
        "HO-7: an ID token, an unsigned token and no token are no logout tokens",
        arguments: [
            ProviderFault.algorithmNone, .symmetricWithPublicKey, .unknownKey, .wrongSignature,
        ])
    func badSignature(fault: ProviderFault) async throws {
        let fixture = try await GatewayFixture()
        let browser = try await fixture.signedInBrowser()
        let idToken = try fixture.provider.idToken(nonce: nil) {
            $0["events"] = ["http://schemas.openid.net/event/backchannel-logout": [:]]
            $0["jti"] = "1"
        }
        #expect(try await backchannel(fixture, idToken).status == .badRequest)
        fixture.provider.faults = [fault]
        #expect(try await backchannel(fixture, try fixture.provider.logoutToken()).status == .badRequest)
        #expect(try await backchannel(fixture, "nonsense").status == .badRequest)
        fixture.provider.faults = []
        #expect(try await browser.send(.get, "/api/v1.0/users/me/").status == .ok)
    }
}
