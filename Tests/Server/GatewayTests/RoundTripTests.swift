// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase
import NacreGateway
import NacreHTTP
import NacreTesting
import Testing

@Suite struct RoundTripTests {
    private let web = "/api/v1.0/authenticate/"
    private func mobile(_ scheme: String = "stmessages", flow: String? = nil) -> String {
        "/api/v1.0/authenticate/?mobile_scheme=\(scheme)&code_challenge=\(PKCEPair.challenge)"
            + (flow.map { "&flow=\($0)" } ?? "")
    }

    /// A tab of this browser that sends the cookies of this very moment, whatever other tabs are answered meanwhile.
    private func tab(_ browser: TestBrowser, _ fixture: GatewayFixture) -> TestBrowser {
        let tab = fixture.browser()
        tab.cookies = browser.cookies
        return tab
    }

    /// What came of a sign-in: the place of a web page, or the link's scheme and flow.
    private func outcome(_ response: HTTPResponse) async throws -> String {
        if let place = response.fields["Location"] { return place }
        guard response.status == .ok else { return "\(response.status.rawValue)" }
        let target = try await response.target()
        let link = FormFields(decoding: target.split(separator: "?").last ?? "") ?? FormFields()
        return target.prefix { $0 != "?" } + " " + (link["flow"] ?? "") + (link["token"] == nil ? " no token" : "")
    }

    @Test("HO-2: callbacks at the same moment each get their own outcome")
    func atOnce() async throws {
        let fixture = try await GatewayFixture()
        for round in 0..<8 {
            let browser = fixture.browser(address: "192.0.2.\(round)")
            let callbacks = [
                try await browser.depart(mobile(flow: "first")), try await browser.depart(web + "?returnTo=%2Fweb"),
                try await browser.depart(mobile("stcalendar", flow: "third")),
            ]
            let tabs = callbacks.map { (tab(browser, fixture), $0) }
            let answers = try await withThrowingTaskGroup(of: (Int, HTTPResponse).self) { group in
                for (index, (tab, callback)) in tabs.enumerated() {
                    group.addTask { (index, try await tab.send(.get, callback)) }
                }
                return try await group.reduce(into: [Int: HTTPResponse]()) { $0[$1.0] = $1.1 }
            }
            let expected = ["stmessages://auth first", "/web", "stcalendar://auth third"]
            for (index, expected) in expected.enumerated() {
                #expect(try await outcome(try #require(answers[index])) == expected)
            }
            // Each answer takes away one cookie, its own; together they leave none.
            for answer in answers.values {
                let cookies = answer.fields.values("Set-Cookie").filter { $0.contains("nacre_rt_") }
                #expect(cookies.count == 1 && cookies.allSatisfy { $0.contains("Max-Age=0") })
                cookies.forEach(browser.keep)
            }
            #expect(browser.roundTrips.isEmpty)
        }
    }

    @Test("HO-2: two sign-ins that leave at the same moment, each without the other's cookie, both arrive")
    func leavingAtOnce() async throws {
        let fixture = try await GatewayFixture()
        let browser = fixture.browser()
        let (left, right) = (tab(browser, fixture), tab(browser, fixture))
        async let first = left.send(.get, mobile(flow: "first"))
        async let second = right.send(.get, web + "?returnTo=%2Fweb")
        let departures = try await [first, second]
        // Both answers reach the one jar, in whichever order.
        for departure in departures.reversed() { departure.fields.values("Set-Cookie").forEach(browser.keep) }
        #expect(browser.roundTrips.count == 2)
        let toApp = try await browser.send(.get, browser.comeBack(from: departures[0]))
        #expect(try await outcome(toApp) == "stmessages://auth first")
        let toPage = try await browser.send(.get, browser.comeBack(from: departures[1]))
        #expect(try await outcome(toPage) == "/web")
    }

    @Test("HO-7: the return of a sign-out takes away its own cookie and leaves a sign-in's")
    func signOutBesides() async throws {
        let fixture = try await GatewayFixture()
        let browser = try await fixture.signedInBrowser()
        let signIn = try await browser.depart(mobile(flow: "first"))
        let before = browser.roundTrips
        let signOut = try await browser.depart("/api/v1.0/logout/")
        #expect(browser.roundTrips.count == 2)
        #expect(try await browser.send(.get, signOut).fields["Location"] == "/")
        #expect(browser.roundTrips == before)
        #expect(try await outcome(try await browser.send(.get, signIn)) == "stmessages://auth first")
    }

    @Test("HO-4: no fixation: neither a planted session nor a planted round trip has part in the callback")
    func fixation() async throws {
        let fixture = try await GatewayFixture()
        let mallory = try await fixture.signedInBrowser()
        let planted = try #require(mallory.cookies["sessionid"])
        let victim = fixture.browser()
        _ = try await mallory.send(.get, web)
        let (name, secret) = try #require(mallory.roundTrips.first)
        victim.cookies = ["sessionid": planted, name: secret]
        let callback = try await victim.depart(web)
        let own = victim.roundTrips.filter { $0.key != name }
        #expect(own.count == 1 && !own.values.contains(secret))
        #expect(try await mallory.send(.get, callback).status == .badRequest)
        #expect(try await victim.send(.get, callback).status == .found)
        #expect(victim.cookies["sessionid"] != planted)
        #expect(own.keys.allSatisfy { victim.cookies[$0] == nil })
        #expect(try await mallory.send(.get, "/api/v1.0/users/me/").status == .unauthorized)
        #expect(try await victim.send(.get, "/api/v1.0/users/me/").status == .ok)
    }

    @Test("HO-2, HO-4: another browser's cookie opens nobody's round trip, under whichever name, and uses none up")
    func foreignCookie() async throws {
        let fixture = try await GatewayFixture()
        let (mallory, victim) = (fixture.browser(), fixture.browser())
        _ = try await mallory.send(.get, web)
        let foreign = try #require(mallory.roundTrips.first)
        let callback = try await victim.depart(web)
        let own = try #require(victim.roundTrips.first)
        let invented = SeededRandom(99).token()
        for jar in [
            [:], [foreign.key: foreign.value], [own.key: foreign.value], [own.key: invented], [own.key: ""],
            [foreign.key: own.value],
        ] {
            let stranger = fixture.browser()
            stranger.cookies = jar
            #expect(try await stranger.send(.get, callback).status == .badRequest, "\(jar)")
            #expect(stranger.cookies["sessionid"] == nil)
        }
        #expect(try await victim.send(.get, callback).status == .found)
    }

    @Test("HO-2: a round trip is used up at the first callback, also for a browser that keeps its cookie")
    func once() async throws {
        let fixture = try await GatewayFixture()
        let browser = fixture.browser()
        let callback = try await browser.depart(mobile())
        let cookies = browser.cookies
        #expect(try await browser.send(.get, callback).status == .ok)
        browser.cookies = cookies
        #expect(try await browser.send(.get, callback).status == .badRequest)
        #expect(browser.roundTrips.isEmpty)
    }

    @Test("HO-4: a round trip that nobody began is not taken over")
    func invented() async throws {
        let fixture = try await GatewayFixture()
        let browser = fixture.browser()
        let invented = SeededRandom(99).token()
        let name = "nacre_rt_" + Hex.encode(SHA256.hash("guess").prefix(8))
        browser.cookies = [name: invented]
        let callback = try await browser.depart(web)
        let own = try #require(browser.roundTrips.first { $0.key != name })
        #expect(own.value != invented)
        #expect(try await browser.send(.get, "/api/v1.0/callback/?code=x&state=guess").status == .badRequest)
        #expect(try await browser.send(.get, callback).status == .found)
    }

    @Test("HO-4: over https the cookie's name is one that no other host of the site can plant")
    func hostPrefix() async throws {
        let fixture = try await GatewayFixture { $0.publicOrigin = try Origin("https://gateway.test") }
        let mallory = fixture.browser()
        let departure = try await mallory.send(.get, web)
        let cookie = try #require(departure.fields["Set-Cookie"])
        // RFC 6265bis section 4.1.3.2: browsers keep the prefix only with Secure, Path=/ and no Domain.
        #expect(cookie.hasPrefix("__Host-nacre_rt_") && cookie.contains("; Path=/; ") && cookie.contains("; Secure"))
        #expect(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Lax") && !cookie.contains("Domain"))
        let callback = try await mallory.comeBack(from: departure)
        let (name, secret) = try #require(mallory.roundTrips.first)
        // What a sibling host may set is everything but the prefix.
        let victim = fixture.browser()
        victim.cookies = [String(name.dropFirst("__Host-".count)): secret]
        #expect(try await victim.send(.get, callback).status == .badRequest)
        #expect(victim.cookies["sessionid"] == nil)
        #expect(try await mallory.send(.get, callback).status == .found)
    }

    @Test("HO-4: the database holds no secret of a round trip, only its hash")
    func hashed() async throws {
        let fixture = try await GatewayFixture()
        let browser = fixture.browser()
        _ = try await browser.send(.get, web)
        let secret = try #require(browser.roundTrips.values.first)
        #expect(Base64URL.decode(secret)?.count == 32)
        let stored = try await fixture.database.read { sql in try sql.first("SELECT * FROM gateway_pending") }
        let row = try #require(stored)
        #expect(row["secret"].blob == SHA256.hash(secret))
        #expect(row.values.allSatisfy { $0.text?.contains(secret) != true })
    }

    @Test("HO-2: twenty-one open round trips push out the oldest only")
    func many() async throws {
        let fixture = try await GatewayFixture()
        let browser = fixture.browser()
        var callbacks: [String] = []
        for _ in 0..<21 { callbacks.append(try await browser.depart(mobile())) }
        #expect(browser.roundTrips.count == 20)
        #expect(try await browser.send(.get, callbacks[0]).status == .badRequest)
        #expect(try await browser.send(.get, callbacks[1]).status == .ok)
        #expect(try await browser.send(.get, callbacks[20]).status == .ok)
    }

    @Test("HO-2: a browser that carries far too many round trips is freed of all but twenty, and of nothing else")
    func surplus() async throws {
        let fixture = try await GatewayFixture()
        let browser = fixture.browser()
        var jar = [
            "nacre_rt_short": "x", "nacre_rt_0123456789ABCDEF": "x", "nacre_app_stmessages": "x", "theme": "dark",
        ]
        let others = jar
        for number in 10..<50 { jar["nacre_rt_00000000000000\(number)"] = "x" }
        browser.cookies = jar
        _ = try await browser.send(.get, web)
        let kept = browser.cookies.filter { others[$0.key] == nil }
        #expect(kept.count == 20)
        #expect(kept["nacre_rt_0000000000000049"] == "x" && kept["nacre_rt_0000000000000030"] == nil)
        #expect(others.allSatisfy { browser.cookies[$0.key] == $0.value })
    }

    @Test(
        "A client network that begins round trips without end is asked to wait, on a page it can read",
        arguments: ["/api/v1.0/authenticate/", "/api/v1.0/logout/"])
    func rateLimit(path: String) async throws {
        let fixture = try await GatewayFixture()
        let session = try await fixture.signedInBrowser()
        for number in 0..<59 {
            let client = fixture.browser(address: "2001:db8:1:2::\(number)")
            #expect(try await client.send(.get, number < 30 ? web : "/api/v1.0/logout/").status == .found)
        }
        let client = fixture.browser(address: "2001:db8:1:2::a")
        client.cookies = session.cookies
        #expect(try await client.send(.get, web).status == .found)
        let refused = try await client.send(.get, path + "?returnTo=%2Fa", fields: ["Accept-Language": "fr"])
        #expect(refused.status == .tooManyRequests)
        #expect(refused.fields["Retry-After"] == "1")
        #expect(refused.fields.values("Set-Cookie").isEmpty)
        #expect(try await refused.target() == path + "?returnTo=%2Fa")
        #expect(try await refused.text().contains("Réessayez dans 1 seconde."))
        let program = try await client.send(.get, path, fields: ["Accept": "application/json"])
        #expect(program.status == .tooManyRequests)
        #expect(try await program.json()["code"] == "rate_limited")
        let rows = try await fixture.database.read { sql in try sql.query("SELECT state FROM gateway_pending").count }
        #expect(rows == 60)
        #expect(try await client.send(.get, "/api/v1.0/users/me/").status == .ok, "nothing was signed out")
        #expect(try await fixture.browser(address: "2001:db8:1:3::a").send(.get, path).status == .found)
        fixture.time.advance(by: .seconds(1))
        #expect(try await client.send(.get, path).status == .found)
    }
}
