// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase
import NacreHTTP
import NacreProvider
import NacreTesting
import Testing

@Suite("PV-3 to PV-5: the login page")
struct LoginTests {
    @Test("PV-3: with Remember me the cookie outlives the browser, without it the page says what that means")
    func remember() async throws {
        let world = try await ProviderWorld()
        let page = try await world.browser().authorize()
        #expect(page.text.contains("name=\"remember\" value=\"1\" aria-describedby=\"remember-hint\" checked"))
        #expect(page.text.contains("other apps will ask you to sign in again"))
        let remembering = world.browser()
        _ = try await remembering.signIn(remember: true)
        let kept = try #require(remembering.settings.first { $0.hasPrefix("nacre_idp=") })
        #expect(kept.contains("Max-Age=2592000"))
        #expect(kept.contains("HttpOnly") && kept.contains("SameSite=Lax") && !kept.contains("Secure"))
        let forgetting = world.browser()
        _ = try await forgetting.signIn(remember: false)
        let brief = try #require(forgetting.settings.first { $0.hasPrefix("nacre_idp=") })
        #expect(!brief.contains("Max-Age"))
        world.time.advance(by: .seconds(13 * 3600))
        #expect(try await remembering.authorize().member("code") != nil)
        #expect(try await forgetting.authorize().isForm)
        world.time.advance(by: .seconds(30 * 86_400))
        #expect(try await remembering.authorize().isForm)
    }

    @Test("PV-3: over https the cookies are Secure and bound to the host")
    func secureCookies() async throws {
        let world = try await ProviderWorld { $0.issuer = "https://idp.example.test" }
        let browser = world.browser()
        _ = try await browser.signIn()
        for name in ["__Host-nacre_idp=", "__Host-nacre_idp_browser=", "__Host-nacre_idp_device="] {
            let line = try #require(browser.settings.first { $0.hasPrefix(name) })
            #expect(line.contains("; Secure") && line.contains("; Path=/;"))
        }
    }

    @Test("PV-4: the policy lets the form end here or at the client's own origin, never at a custom scheme")
    func policy() async throws {
        let browser = try await ProviderWorld().browser()
        let page = try await browser.authorize()
        let policy = try #require(page.fields["Content-Security-Policy"])
        #expect(policy.contains("default-src 'none'"))
        #expect(policy.contains("form-action 'self' http://localhost:8901;"))
        #expect(policy.contains("frame-ancestors 'none'"))
        #expect(!policy.contains("unsafe"))
        #expect(!page.text.contains("<script") && !page.text.contains("style=\"") && !page.text.contains("onclick"))
        #expect(page.fields["Cache-Control"] == "no-store")
        let native = try await browser.authorize(["client_id": "native", "redirect_uri": "com.example.app:/oauth"])
        #expect(native.fields["Content-Security-Policy"]?.contains("form-action 'self';") == true)
        #expect(native.fields["Content-Security-Policy"]?.contains("com.example") == false)
    }

    @Test(
        "PV-5: in development every page says so and offers the people; elsewhere none does and nobody of them is left")
    func development() async throws {
        let world = try await ProviderWorld()
        let browser = world.browser()
        let pages = [
            try await browser.authorize(), try await browser.authorize([:], ["Accept-Language": "fr"]),
            try await browser.authorize(["client_id": "nobody"]), try await browser.authorize(["acr_values": "eidas2"]),
            try await browser.get("/logout"), try await browser.post("/login", [:]),
        ]
        for page in pages { #expect(page.text.lowercased().contains("development provider")) }
        #expect(pages[0].text.contains("alice-password-1"))
        _ = try await browser.signIn()
        #expect(try await browser.get("/logout").text.contains("Development provider"))

        let production = try await ProviderWorld(development: false, database: world.database)
        let page = try await browser.authorize()
        let fresh = production.browser()
        fresh.cookies = browser.cookies
        let form = try await fresh.authorize()
        #expect(page.member("code") == nil && form.isForm)
        #expect(!form.text.lowercased().contains("development") && !form.text.contains("alice"))
        #expect(try await fresh.submit(form).status.rawValue == 422)
    }

    @Test("PV-1: outside development the people that were added can sign in, by name or address in any case")
    func addedPeople() async throws {
        let world = try await ProviderWorld(development: false)
        try await world.provider.addAccount(
            username: "Zoé", password: "correct horse", givenName: "Zoé", familyName: "Petit", email: "Zoe@Example.test"
        )
        for name in ["Zoé", "zoé", "zoe@example.TEST", " zoé "] {
            let back = try await world.browser().signIn(username: name, password: "correct horse")
            #expect(back.member("code") != nil)
        }
        let error = await #expect(throws: NacreError.self) {
            try await world.provider.addAccount(
                username: "zoé", password: "x", givenName: "", familyName: "", email: "other@example.test")
        }
        #expect(error?.code == "database.unique")
    }

    @Test("PV-1: a wrong password and an unknown name get the same page and status")
    func sameAnswer() async throws {
        let world = try await ProviderWorld(development: false)
        try await world.provider.addAccount(
            username: "zacharias", password: "right", givenName: "Z", familyName: "Z", email: "z@example.test")
        func answer(_ name: String) async throws -> (Int, String) {
            let browser = world.browser()
            let back = try await browser.submit(try await browser.authorize(), username: name, password: "wrong")
            let text = back.text.split(separator: "\n").filter { !$0.contains("name=\"attempt\"") }
                .joined(separator: "\n").split(separator: name).joined(separator: "NAME")
            return (back.status.rawValue, text)
        }
        let known = try await answer("zacharias")
        let unknown = try await answer("zoltan")
        #expect(known.0 == 422)
        #expect(known.0 == unknown.0)
        #expect(known.1 == unknown.1)
        #expect(known.1.contains("role=\"alert\"") && known.1.contains("aria-invalid=\"true\""))
    }

    @Test("PV-1: an unknown name costs the time of a hash, as a wrong password does")
    func sameTime() async throws {
        let cost = PasswordCost(passes: 3, memory: 64 * 1024 * 1024)
        let world = try await ProviderWorld(development: false) { $0.passwordCost = cost }
        let browser = world.browser()
        let page = try await browser.authorize()
        let hasher = PasswordHasher(cost: cost)
        let clock = ContinuousClock()
        var hash = Duration.seconds(60)
        var unknown = Duration.seconds(60)
        for _ in 0..<3 {
            hash = min(hash, try await clock.measure { _ = try await hasher.hash("w") })
            unknown = min(unknown, try await clock.measure { _ = try await browser.submit(page, username: "zoltan") })
        }
        // A quarter, because other work shares the cores; without the spent time it would be a fiftieth.
        #expect(unknown > hash / 4)
    }

    @Test("PV-1: what a person typed comes back as text, never as markup")
    func escaping() async throws {
        let browser = try await ProviderWorld { $0.clients[0].name = "<b>M&M</b>" }.browser()
        let evil = "\"><script>alert(1)</script>'"
        let page = try await browser.authorize(["login_hint": evil])
        #expect(!page.text.contains("<script>") && !page.text.contains("<b>"))
        #expect(page.text.contains("&lt;b&gt;M&amp;M&lt;/b&gt;"))
        let back = try await browser.submit(page, username: evil, password: "x")
        #expect(!back.text.contains("<script>"))
        #expect(back.text.contains("&quot;&gt;&lt;script&gt;"))
    }

    @Test(
        "The pages speak English and French",
        arguments: [
            (nil, nil, "en"), ("fr", nil, "fr"), ("fr-CA, en;q=0.8", nil, "fr"), ("en, fr;q=0.9", nil, "en"),
            ("de, fr;q=0.5, en;q=0.4", nil, "fr"), ("de", nil, "en"), ("fr;q=0", nil, "en"), ("fr", "en", "en"),
            ("en", "de fr-FR", "fr"), (";;,q=,fr;q=x", nil, "fr"),
        ] as [(String?, String?, String)])
    func languages(accept: String?, locales: String?, language: String) async throws {
        let browser = try await ProviderWorld().browser()
        var fields: HTTPFields = [:]
        fields["Accept-Language"] = accept
        let page = try await browser.authorize(["ui_locales": locales], fields)
        #expect(page.text.contains("<html lang=\"\(language)\">"))
        #expect(page.text.contains(language == "fr" ? "Mot de passe" : "Password"))
    }

    @Test("The form is labelled, and tells password managers what its fields are")
    func accessible() async throws {
        let text = try await ProviderWorld().browser().authorize().text
        for part in [
            "<label for=\"username\">", "<label for=\"password\">", "<label for=\"remember\">",
            "autocomplete=\"username\"", "autocomplete=\"current-password\"", "<h1>", "<main>",
            "name=\"viewport\"", "prefers-color-scheme:dark",
        ] { #expect(text.contains(part), "\(part)") }
    }

    @Test("PV-1: Cancel tells the client that the person refused")
    func cancel() async throws {
        let browser = try await ProviderWorld().browser()
        let page = try await browser.authorize()
        let back = try await browser.post("/login", ["attempt": page.attempt ?? "", "action": "cancel"])
        #expect(back.status == .seeOther)
        #expect(back.member("error") == "access_denied")
        #expect(back.member("state") == "state-1")
    }

    @Test("A form of another browser, an altered, an old and a foreign one sign nobody in")
    func forgedForms() async throws {
        let world = try await ProviderWorld()
        let browser = world.browser()
        let page = try await browser.authorize()
        let stranger = world.browser()
        _ = try await stranger.authorize()
        for answer in [
            try await stranger.submit(page), try await world.browser().submit(page),
            try await browser.post("/login", ["username": "alice", "password": "alice-password-1"]),
            try await browser.post(
                "/login",
                [
                    "attempt": String((page.attempt ?? "").dropLast(2)) + "AA", "username": "alice",
                    "password": "alice-password-1",
                ]),
            try await browser.post("/login", ["attempt": page.attempt ?? ""], type: "text/plain"),
        ] {
            #expect(answer.status == .badRequest)
            #expect(answer.location == nil)
        }
        _ = try await browser.submit(page)
        let question = try await browser.get("/logout")
        let crossed = try await browser.post(
            "/login",
            ["attempt": question.attempt ?? "", "username": "alice", "password": "alice-password-1"])
        #expect(crossed.status == .badRequest)
        world.time.advance(by: .seconds(1800))
        #expect(try await browser.submit(page).status == .badRequest)
    }

    @Test("No session fixation: signing in changes the cookie, and the old one is dead")
    func fixation() async throws {
        let world = try await ProviderWorld()
        let browser = world.browser()
        _ = try await browser.signIn()
        let old = try #require(browser.cookies["nacre_idp"])
        _ = try await browser.submit(try await browser.authorize(["prompt": "login"]))
        #expect(browser.cookies["nacre_idp"] != old)
        let thief = world.browser()
        thief.cookies["nacre_idp"] = old
        #expect(try await thief.authorize().isForm)
        thief.cookies["nacre_idp"] = "chosen-by-the-attacker"
        _ = try await thief.signIn()
        #expect(thief.cookies["nacre_idp"] != "chosen-by-the-attacker")
    }

    @Test("Two overlapping sign-ins in one browser end each at its own request")
    func overlapping() async throws {
        let world = try await ProviderWorld()
        let browser = world.browser()
        let first = try await browser.authorize(["state": "web"])
        let second = try await browser.authorize(["state": "mobile"])
        #expect(try await browser.submit(second).member("state") == "mobile")
        #expect(try await browser.submit(first).member("state") == "web")
    }

    @Test("Codes, tokens and cookies stand in the database only as hashes, and no secret in the log")
    func onlyHashes() async throws {
        let world = try await ProviderWorld()
        let browser = world.browser()
        let code = try #require(try await browser.signIn().member("code"))
        let answer = try await world.redeem(code)
        _ = try await browser.submit(try await browser.authorize(["prompt": "login"]), password: "wrong-password-7")
        let secrets =
            [
                code, answer.json["access_token"]?.string, answer.json["refresh_token"]?.string,
                answer.json["id_token"]?.string, "alice-password-1", "wrong-password-7", "BEGIN PRIVATE KEY",
            ].compactMap(\.self) + Array(browser.cookies.values)
        #expect(secrets.count == 10)
        let dump = try await world.dump()
        #expect(dump.contains("dev-alice"))
        for secret in secrets {
            #expect(!dump.contains(secret))
            #expect(!world.sink.text.contains(secret))
        }
    }
}
