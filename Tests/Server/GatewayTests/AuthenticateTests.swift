// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreGateway
import NacreHTTP
import NacreTesting
import Testing

@Suite struct AuthenticateTests {
    private let path = "/api/v1.0/authenticate/"
    private var challenge: String { PKCEPair.challenge }

    private func query(of response: HTTPResponse) throws -> FormFields {
        let location = try #require(response.fields["Location"])
        return try #require(FormFields(decoding: location.split(separator: "?").last ?? ""))
    }

    @Test(
        "HO-1: a scheme that is not listed exactly is 400",
        arguments: [
            "other", "STMESSAGES", "stMessages", "", "st_messages", "_", "st%20messages", "stmessages%00", "1messages",
            "stmessages:", "http", "javascript",
        ])
    func unknownScheme(scheme: String) async throws {
        let fixture = try await GatewayFixture()
        let response = try await fixture.browser().send(
            .get, "\(path)?mobile_scheme=\(scheme)&code_challenge=\(challenge)")
        #expect(response.status == .badRequest)
        #expect(fixture.provider.requestCount("/authorize") == 0)
    }

    @Test("HO-1: an empty list disables mobile sign-in, and web sign-in stays")
    func disabled() async throws {
        let fixture = try await GatewayFixture { $0.callbackSchemes = [] }
        let mobile = try await fixture.browser().send(
            .get, "\(path)?mobile_scheme=stmessages&code_challenge=\(challenge)")
        #expect(mobile.status == .badRequest)
        #expect(try await fixture.browser().send(.get, path).status == .found)
    }

    @Test(
        "HO-1: a challenge that is not 43 base64url characters is 400",
        arguments: [
            "", "short", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-c", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cMM",
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw.cM", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw%2BcM",
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw%C3%A9M",
        ])
    func badChallenge(challenge: String) async throws {
        let fixture = try await GatewayFixture()
        let response = try await fixture.browser().send(
            .get, "\(path)?mobile_scheme=stmessages&code_challenge=\(challenge)")
        #expect(response.status == .badRequest)
    }

    @Test(
        "HO-1: a missing challenge, another method, a doubled or malformed parameter is 400",
        arguments: [
            "mobile_scheme=stmessages",
            "mobile_scheme=stmessages&code_challenge=C&code_challenge_method=plain",
            "mobile_scheme=stmessages&code_challenge=C&code_challenge_method=s256",
            "mobile_scheme=stmessages&code_challenge=C&code_challenge_method=",
            "mobile_scheme=stmessages&mobile_scheme=stmessages&code_challenge=C",
            "mobile_scheme=stmessages&code_challenge=C&code_challenge=C",
            "mobile_scheme=stmessages&code_challenge=C&flow=",
            "mobile_scheme=stmessages&code_challenge=C&flow=a%20b",
            "mobile_scheme=stmessages&code_challenge=C&flow=LONG",
            "mobile_scheme=stmessages&code_challenge=C&prompt=none",
            "mobile_scheme=stmessages&code_challenge=C&prompt=select_account%20login",
            "mobile_scheme=stmessages&code_challenge=C&prompt=login&prompt=login", "prompt=consent", "prompt=",
            "mobile_scheme=%ZZ&code_challenge=C",
        ])
    func badParameters(query: String) async throws {
        let fixture = try await GatewayFixture()
        let target = query.replacing("=C", with: "=\(challenge)").replacing(
            "LONG", with: String(repeating: "a", count: 129))
        #expect(try await fixture.browser().send(.get, "\(path)?\(target)").status == .badRequest)
    }

    @Test("HO-1: 400 is a page for a browser and JSON for a program")
    func refusalForms() async throws {
        let fixture = try await GatewayFixture()
        let target = "\(path)?mobile_scheme=other&code_challenge=\(challenge)"
        let page = try await fixture.browser().send(.get, target)
        #expect(page.fields["Content-Type"]?.hasPrefix("text/html") == true)
        let program = try await fixture.browser().send(.get, target, fields: ["Accept": "application/json"])
        #expect(try await program.json()["code"] == "sign_in.parameter")
    }

    @Test("HO-3: the request to the provider has state, nonce, PKCE S256 and the extra parameters")
    func authorizationRequest() async throws {
        let fixture = try await GatewayFixture()
        let response = try await fixture.browser().send(.get, path)
        let query = try query(of: response)
        #expect(query["response_type"] == "code")
        #expect(query["client_id"] == "messages")
        #expect(query["redirect_uri"] == "http://gateway.test/api/v1.0/callback/")
        #expect(query["scope"] == "openid email profile")
        #expect(query["code_challenge_method"] == "S256")
        #expect(query["code_challenge"]?.utf8.count == 43)
        #expect(query["acr_values"] == "eidas1")
        #expect(query["state"] != nil && query["nonce"] != nil && query["state"] != query["nonce"])
        #expect(response.fields["Cache-Control"] == "no-store")
    }

    @Test("HO-3: PKCE is left out only where the provider does not announce it")
    func withoutPKCE() async throws {
        let fixture = try await GatewayFixture()
        fixture.provider.advertisesPKCE = false
        let browser = fixture.browser()
        let response = try await browser.send(.get, path)
        #expect(try query(of: response)["code_challenge"] == nil)
        #expect(try await browser.follow(path).status == .found)
    }

    @Test("HO-3: an essential level is asked for and must be reached")
    func essentialLevel() async throws {
        let fixture = try await GatewayFixture { $0.oidc.essentialContexts = ["eidas1"] }
        let query = try query(of: try await fixture.browser().send(.get, path))
        #expect(query["claims"] == #"{"id_token":{"acr":{"essential":true,"values":["eidas1"]}}}"#)
        #expect(try await fixture.browser().follow(path).fields["Location"] == "/")
        fixture.provider.faults = [.missingContext]
        #expect(try await fixture.browser().follow(path).status == .badGateway)
    }

    @Test(
        "returnTo leads to a path of ours or a listed origin, never elsewhere",
        arguments: [
            ("/threads/7?x=1", 302), ("http://gateway.test/a", 302), ("https://web.test/a", 302),
            ("https://evil.test/", 400), ("//evil.test/", 400), ("/%5Cevil.test", 400),
            ("https://web.test.evil.test/", 400),
            ("https://web.test@evil.test/", 400), ("javascript:alert(1)", 400), ("http://web.test/", 400),
            ("/a%0D%0ASet-Cookie:%20x=y", 400), ("evil", 400),
        ])
    func returnTo(target: String, status: Int) async throws {
        let fixture = try await GatewayFixture { $0.webOrigins = [try Origin("https://web.test")] }
        let encoded = target.contains("%") ? target : PercentEncoding.encode(target)
        let response = try await fixture.browser().send(.get, "\(path)?returnTo=\(encoded)")
        #expect(response.status.rawValue == status)
    }

    @Test("HO-2: a web sign-in ends on the page it was for, with a session cookie")
    func webSignIn() async throws {
        let fixture = try await GatewayFixture()
        let browser = fixture.browser()
        let response = try await browser.follow("\(path)?returnTo=%2Fthreads%2F7")
        #expect(response.status == .found)
        #expect(response.fields["Location"] == "/threads/7")
        let cookie = try #require(response.fields.values("Set-Cookie").first { $0.hasPrefix("sessionid=") })
        #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && !cookie.contains("Secure"))
        let me = try await browser.send(.get, "/api/v1.0/users/me/")
        #expect(try await me.json()["full_name"] == "Alice Martin")
    }

    @Test("HO-1: the callback challenge without a scheme is a web sign-in like any other")
    func challengeWithoutScheme() async throws {
        let fixture = try await GatewayFixture()
        let response = try await fixture.browser().follow("\(path)?code_challenge=nonsense")
        #expect(response.status == .found)
    }
}
