// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreGateway
import NacreHTTP
import NacreTesting
import Testing

/// What the named cases of the OpenID relying-party plans share: our gateway as the client, the misbehaving provider in
/// place of the conformance suite's server. `scripts/conformance` prints them by name.
struct ConformanceWorld {
    let fixture: GatewayFixture
    let web = "/api/v1.0/authenticate/"
    let me = "/api/v1.0/users/me/"

    var provider: MisbehavingProvider { fixture.provider }

    init(
        algorithm: SignatureAlgorithm = .es256, _ faults: Set<ProviderFault> = [],
        configure: (inout GatewayConfiguration) throws -> Void = { _ in }
    ) async throws {
        fixture = try await GatewayFixture(algorithm: algorithm, configure: configure)
        fixture.provider.faults = faults
    }

    /// Authorization, code, tokens, userinfo: the person is signed in under what the provider says of them.
    @discardableResult
    func expectSignIn(_ comment: Comment? = nil) async throws -> TestBrowser {
        let browser = fixture.browser()
        let answer = try await browser.follow(web)
        #expect(answer.status == .found, comment)
        #expect(browser.cookies["sessionid"] != nil, comment)
        let profile = try await browser.send(.get, me).json()
        #expect(profile["email"] == .string(provider.person.email), comment)
        #expect(profile["full_name"] == .string(provider.person.name), comment)
        return browser
    }

    /// The client stops: nobody is signed in, neither a web page nor an app, and with a bad token nobody asks userinfo.
    func expectRefusal(asksUserInfo: Bool = false, status: HTTPStatus = .badGateway) async throws {
        let browser = fixture.browser()
        let answer = try await browser.follow(web)
        #expect(answer.status == status)
        #expect(browser.cookies["sessionid"] == nil)
        let page = try await fixture.browser().follow(
            web + "?mobile_scheme=stmessages&code_challenge=\(PKCEPair.challenge)")
        if status == .badGateway { #expect(try await page.link()["error"] == "login_failed") }
        #expect(try await !page.text().contains("token="))
        #expect((provider.requestCount("/userinfo") > 0) == asksUserInfo)
    }

    /// A logout token as the provider would send it.
    func backchannel(_ token: String) async throws -> HTTPResponse {
        try await fixture.browser().post(
            "/api/v1.0/backchannel-logout/", Array("logout_token=\(token)".utf8),
            fields: ["Content-Type": "application/x-www-form-urlencoded"])
    }

    /// A wrong logout token is a 400 that is not cached, and ends nothing.
    func expectLogoutRefusal(
        _ faults: Set<ProviderFault> = [], changing change: (inout [String: JSONValue]) -> Void = { _ in }
    ) async throws {
        let browser = try await expectSignIn()
        provider.faults = faults
        let answer = try await backchannel(try provider.logoutToken(changing: change))
        provider.faults = []
        #expect(answer.status == .badRequest)
        #expect(answer.fields["Cache-Control"] == "no-store")
        #expect(try await browser.send(.get, me).status == .ok)
        // The right one is obeyed: what was refused is the fault.
        #expect(try await backchannel(try provider.logoutToken()).status == .ok)
        #expect(try await browser.send(.get, me).status == .unauthorized)
    }

    /// The parameters of the last authorization request.
    func authorizationRequest() throws -> FormFields {
        let request = try #require(provider.requests.last { $0.path == "/authorize" })
        return try #require(FormFields(decoding: request.query ?? ""))
    }

    /// The form and the Authorization field of the last token request.
    func tokenRequest() async throws -> (form: FormFields, authorization: String?) {
        let request = try #require(provider.requests.last { $0.path == "/token" })
        let text = String(decoding: try await request.body.collect(upTo: 1 << 16), as: UTF8.self)
        return (try #require(FormFields(decoding: text)), request.fields["Authorization"])
    }
}
