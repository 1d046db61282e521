// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreSessions
import NacreTesting
import NacreWire
import Testing

@testable import NacreGateway

@Suite("Several accounts of one app in one browser") struct AppCookieTests {
    private let logout = "/api/v1.0/logout/?mobile_scheme=stmessages&flow=out"

    /// An app's account that has signed in under `flow`, as its own client.
    private func account(_ fixture: GatewayFixture, _ browser: TestBrowser, flow: String?) async throws -> TestBrowser {
        let page = try await browser.follow(
            "/api/v1.0/authenticate/?mobile_scheme=stmessages&code_challenge=\(PKCEPair.challenge)"
                + (flow.map { "&flow=\($0)" } ?? ""))
        let token = try #require(try await page.link()["token"])
        let app = fixture.browser(address: "198.51.100.7")
        #expect(try await app.exchange(token: token, verifier: PKCEPair.verifier).status == .ok)
        return app
    }

    private func isSignedIn(_ app: TestBrowser) async throws -> Bool {
        try await app.send(.get, "/api/v1.0/users/me/").status == .ok
    }

    @Test("HO-7: a sign-out that says which sign-in it ends leaves the others of the app alone, whichever came last")
    func which() async throws {
        for (leaver, stayer) in [("a", "b"), ("b", "a")] {
            let fixture = try await GatewayFixture()
            let browser = fixture.browser()
            let first = try await account(fixture, browser, flow: "a")
            let second = try await account(fixture, browser, flow: "b")
            let apps = ["a": first, "b": second]
            let departure = try await browser.send(.get, logout + "&handoff=\(leaver)")
            let location = try #require(departure.fields["Location"])
            #expect(location.contains("id_token_hint="))
            let (leaving, staying) = (try #require(apps[leaver]), try #require(apps[stayer]))
            #expect(try await !isSignedIn(leaving))
            #expect(try await isSignedIn(staying))
            // Once more: there is nothing left that it could reach.
            _ = try await browser.send(.get, logout + "&handoff=\(leaver)")
            #expect(try await isSignedIn(staying))
            _ = try await browser.send(.get, logout + "&handoff=\(stayer)")
            #expect(try await !isSignedIn(staying))
            #expect(browser.cookies.keys.filter { $0.hasPrefix("nacre_app") }.isEmpty)
        }
    }

    @Test("HO-7: a sign-out that does not say so ends the newest, as it always did")
    func newest() async throws {
        let fixture = try await GatewayFixture()
        let browser = fixture.browser()
        let first = try await account(fixture, browser, flow: "a")
        let second = try await account(fixture, browser, flow: nil)
        _ = try await browser.send(.get, logout)
        #expect(try await isSignedIn(first))
        #expect(try await !isSignedIn(second))
    }

    @Test("A sign-in that this browser does not know is nobody's to end here", arguments: ["zz", "b"])
    func unknown(_ handoff: String) async throws {
        let fixture = try await GatewayFixture()
        let app = try await account(fixture, fixture.browser(), flow: "b")
        let other = fixture.browser()
        let own = try await account(fixture, other, flow: "a")
        _ = try await other.send(.get, logout + "&handoff=\(handoff)")
        #expect(try await isSignedIn(app))
        #expect(try await isSignedIn(own))
    }

    @Test("The parameter has the form of a flow", arguments: ["", "a%20b", "LONG", "a&handoff=a"])
    func form(_ value: String) async throws {
        let fixture = try await GatewayFixture()
        let text = value.replacing("LONG", with: String(repeating: "a", count: 129))
        #expect(try await fixture.browser().send(.get, logout + "&handoff=" + text).status == .badRequest)
    }

    @Test("A browser remembers twenty hand-offs of a scheme; the oldest go, and nothing else does")
    func surplus() throws {
        let cookies = AppCookies(scheme: "stmessages", secure: true)
        let known = (10..<35).map { "nacre_app_stmessages_00000000000000\($0)" }
        let others = ["nacre_app_stmessages", "nacre_app_stmessages_x", "nacre_app_other_0000000000000010", "theme"]
        let fields = [(known + others).map { "\($0)=v" }.joined(separator: "; ")]
        let set = cookies.set("h", flow: "f", age: .seconds(60), carrying: fields)
        let removed = set.filter { $0.contains("Max-Age=0") }.map { String($0.prefix { $0 != "=" }) }
        #expect(removed == Array(known.prefix(6)))
        #expect(set.count == 8 && set.allSatisfy { $0.hasSuffix("; Secure") })
    }

    @Test("No scheme's cookie is another scheme's")
    func names() {
        let flow = AppCookies(scheme: "a", secure: false).cookie(of: "f").name
        let schemes = ["a", "a.b", "a-b", "ab", String(flow.dropFirst("nacre_app_".count))]
        let names = schemes.flatMap { scheme in
            [nil, "f", "g"].map { AppCookies(scheme: scheme, secure: false).cookie(of: $0).name }
        }
        // The last of the schemes is none: schemes hold no underscore.
        #expect(!GatewayConfiguration.isScheme(schemes[4]))
        #expect(Set(names.prefix(12)).count == 12)
    }

    @Test(
        "A provider is asked for a choice of the account in its own words, beside what the configuration asks for",
        arguments: [
            (nil, nil, "select_account"), (nil, "consent", "select_account consent"), (nil, "none", "select_account"),
            (nil, "select_account", "select_account"), (["none", "login"], nil, "login"),
            (["none", "login"], "login consent", "login consent"), (["none", "select_account"], nil, "select_account"),
            (["none"], nil, "select_account"), ([], nil, "select_account"),
        ] as [([String]?, String?, String)])
    func prompt(_ supported: [String]?, _ configured: String?, _ sent: String) async throws {
        var discovery: JSONValue = [
            "issuer": "https://idp.test", "authorization_endpoint": "https://idp.test/a",
            "token_endpoint": "https://idp.test/t", "jwks_uri": "https://idp.test/k",
        ]
        if let supported, case .object(var members) = discovery {
            members["prompt_values_supported"] = .array(supported.map(JSONValue.string))
            discovery = .object(members)
        }
        let metadata = try ProviderMetadata(discovery, issuer: "https://idp.test")
        #expect(metadata.prompt("select_account", beside: configured) == sent)
    }

    @Test("HO-12: an app's wish goes on to the provider, once; without one nothing is asked")
    func departure() async throws {
        for (wish, sent) in [("", ["consent"]), ("&prompt=select_account", ["select_account consent"])] {
            let fixture = try await GatewayFixture { $0.oidc.extraParameters = ["prompt": "consent"] }
            let answer = try await fixture.browser().send(
                .get,
                "/api/v1.0/authenticate/?mobile_scheme=stmessages&code_challenge=\(PKCEPair.challenge)" + wish)
            let location = try #require(answer.fields["Location"])
            let query = try #require(FormFields(decoding: location.split(separator: "?").last ?? ""))
            #expect(query.values("prompt") == sent)
        }
    }
}
