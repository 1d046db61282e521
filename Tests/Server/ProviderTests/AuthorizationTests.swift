// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreJOSE
import NacreProvider
import NacreTesting
import Testing

@Suite("PV-1: authorization requests")
struct AuthorizationTests {
    @Test(
        "PV-1: an address that is not registered character for character gets a page and never a redirect",
        arguments: [
            "http://localhost:8901/api/v1.0/callback", "http://localhost:8901/api/v1.0/callback/?a=b",
            "http://localhost:8901/api/v1.0/callback/#f", "http://localhost:8902/api/v1.0/callback/",
            "https://localhost:8901/api/v1.0/callback/", "http://LOCALHOST:8901/api/v1.0/callback/",
            "http://localhost:8901/api/v1.0/callback/../x", "http://localhost:8901@evil.test/api/v1.0/callback/",
            "http://evil.test/", "stmessages://auth", "javascript:alert(1)", "",
            "https://agenda.example.test/cb", "http://127.0.0.1:1234/cb",
        ])
    func redirectAddress(address: String) async throws {
        let answer = try await ProviderWorld().browser().authorize(["redirect_uri": address])
        #expect(answer.status == .badRequest)
        #expect(answer.location == nil)
        #expect(!answer.isForm)
    }

    @Test(
        "PV-1: a public client may use its registered loopback address on any port (RFC 8252), nothing near it",
        arguments: [
            ("http://127.0.0.1:45677/cb", true), ("http://127.0.0.1/cb", true), ("com.example.app:/oauth", true),
            ("http://127.0.0.1:45677/cb2", false), ("http://127.0.0.1:45677/cb?x=1", false),
            ("http://localhost:45677/cb", false), ("https://127.0.0.1:45677/cb", false),
            ("http://127.0.0.1.evil.test:1/cb", false), ("http://[::1]:45677/cb", false),
            ("http://127.0.0.1:45677/cb#x", false), ("com.example.app:/other", false),
        ])
    func loopback(address: String, passes: Bool) async throws {
        let answer = try await ProviderWorld().browser().authorize(["client_id": "native", "redirect_uri": address])
        #expect(answer.isForm == passes)
        #expect((answer.status == .badRequest) == !passes)
    }

    @Test("PV-1, HO-7: an address or a client with a Kelvin sign is not the registered one with a K")
    func kelvinSign() async throws {
        let world = try await ProviderWorld {
            var kiosk = ProviderClient(
                id: "Kiosk", secret: "kiosk-secret-1", name: "Kiosk", redirectURIs: ["https://kiosk.test/K"])
            kiosk.postLogoutRedirectURIs = ["https://kiosk.test/K"]
            $0.clients.append(kiosk)
        }
        for (client, place, passes) in [
            ("Kiosk", "https://kiosk.test/K", true), ("Kiosk", "https://kiosk.test/\u{212A}", false),
            ("\u{212A}iosk", "https://kiosk.test/K", false),
        ] {
            let browser = world.browser()
            let answer = try await browser.authorize(["client_id": client, "redirect_uri": place])
            #expect(answer.isForm == passes)
            #expect((answer.status == .badRequest) == !passes)
            let query: FormFields = ["client_id": client, "post_logout_redirect_uri": place]
            let logout = try await browser.get("/logout?" + query.encoded)
            #expect((logout.status == .badRequest) == !passes)
        }
    }

    @Test("PV-1: a code is redeemed for exactly the address that it went to, also where Swift sees none different")
    func kelvinCode() async throws {
        let world = try await ProviderWorld { $0.clients[0].redirectURIs.append("https://messages.test/K") }
        for (place, status) in [
            ("https://messages.test/\u{212A}", HTTPStatus.badRequest), ("https://messages.test/K", .ok),
        ] {
            let answer = try await world.browser().signIn(["redirect_uri": "https://messages.test/K"])
            let code = try #require(answer.member("code"))
            #expect(try await world.redeem(code, ["redirect_uri": place]).status == status)
        }
    }

    @Test("PV-1: an unknown or doubled client gets a page")
    func unknownClient() async throws {
        let browser = try await ProviderWorld().browser()
        for changes in [["client_id": "nobody"], ["client_id": nil], ["client_id": ""]] as [[String: String?]] {
            let answer = try await browser.authorize(changes)
            #expect(answer.status == .badRequest)
            #expect(answer.location == nil)
        }
        let twice = try await browser.get("/authorize?" + ProviderWorld.parameters().encoded + "&client_id=agenda")
        #expect(twice.status == .badRequest)
        let broken = try await browser.get("/authorize?client_id=%ZZ")
        #expect(broken.status == .badRequest)
    }

    @Test(
        "PV-1: every other fault is told to the client, with its state",
        arguments: [
            (["response_type": "token"], "unsupported_response_type"),
            (["response_type": nil], "unsupported_response_type"),
            (["response_type": "code id_token"], "unsupported_response_type"),
            (["response_mode": "fragment"], "invalid_request"), (["scope": "profile"], "invalid_scope"),
            (["scope": nil], "invalid_scope"), (["prompt": "none login"], "invalid_request"),
            (["max_age": "soon"], "invalid_request"), (["max_age": "-1"], "invalid_request"),
            (["request": "e30.e30."], "request_not_supported"),
            (["request_uri": "https://evil.test/r"], "request_uri_not_supported"),
            (["nonce": String(repeating: "n", count: 2049)], "invalid_request"),
            (["code_challenge_method": "plain"], "invalid_request"),
            (["code_challenge_method": nil], "invalid_request"),
            (["code_challenge": nil], "invalid_request"), (["code_challenge": "short"], "invalid_request"),
            (["code_challenge": String(repeating: "=", count: 43)], "invalid_request"),
            (["prompt": "none"], "login_required"),
        ] as [([String: String?], String)])
    func faults(changes: [String: String?], error: String) async throws {
        let answer = try await ProviderWorld().browser().authorize(changes)
        #expect(answer.status == .found)
        #expect(answer.location?.hasPrefix(ProviderWorld.callback + "?") == true)
        #expect(answer.member("error") == error)
        #expect(answer.member("state") == "state-1")
        #expect(answer.member("iss") == "http://localhost:8902")
        #expect(answer.member("code") == nil)
    }

    @Test("PV-1: a parameter that stands twice is refused")
    func twice() async throws {
        let answer = try await ProviderWorld().browser()
            .get("/authorize?" + ProviderWorld.parameters().encoded + "&nonce=other")
        #expect(answer.member("error") == "invalid_request")
    }

    @Test("PV-1: a public client without PKCE is refused")
    func publicWithoutPKCE() async throws {
        let answer = try await ProviderWorld().browser().authorize([
            "client_id": "native", "redirect_uri": "com.example.app:/oauth", "code_challenge": nil,
            "code_challenge_method": nil,
        ])
        #expect(answer.member("error") == "invalid_request")
    }

    @Test("PV-1: the request may come as a form")
    func posted() async throws {
        let answer = try await ProviderWorld().browser().post("/authorize", ProviderWorld.parameters())
        #expect(answer.isForm)
    }

    @Test("PV-2: a session answers the next app without a form, and says so in the log")
    func singleSignOn() async throws {
        let world = try await ProviderWorld()
        let browser = world.browser()
        _ = try await browser.signIn()
        let second = try await browser.authorize([
            "client_id": "agenda", "redirect_uri": "https://agenda.example.test/cb", "acr_values": "eidas1",
        ])
        #expect(second.status == .found)
        #expect(second.member("code") != nil)
        #expect(world.sink.events.contains("authorize.silent"))
        #expect(try await browser.authorize(["prompt": "none"]).member("code") != nil)
        #expect(try await world.browser().authorize().isForm)
    }

    @Test("PV-2: the session's cookie is found beside any other, cut by bytes as browsers join them")
    func cookieBesideOthers() async throws {
        let world = try await ProviderWorld()
        let browser = world.browser()
        _ = try await browser.signIn()
        let token = try #require(browser.cookies["nacre_idp"])
        for before in ["x=\u{600};", "x=1;\u{301}y=2; ", "nacre_idp ", ""] {
            let answer = try await world.browser().authorize([:], ["Cookie": "\(before)nacre_idp=\(token)"])
            #expect((answer.member("code") != nil) == (before != "nacre_idp "), "\(before)")
        }
    }

    @Test("PV-2: prompt=login and select_account show the form in spite of the session; auth_time moves")
    func prompts() async throws {
        let world = try await ProviderWorld()
        let browser = world.browser()
        let first = try await world.redeem(try #require(try await browser.signIn().member("code")))
        let before = try await world.verify(try #require(first.json["id_token"]?.string))
        world.time.advance(by: .seconds(100))
        #expect(try await browser.authorize(["prompt": "select_account"]).isForm)
        let page = try await browser.authorize(["prompt": "login"])
        #expect(page.isForm)
        #expect(page.text.contains("name=\"username\" value=\"alice\""))
        let again = try await world.redeem(try #require(try await browser.submit(page).member("code")))
        let after = try await world.verify(try #require(again.json["id_token"]?.string))
        #expect(after.authenticationTime == before.authenticationTime.map { $0 + .seconds(100) })
        #expect(after.sessionID == before.sessionID)
    }

    @Test(
        "PV-2: max_age shows the form once the session is older",
        arguments: [
            ("100", 100, false), ("100", 101, true), ("0", 0, true),
        ])
    func maximumAge(age: String, seconds: Int, form: Bool) async throws {
        let world = try await ProviderWorld()
        let browser = world.browser()
        _ = try await browser.signIn()
        world.time.advance(by: .seconds(seconds))
        #expect(try await browser.authorize(["max_age": age]).isForm == form)
        let silent = try await browser.authorize(["max_age": age, "prompt": "none"])
        #expect((silent.member("error") == "login_required") == form)
    }

    @Test(
        "PV-2: acr_values that can be reached sign in, unknown ones are a wish, unreachable ones say so",
        arguments: [
            ("eidas1", true), ("eidas2 eidas1", true), ("something", true), ("eidas2", false),
        ])
    func levels(values: String, reachable: Bool) async throws {
        let world = try await ProviderWorld()
        let page = try await world.browser().authorize(["acr_values": values])
        #expect(page.status == .ok)
        #expect(page.isForm == reachable)
        #expect(page.text.contains("(eidas2)") == !reachable)
        let silent = try await world.browser().authorize(["acr_values": values, "prompt": "none"])
        #expect(silent.member("error") == (reachable ? "login_required" : "unmet_authentication_requirements"))
    }

    @Test("PV-2: no password signs in below an unreachable level; the way back tells the client")
    func unreachable() async throws {
        let world = try await ProviderWorld()
        let browser = world.browser()
        let page = try await browser.authorize(["acr_values": "eidas2"])
        let forced = try await browser.submit(page)
        #expect(forced.member("error") == "unmet_authentication_requirements")
        #expect(forced.member("code") == nil)
        let back = try await browser.post("/login", ["attempt": page.attempt ?? "", "action": "cancel"])
        #expect(back.member("error") != nil)
        #expect(back.member("state") == "state-1")
    }

    @Test("PV-2: a session of a level that does not count shows the form; signing in again reaches the level")
    func oldLevel() async throws {
        let before = try await ProviderWorld { $0.levels = [AuthenticationLevel("basic", factors: [.password])] }
        let old = before.browser()
        _ = try await old.signIn()
        let after = try await ProviderWorld(database: before.database)
        let browser = after.browser()
        browser.cookies = old.cookies
        #expect(try await browser.authorize().member("code") != nil)
        let page = try await browser.authorize(["acr_values": "eidas1"])
        #expect(page.isForm)
        #expect(try await browser.submit(page).member("code") != nil)
        #expect(try await browser.authorize(["acr_values": "eidas1"]).member("code") != nil)
    }

    @Test("PV-2: an ID token of somebody else as a hint shows the form")
    func hint() async throws {
        let world = try await ProviderWorld()
        let alice = world.browser()
        let bruno = world.browser()
        let first = try await world.redeem(try #require(try await alice.signIn().member("code")))
        _ = try await bruno.signIn(username: "bruno", password: "bruno-password-1")
        let token = try #require(first.json["id_token"]?.string)
        #expect(try await alice.authorize(["id_token_hint": token]).member("code") != nil)
        #expect(try await bruno.authorize(["id_token_hint": token]).isForm)
        #expect(
            try await bruno.authorize(["id_token_hint": token, "prompt": "none"]).member("error") == "login_required")
        #expect(try await alice.authorize(["id_token_hint": "x.y.z"]).isForm)
    }
}
