// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase
import NacreHTTP
import NacreJOSE
import NacreProvider
import NacreTesting
import Testing

@Suite("PV-1: sign-out and keys")
struct LogoutTests {
    private static let back = "http://localhost:8901/api/v1.0/logout-callback/"

    private func target(_ fields: FormFields) -> String { "/logout?" + fields.encoded }

    private func signedIn(_ world: ProviderWorld) async throws -> (browser: TestBrowser, tokens: JSONValue) {
        let browser = world.browser()
        let code = try #require(try await browser.signIn().member("code"))
        return (browser, try await world.redeem(code).json)
    }

    @Test("HO-7: with the person's own ID token sign-out asks nothing, leads back, and ends every client's tokens")
    func withHint() async throws {
        let world = try await ProviderWorld()
        let (browser, tokens) = try await signedIn(world)
        world.time.advance(by: .seconds(86_400))
        let answer = try await browser.get(
            target([
                "id_token_hint": try #require(tokens["id_token"]?.string), "post_logout_redirect_uri": Self.back,
                "state": "a b&c", "client_id": "messages",
            ]))
        #expect(answer.status == .found)
        #expect(answer.location == Self.back + "?state=a%20b%26c")
        #expect(browser.cookies["nacre_idp"] == nil)
        #expect(try await browser.authorize().isForm)
        #expect(try await world.refresh(try #require(tokens["refresh_token"]?.string)).json["error"] == "invalid_grant")
        #expect(world.sink.events.contains("logout.done"))
    }

    @Test("HO-7: the session ends also when the browser lost its cookie")
    func withoutCookie() async throws {
        let world = try await ProviderWorld()
        let (browser, tokens) = try await signedIn(world)
        let hint = try #require(tokens["id_token"]?.string)
        let answer = try await world.browser().get(
            target(["id_token_hint": hint, "post_logout_redirect_uri": Self.back]))
        #expect(answer.location == Self.back)
        #expect(try await browser.authorize().isForm)
    }

    @Test("Without a hint, or with somebody else's, the person is asked; No changes nothing, Yes leads back")
    func question() async throws {
        let world = try await ProviderWorld()
        let (browser, _) = try await signedIn(world)
        let other = world.browser()
        let code = try #require(
            try await other.signIn(username: "bruno", password: "bruno-password-1").member("code"))
        let hint = try #require(try await world.redeem(code).json["id_token"]?.string)
        #expect(try await browser.get(target(["id_token_hint": hint])).attempt != nil)
        let page = try await browser.get(
            target(["client_id": "messages", "post_logout_redirect_uri": Self.back, "state": "s"]))
        #expect(page.status == .ok)
        #expect(page.text.contains("Sign out?"))
        #expect(
            page.fields["Content-Security-Policy"]?.contains("form-action 'self' http://localhost:8901;") == true)
        let no = try await browser.post("/logout/confirm", ["attempt": page.attempt ?? "", "action": "cancel"])
        #expect(no.text.contains("still signed in"))
        #expect(try await browser.authorize().member("code") != nil)
        let forged = try await world.browser().post("/logout/confirm", ["attempt": page.attempt ?? ""])
        #expect(forged.status == .badRequest)
        let yes = try await browser.post("/logout/confirm", ["attempt": page.attempt ?? ""])
        #expect(yes.status == .seeOther)
        #expect(yes.location == Self.back + "?state=s")
        #expect(try await browser.authorize().isForm)
    }

    @Test("Whoever signs out where somebody else has signed in since is led back; only their own session has ended")
    func other() async throws {
        let world = try await ProviderWorld()
        let (browser, tokens) = try await signedIn(world)
        let hint = try #require(tokens["id_token"]?.string)
        let page = try await browser.authorize(["prompt": "select_account"])
        _ = try await browser.submit(page, username: "bruno", password: "bruno-password-1")
        let answer = try await browser.get(
            target(["id_token_hint": hint, "post_logout_redirect_uri": Self.back, "state": "s"]))
        #expect(answer.location == Self.back + "?state=s" && answer.fields["Set-Cookie"] == nil)
        #expect(try await browser.authorize().member("code") != nil)
        #expect(try await world.refresh(try #require(tokens["refresh_token"]?.string)).status == .badRequest)
    }

    @Test(
        "An address that is not registered, a foreign client and a forged hint get a page, and nobody is signed out",
        arguments: [
            ["client_id": "messages", "post_logout_redirect_uri": "http://localhost:8901/"],
            ["client_id": "agenda", "post_logout_redirect_uri": back], ["post_logout_redirect_uri": back],
            ["client_id": "nobody"], ["client_id": "messages", "post_logout_redirect_uri": "stmessages://logout"],
            ["id_token_hint": "e30.e30.AA"],
        ])
    func refusals(members: [String: String]) async throws {
        let world = try await ProviderWorld()
        let (browser, _) = try await signedIn(world)
        var fields = FormFields()
        for (name, value) in members { fields.append(name, value) }
        let answer = try await browser.get(target(fields))
        #expect(answer.status == .badRequest)
        #expect(answer.location == nil)
        #expect(try await browser.authorize().member("code") != nil)
    }

    @Test("A hint of one client under another client's name is refused")
    func mismatch() async throws {
        let world = try await ProviderWorld()
        let (browser, tokens) = try await signedIn(world)
        let hint = try #require(tokens["id_token"]?.string)
        let answer = try await browser.get(target(["id_token_hint": hint, "client_id": "agenda"]))
        #expect(answer.status == .badRequest)
    }

    @Test("Nobody signed in: sign-out leads back at once, or says so")
    func signedOut() async throws {
        let world = try await ProviderWorld()
        let answer = try await world.browser().get(
            target(["client_id": "messages", "post_logout_redirect_uri": Self.back]))
        #expect(answer.location == Self.back)
        #expect(try await world.browser().get("/logout").text.contains("You are signed out"))
        #expect(try await world.browser().get("/logout?ui_locales=fr").text.contains("Vous êtes déconnecté"))
    }

    @Test("PV-1: after a restart keys, sessions and tokens are there; with another secret the start says what to do")
    func restart() async throws {
        let world = try await ProviderWorld { $0.secret = [UInt8](repeating: 7, count: 32) }
        let (browser, tokens) = try await signedIn(world)
        let again = try await ProviderWorld(database: world.database) {
            $0.secret = [UInt8](repeating: 7, count: 32)
        }
        _ = try await again.verify(try #require(tokens["id_token"]?.string))
        #expect(try await again.refresh(try #require(tokens["refresh_token"]?.string)).status == .ok)
        let same = again.browser()
        same.cookies = browser.cookies
        #expect(try await same.authorize().member("code") != nil)
        let error = await #expect(throws: NacreError.self) {
            _ = try await ProviderWorld(database: world.database) { $0.secret = [UInt8](repeating: 8, count: 32) }
        }
        #expect(error?.code == "provider.key_sealed")
    }

    @Test(
        "A setting that cannot be stops the start with a sentence",
        arguments: [
            { $0.issuer = "http://idp.example.test" }, { $0.issuer = "http://localhost:8902/" },
            { $0.issuer = "idp" }, { $0.issuer = "https://idp.example.test?x" }, { $0.secret = [1, 2, 3] },
            { $0.clients.append($0.clients[0]) }, { $0.clients[0].secret = "" }, { $0.clients[0].id = "a b" },
            { $0.clients[0].redirectURIs = ["https://a.example.test/#x"] }, { $0.levels = [] },
        ] as [@Sendable (inout ProviderConfiguration) -> Void])
    func badConfiguration(change: @Sendable (inout ProviderConfiguration) -> Void) async throws {
        await #expect(throws: NacreError.self) { _ = try await ProviderWorld(changing: change) }
    }
}
