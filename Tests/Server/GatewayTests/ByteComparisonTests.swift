// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreGateway
import NacreHTTP
import NacreRouting
import NacreTesting
import Testing

/// Names of issuers, clients and people are compared byte for byte: a Kelvin sign (U+212A), which Swift's `==` takes for a
/// K, is another name everywhere.
@Suite struct ByteComparisonTests {
    private static let issuer = "http://idp.test/K"
    private static let kelvinIssuer = "http://idp.test/\u{212A}"
    private static let clientID = "Kiosk"
    private static let kelvinClient = "\u{212A}iosk"
    private let web = "/api/v1.0/authenticate/"

    private func fixture(
        between: (MisbehavingProvider) -> any HTTPTransport = { $0 }
    ) async throws -> GatewayFixture {
        try await GatewayFixture(issuer: Self.issuer, clientID: Self.clientID, between: between)
    }

    /// Nobody is signed in, and the log says why.
    private func expectRefusal(_ fixture: GatewayFixture, _ code: String) async throws {
        let browser = fixture.browser()
        let answer = try await browser.follow(web)
        #expect(answer.status == .badGateway)
        #expect(browser.cookies["sessionid"] == nil)
        #expect(fixture.sink.text.contains(code))
    }

    @Test("HO-3: the right names sign in, so what the others refuse is the Kelvin sign")
    func control() async throws {
        let fixture = try await fixture()
        fixture.provider.person = ProviderPerson(subject: "Kim")
        _ = try await fixture.signedInBrowser()
    }

    @Test("HO-3: the answer's iss parameter (RFC 9207) with a Kelvin sign is another provider's")
    func responseIssuer() async throws {
        let fixture = try await fixture()
        let browser = fixture.browser()
        let callback = try await browser.depart(web)
        let own = PercentEncoding.encode(Self.issuer)
        #expect(callback.contains("iss=\(own)"))
        let bent = callback.replacing("iss=\(own)", with: "iss=\(PercentEncoding.encode(Self.kelvinIssuer))")
        _ = try await browser.send(.get, bent)
        #expect(browser.cookies["sessionid"] == nil)
        #expect(fixture.provider.requestCount("/K/token") == 0)
    }

    @Test("HO-3: a discovery document whose issuer has a Kelvin sign is another issuer's")
    func discovery() async throws {
        let fixture = try await fixture { provider in
            ClosureTransport { request in
                let answer = try await provider.send(request)
                guard request.path.hasSuffix("/openid-configuration") else { return answer }
                var members = try await answer.json().object ?? [:]
                members["issuer"] = .string(Self.kelvinIssuer)
                return .json(.object(members))
            }
        }
        try await expectRefusal(fixture, "oidc.issuer_mismatch")
    }

    @Test("HO-3: a profile whose subject has a Kelvin sign is somebody else's")
    func subject() async throws {
        let fixture = try await fixture { provider in
            ClosureTransport { request in
                request.path.hasSuffix("/userinfo")
                    ? .json(["sub": "\u{212A}im"]) : try await provider.send(request)
            }
        }
        fixture.provider.person = ProviderPerson(subject: "Kim")
        try await expectRefusal(fixture, "oidc.userinfo_subject")
    }

    @Test(
        "HO-3: a signed profile of an issuer or for a client with a Kelvin sign, or of another, is refused",
        arguments: [
            ("iss", Self.kelvinIssuer), ("aud", Self.kelvinClient), ("iss", "http://evil.test"), ("aud", "another"),
        ])
    func signedProfile(claim: String, value: String) async throws {
        let fixture = try await fixture { provider in
            ClosureTransport { request in
                guard request.path.hasSuffix("/userinfo") else { return try await provider.send(request) }
                let token = try provider.idToken(nonce: nil) { $0[claim] = .string(value) }
                return HTTPResponse(fields: ["Content-Type": "application/jwt"], body: .text(token))
            }
        }
        try await expectRefusal(fixture, "oidc.userinfo")
    }

    @Test("HO-3: a third party that names an issuer with a Kelvin sign begins no sign-in")
    func initiate() async throws {
        let fixture = try await fixture()
        for (issuer, status) in [(Self.issuer, HTTPStatus.found), (Self.kelvinIssuer, .badRequest)] {
            let answer = try await fixture.browser().send(
                .get, "/api/v1.0/initiate-login/?iss=\(PercentEncoding.encode(issuer))")
            #expect(answer.status == status)
        }
    }
}
