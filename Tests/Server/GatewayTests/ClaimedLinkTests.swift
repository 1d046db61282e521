// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreGateway
import NacreHTTP
import NacreTesting
import Testing

@Suite("HO-14: claimed links") struct ClaimedLinkTests {
    private static let phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15"
    private static let print = Array(repeating: "AB", count: 32).joined(separator: ":")
    private static let mac = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15"
    private let target =
        "/api/v1.0/authenticate/?mobile_scheme=stmessages&code_challenge=\(PKCEPair.challenge)&flow=f1"

    private func fixture() async throws -> GatewayFixture {
        try await GatewayFixture { configuration in
            configuration.claimedLinks.links["stmessages"] = try WebURL(GatewayFixture.origin + "/app")
            configuration.claimedLinks.appleApps = ["A1B2C3D4E5.org.example.messages"]
            configuration.claimedLinks.androidApps = ["org.example.messages": [Self.print.lowercased()]]
        }
    }

    private func handOff(_ fixture: GatewayFixture, agent: String) async throws -> HTTPResponse {
        let browser = fixture.browser()
        let callback = try await browser.depart(target)
        return try await browser.send(.get, callback, fields: ["Accept": "text/html", "User-Agent": agent])
    }

    @Test(
        "HO-14: the hand-off goes to the claimed link where systems have such links, else to the scheme",
        arguments: [
            (phone, "http://gateway.test/app/auth"),
            ("Mozilla/5.0 (Linux; Android 15)", "http://gateway.test/app/auth"),
            (mac + " (KHTML, like Gecko) Version/18.5 Safari/605.1.15", "http://gateway.test/app/auth"),
            (
                mac + " (KHTML, like Gecko) CriOS/137.0.7151.56 Version/11.1.1 Safari/605.1.15",
                "http://gateway.test/app/auth"
            ),
            (mac + " (KHTML, like Gecko) Chrome/137.0.0.0 Safari/537.36", "stmessages://auth"),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:139.0) Gecko/20100101 Firefox/139.0",
                "stmessages://auth"
            ),
            ("Mozilla/5.0 (X11; Linux x86_64)", "stmessages://auth"), ("", "stmessages://auth"),
        ])
    func handOff(agent: String, place: String) async throws {
        let page = try await handOff(try await fixture(), agent: agent)
        #expect(page.status == .ok)
        #expect(try await page.target().hasPrefix(place + "?token="))
        #expect(try await page.link()["flow"] == "f1")
    }

    @Test(
        "HO-14: where no app of the browser's system may claim the link, the scheme stays",
        arguments: [
            (phone, true, false, "http://gateway.test/app/auth"), (phone, false, true, "stmessages://auth"),
            ("Mozilla/5.0 (Linux; Android 15)", true, false, "stmessages://auth"),
            ("Mozilla/5.0 (Linux; Android 15)", false, true, "http://gateway.test/app/auth"),
        ])
    func oneSystem(agent: String, apple: Bool, android: Bool, place: String) async throws {
        let fixture = try await GatewayFixture { configuration in
            configuration.claimedLinks.links["stmessages"] = try WebURL(GatewayFixture.origin + "/app")
            if apple { configuration.claimedLinks.appleApps = ["A1B2C3D4E5.org.example.messages"] }
            if android { configuration.claimedLinks.androidApps = ["org.example.messages": [Self.print]] }
        }
        #expect(try await handOff(fixture, agent: agent).target().hasPrefix(place + "?token="))
    }

    @Test("HO-14: a scheme without a link stays a scheme everywhere")
    func otherScheme() async throws {
        let fixture = try await fixture()
        let browser = fixture.browser()
        let callback = try await browser.depart(
            "/api/v1.0/authenticate/?mobile_scheme=stcalendar&code_challenge=\(PKCEPair.challenge)")
        let page = try await browser.send(.get, callback, fields: ["Accept": "text/html", "User-Agent": Self.phone])
        #expect(try await page.target().hasPrefix("stcalendar://auth?"))
    }

    @Test("HO-14: opened without the app the link shows a page and spends nothing: the token still exchanges")
    func withoutApp() async throws {
        let fixture = try await fixture()
        let handOff = try await handOff(fixture, agent: Self.phone)
        let link = try await handOff.target()
        let token = try #require(try await handOff.link()["token"])
        for _ in 0..<2 {
            let page = try await fixture.browser().send(.get, String(link.dropFirst(GatewayFixture.origin.count)))
            #expect(page.status == .ok)
            #expect(page.fields["Cache-Control"] == "no-store")
            #expect(page.fields["Referrer-Policy"] == "no-referrer")
            #expect(page.fields["Set-Cookie"] == nil)
            let text = try await page.text()
            #expect(text.contains("belongs to the Messages app"))
            #expect(!text.contains(token) && !text.contains("http-equiv=\"refresh\"") && !text.contains("stmessages:"))
        }
        let answer = try await fixture.browser().exchange(token: token, verifier: PKCEPair.verifier)
        #expect(answer.status == .ok)
        #expect(!fixture.sink.text.contains(token))
    }

    @Test("HO-14: a sign-out comes back by the claimed link too")
    func signOut() async throws {
        let fixture = try await fixture()
        let browser = fixture.browser()
        _ = try await fixture.signedInApp(browser: browser)
        let departure = try await browser.send(.get, "/api/v1.0/logout/?mobile_scheme=stmessages")
        let back = try await browser.visitProvider(try #require(departure.fields["Location"]))
        let place = String(try #require(back.fields["Location"]).dropFirst(GatewayFixture.origin.count))
        let end = try await browser.send(.get, place, fields: ["User-Agent": Self.phone])
        #expect(end.fields["Location"] == "http://gateway.test/app/logout")
        #expect(try await browser.send(.get, "/app/logout").status == .ok)
    }

    @Test("HO-14: the association files name the apps, as JSON, without a redirect")
    func associations() async throws {
        let fixture = try await fixture()
        let apple = try await fixture.browser().send(.get, "/.well-known/apple-app-site-association")
        #expect(apple.status == .ok)
        #expect(apple.fields["Content-Type"] == "application/json")
        let value = try await apple.json()
        #expect(value["applinks"]?["details"]?.array?.first?["appIDs"] == ["A1B2C3D4E5.org.example.messages"])
        #expect(value["applinks"]?["details"]?.array?.first?["components"] == [["/": "/app/*"]])
        #expect(value["webcredentials"]?["apps"] == ["A1B2C3D4E5.org.example.messages"])
        let android = try await fixture.browser().send(.get, "/.well-known/assetlinks.json")
        let statement = try #require(try await android.json().array?.first)
        #expect(statement["relation"] == ["delegate_permission/common.handle_all_urls"])
        #expect(statement["target"]?["package_name"] == "org.example.messages")
        #expect(statement["target"]?["sha256_cert_fingerprints"] == [.string(Self.print)])
        let plain = try await GatewayFixture()
        for path in ["apple-app-site-association", "assetlinks.json"] {
            #expect(try await plain.browser().send(.get, "/.well-known/" + path).status == .notFound)
        }
    }

    @Test(
        "HO-14: a link that is not ours, and an app that cannot be, stop the start",
        arguments: [
            { $0.links["stmessages"] = try WebURL("https://other.example.org/app") },
            { $0.links["stmessages"] = try WebURL("http://gateway.test/app") },
            { $0.links["stmessages"] = try WebURL("https://gateway.test/") },
            { $0.links["stmessages"] = try WebURL("https://gateway.test/api/v1.0") },
            { $0.links["stmessages"] = try WebURL("https://gateway.test/app?x=1") },
            { $0.links["unknown"] = try WebURL("https://gateway.test/app") },
            { $0.appleApps = ["org.example.messages"] }, { $0.appleApps = ["a1b2c3d4e5.org.example"] },
            { $0.androidApps = ["org.example.messages": []] }, { $0.androidApps = ["org.example.messages": ["AB:CD"]] },
        ] as [@Sendable (inout ClaimedLinks) throws -> Void])
    func configuration(change: @Sendable (inout ClaimedLinks) throws -> Void) throws {
        var links = ClaimedLinks()
        links.links["stmessages"] = try WebURL("https://gateway.test/app")
        let origin = try Origin("https://gateway.test")
        try links.validate(origin: origin, schemes: ["stmessages"])
        try change(&links)
        let error = #expect(throws: NacreError.self) { try links.validate(origin: origin, schemes: ["stmessages"]) }
        #expect(error?.code == "configuration.value")
    }
}
