// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreGateway
import NacreHTTP
import NacreSessions
import NacreTesting
import Testing

@Suite("JW-1: token addresses") struct TokenEndpointsTests {
    private let me = "/api/v1.0/users/me/"

    private func post(_ client: TestBrowser, _ path: String, _ body: JSONValue) async throws -> HTTPResponse {
        try await client.post(path, body.bytes)
    }

    @Test("The exchange gives a pair where it is asked for: exactly access and refresh, no cookie")
    func exchange() async throws {
        let world = try await GatewayPair()
        let (app, answer) = try await world.exchanged(["presentation": "pair", "device": "Phone"])
        #expect(answer.status == .ok)
        #expect(answer.fields["Set-Cookie"] == nil)
        let body = try await answer.json()
        #expect(body.object?.keys.sorted() == ["access", "refresh"])
        let access = try #require(body["access"]?.string)
        let profile = try await app.send(.get, me, fields: .bearer(access))
        #expect(try await profile.json()["email"] != nil)
        #expect(profile.fields["Vary"] == "Cookie, Authorization")
        let list = try await app.send(.get, "/api/v1.0/sessions/", fields: .bearer(access)).json()
        #expect(list["sessions"]?.array?.first?["device"] == "Phone")
        #expect(list["sessions"]?.array?.first?["presentation"] == "pair")
    }

    @Test("A presentation that is not allowed is 400 and spends no token", arguments: ["pair", "nonsense", ""])
    func notAllowed(name: String) async throws {
        let world = try await GatewayPair { $0.tokens.presentations = [] }
        let page = try await world.browser(world.first).follow(
            "/api/v1.0/authenticate/?mobile_scheme=stmessages&code_challenge=\(PKCEPair.challenge)")
        let token = try #require(try await page.link()["token"])
        let app = world.browser(world.second)
        let wish: JSONValue = [
            "token": .string(token), "code_verifier": .string(PKCEPair.verifier), "presentation": .string(name),
        ]
        #expect(try await post(app, "/api/v1.0/mobile/auth/exchange/", wish).status == .badRequest)
        #expect(try await app.exchange(token: token, verifier: PKCEPair.verifier).status == .ok)
    }

    @Test("Device names of a wrong type are 400; long ones are cut")
    func deviceNames() async throws {
        let world = try await GatewayPair()
        #expect(try await world.exchanged(["device": 7]).answer.status == .badRequest)
        let (app, answer) = try await world.exchanged(["device": .string(String(repeating: "x", count: 9000))])
        #expect(answer.status == .ok)
        let list = try await app.send(.get, "/api/v1.0/sessions/").json()
        #expect(list["sessions"]?.array?.first?["device"]?.string?.count == 80)
    }

    @Test("A bearer session needs no CSRF token, and the upstream sees the identity instead of the token")
    func bearer() async throws {
        let world = try await GatewayPair()
        let (access, _) = try await world.pair()
        let client = world.browser(world.first)
        let answer = try await client.send(.post, "/api/v1.0/mail/", fields: .bearer(access))
        #expect(answer.status == .ok)
        let seen = try #require(world.upstream.requests.last)
        #expect(seen.fields["Authorization"] == nil)
        #expect(seen.fields["X-Nacre-Identity"] != nil)
    }

    @Test("A token that is worth nothing is 401 with a challenge, whatever cookie comes along; the cookie stays")
    func invalid() async throws {
        let world = try await GatewayPair()
        let browser = try await world.signedIn(world.first)
        for token in ["nonsense", "", "a.b.c", String(repeating: "x", count: 9000)] {
            let answer = try await browser.send(.get, me, fields: .bearer(token))
            #expect(answer.status == .unauthorized)
            #expect(answer.fields["WWW-Authenticate"] == "Bearer error=\"invalid_token\"")
            #expect(answer.fields["Set-Cookie"] == nil)
        }
        var twice: HTTPFields = [:]
        let (access, _) = try await world.pair()
        twice.append("Authorization", "Bearer \(access)")
        twice.append("Authorization", "Bearer \(access)")
        #expect(try await browser.send(.get, me, fields: twice).status == .unauthorized)
        #expect(try await browser.send(.get, me, fields: ["Authorization": "Basic YTpi"]).status == .ok)
        #expect(try await browser.send(.get, me).status == .ok)
    }

    @Test("A cookie is no bearer token and a token no cookie")
    func otherPresentation() async throws {
        let world = try await GatewayPair()
        let browser = try await world.signedIn(world.first)
        let cookie = try #require(browser.cookies["sessionid"])
        let client = world.browser(world.first)
        #expect(try await client.send(.get, me, fields: .bearer(cookie)).status == .unauthorized)
        let body = try await world.exchanged(["presentation": "bearer"]).answer.json()
        #expect(body["token_type"] == "Bearer")
        let token = try #require(body["access"]?.string)
        #expect(try await client.send(.get, me, fields: .bearer(token)).status == .ok)
        #expect(try await client.send(.get, me, fields: ["Cookie": "sessionid=\(token)"]).status == .unauthorized)
    }

    @Test("A refresh at one process rotates, its reuse at the other is 401 and ends the family")
    func refresh() async throws {
        let world = try await GatewayPair()
        let (_, refresh) = try await world.pair()
        let (first, second) = (world.browser(world.first), world.browser(world.second))
        let body = try await post(first, "/api/token/refresh/", ["refresh": .string(refresh)]).json()
        #expect(body.object?.keys.sorted() == ["access", "refresh"])
        let access = try #require(body["access"]?.string)
        #expect(try await second.send(.get, me, fields: .bearer(access)).status == .ok)
        let reuse = try await post(second, "/api/token/refresh/", ["refresh": .string(refresh)])
        #expect(reuse.status == .unauthorized)
        #expect(try await reuse.json()["code"] == "token_not_valid")
        #expect(try await first.send(.get, me, fields: .bearer(access)).status == .unauthorized)
    }

    @Test("blacklist ends the session and is harmless when repeated")
    func blacklist() async throws {
        let world = try await GatewayPair()
        let (access, refresh) = try await world.pair()
        let client = world.browser(world.first)
        for _ in 0..<2 {
            let answer = try await post(client, "/api/token/blacklist/", ["refresh": .string(refresh)])
            #expect(answer.status == .ok)
            #expect(try await answer.json() == [:])
        }
        #expect(try await client.send(.get, me, fields: .bearer(access)).status == .unauthorized)
        #expect(try await post(client, "/api/token/refresh/", ["refresh": .string(refresh)]).status == .unauthorized)
        #expect(try await post(client, "/api/token/blacklist/", ["refresh": "nonsense"]).status == .unauthorized)
    }

    @Test(
        "Bodies that are no object with a string are 400",
        arguments: ["", "[]", "{}", "{\"refresh\":7}", "{\"refresh\":null}", "{\"refresh\":\"a\"", "nonsense"])
    func malformed(body: String) async throws {
        let world = try await GatewayPair()
        let client = world.browser(world.first)
        for path in ["/api/token/refresh/", "/api/token/blacklist/"] {
            #expect(try await client.post(path, Array(body.utf8)).status == .badRequest)
            let form = try await client.post(path, Array(body.utf8), fields: ["Content-Type": "text/plain"])
            #expect(form.status == .badRequest)
        }
        let large = Array("{\"refresh\":\"\(String(repeating: "a", count: 20_000))\"}".utf8)
        #expect(try await client.post("/api/token/refresh/", large).status == .contentTooLarge)
    }

    @Test("Where no presentation is allowed the addresses and Authorization are the upstream's")
    func off() async throws {
        let world = try await GatewayPair { $0.tokens.presentations = [] }
        let browser = try await world.signedIn(world.first)
        let fields: HTTPFields = ["Origin": GatewayFixture.origin, "Authorization": "Bearer theirs"]
        #expect(try await browser.post("/api/token/refresh/", Array("{}".utf8), fields: fields).status == .ok)
        let seen = try #require(world.upstream.requests.last)
        #expect(seen.path == "/api/token/refresh/")
        #expect(seen.fields["Authorization"] == "Bearer theirs")
    }

    @Test("A page with a cookie gets tokens only where that is allowed, with CSRF, and they end with its session")
    func fromCookie() async throws {
        let path = "/api/v1.0/sessions/tokens/"
        let origin: HTTPFields = ["Origin": GatewayFixture.origin]
        let closed = try await GatewayPair()
        let refused = try await closed.signedIn(closed.first)
        #expect(try await refused.post(path, Array("{}".utf8), fields: origin).status == .methodNotAllowed, "off")
        let world = try await GatewayPair { $0.tokens.fromCookie = true }
        let browser = try await world.signedIn(world.first)
        #expect(try await browser.post(path, Array("{}".utf8)).status == .forbidden)
        #expect(try await world.browser(world.first).post(path, Array("{}".utf8)).status == .unauthorized)
        let body = try await browser.post(path, Array("{\"device\":\"Tab\"}".utf8), fields: origin).json()
        let access = try #require(body["access"]?.string)
        let client = world.browser(world.second)
        #expect(try await client.send(.get, me, fields: .bearer(access)).status == .ok)
        var both = origin
        both["Authorization"] = "Bearer \(access)"
        #expect(try await client.post(path, Array("{}".utf8), fields: both).status == .forbidden, "no tokens of tokens")
        let list = try await browser.send(.get, "/api/v1.0/sessions/").json()["sessions"]?.array ?? []
        #expect(list.count == 2)
        let child = try #require(list.first { $0["parent"] != .null })
        let heard = Mailbox()
        let watch = world.first.events.onEnd(of: try #require(child["id"]?.string), heard.action)
        let csrf = try await browser.send(.get, "/api/v1.0/csrf/").json()["csrf_token"]?.string ?? ""
        _ = try await browser.send(.post, "/api/v1.0/mobile/auth/logout/", fields: ["X-CSRFToken": csrf])
        #expect(heard.reasons == ["parent_ended"])
        #expect(try await client.send(.get, me, fields: .bearer(access)).status == .unauthorized)
        watch.cancel()
    }

    @Test("A session gets so many tokens a minute and no more")
    func derivedRate() async throws {
        let world = try await GatewayPair {
            $0.tokens.fromCookie = true
            $0.tokensPerMinute = 3
        }
        let browser = try await world.signedIn(world.first)
        var statuses: [Int] = []
        for _ in 0..<4 {
            let answer = try await browser.post(
                "/api/v1.0/sessions/tokens/", Array("{}".utf8), fields: ["Origin": GatewayFixture.origin])
            statuses.append(answer.status.rawValue)
        }
        #expect(statuses == [200, 200, 200, 429])
    }

    @Test("Passwords go to the method where there is one: a pair, 401, and after ten guesses 429 in every process")
    func obtain() async throws {
        let world = try await GatewayPair(credentials: OnePassword())
        let path = "/api/token/obtain/"
        let right: JSONValue = ["email": "alice@example.test", "password": "right"]
        for _ in 0..<15 {
            let body = try await post(world.browser(world.first), path, right).json()
            #expect(body.object?.keys.sorted() == ["access", "refresh"])
        }
        for number in 0..<10 {
            let client = world.browser(number % 2 == 0 ? world.first : world.second, address: "192.0.2.\(number + 10)")
            let wrong: JSONValue = ["email": "Alice@example.test", "password": "wrong"]
            #expect(try await post(client, path, wrong).status == .unauthorized)
        }
        let refused = try await post(world.browser(world.second, address: "203.0.113.5"), path, right)
        #expect(refused.status == .tooManyRequests)
        #expect(refused.fields["Retry-After"] == "60")
        #expect(try await post(world.browser(world.first), path, ["email": "a@b.test"]).status == .badRequest)
        let without = try await GatewayPair()
        #expect(try await post(without.browser(without.first), path, right).status == .unauthorized, "the upstream's")
    }
}

/// One person with one password.
struct OnePassword: CredentialMethod {
    let name = "password"
    func revalidate(_ session: Session) async -> Revalidation { .refused(reason: "test") }
    func authenticate(email: String, password: String) async throws -> Authentication? {
        guard email == "alice@example.test", password == "right" else { return nil }
        return Authentication(method: name, issuer: GatewayFixture.origin, subject: "alice")
    }
}
