// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase
import NacreGateway
import NacreHTTP
import NacreRouting
import NacreTesting
import NacreWire
import Testing

@Suite struct ExchangeTests {
    private let path = "/api/v1.0/mobile/auth/exchange/"

    private func token(_ fixture: GatewayFixture) async throws -> String {
        let page = try await fixture.browser().follow(
            "/api/v1.0/authenticate/?mobile_scheme=stmessages&code_challenge=\(PKCEPair.challenge)")
        return try #require(try await page.link()["token"])
    }

    @Test("HO-6: the right verifier gets the session cookie and the CSRF token, and no CSRF cookie")
    func success() async throws {
        let fixture = try await GatewayFixture()
        let (app, csrf) = try await fixture.signedInApp()
        #expect(app.cookies.keys.sorted() == ["sessionid"])
        #expect(!csrf.isEmpty)
        let me = try await app.send(.get, "/api/v1.0/users/me/")
        #expect(try await me.json()["email"] == "alice@example.test")
    }

    @Test("HO-6: over https the cookie is Secure")
    func secure() async throws {
        let fixture = try await GatewayFixture { $0.publicOrigin = try Origin("https://gateway.test") }
        let browser = fixture.browser()
        let departure = try await browser.send(
            .get, "/api/v1.0/authenticate/?mobile_scheme=stmessages&code_challenge=\(PKCEPair.challenge)")
        let back = try await browser.visitProvider(try #require(departure.fields["Location"]))
        let callback = try #require(back.fields["Location"]).dropFirst("https://gateway.test".count)
        let token = try #require(try await browser.send(.get, String(callback)).link()["token"])
        let answer = try await fixture.browser().exchange(token: token, verifier: PKCEPair.verifier)
        let cookie = try #require(answer.fields["Set-Cookie"])
        #expect(cookie.hasPrefix("sessionid=") && cookie.contains("; Secure") && cookie.contains("; HttpOnly"))
        #expect(answer.fields["Cache-Control"] == "no-store")
    }

    @Test("HO-6: a token works once")
    func once() async throws {
        let fixture = try await GatewayFixture()
        let token = try await token(fixture)
        #expect(try await fixture.browser().exchange(token: token, verifier: PKCEPair.verifier).status == .ok)
        #expect(try await fixture.browser().exchange(token: token, verifier: PKCEPair.verifier).status == .forbidden)
    }

    @Test(
        "HO-6: a wrong verifier burns the token",
        arguments: ["", "wrong", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXK"])
    func wrongVerifier(verifier: String) async throws {
        let fixture = try await GatewayFixture()
        let token = try await token(fixture)
        #expect(try await fixture.browser().exchange(token: token, verifier: verifier).status == .forbidden)
        #expect(try await fixture.browser().exchange(token: token, verifier: PKCEPair.verifier).status == .forbidden)
    }

    @Test("HO-4: a token lives for 60 seconds, not 61")
    func expiry() async throws {
        let fixture = try await GatewayFixture()
        let late = try await token(fixture)
        fixture.time.advance(by: .seconds(61))
        #expect(try await fixture.browser().exchange(token: late, verifier: PKCEPair.verifier).status == .forbidden)
        let inTime = try await token(fixture)
        fixture.time.advance(by: .seconds(60))
        #expect(try await fixture.browser().exchange(token: inTime, verifier: PKCEPair.verifier).status == .ok)
    }

    @Test("HO-6: a session that was ended meanwhile is 403")
    func vanished() async throws {
        let fixture = try await GatewayFixture()
        let token = try await token(fixture)
        let logout = "logout_token=" + (try fixture.provider.logoutToken())
        let ended = try await fixture.browser().post(
            "/api/v1.0/backchannel-logout/", Array(logout.utf8),
            fields: ["Content-Type": "application/x-www-form-urlencoded"])
        #expect(ended.status == .ok)
        #expect(try await fixture.browser().exchange(token: token, verifier: PKCEPair.verifier).status == .forbidden)
    }

    @Test(
        "HO-6: anything but a JSON object with two strings is 400",
        arguments: [
            "", "7", "[]", "null", "\"token\"", "{}", "{", #"{"token":"x"}"#, #"{"code_verifier":"x"}"#,
            #"{"token":7,"code_verifier":"x"}"#, #"{"token":["x"],"code_verifier":"x"}"#,
            #"{"token":"x","code_verifier":null}"#, #"{"token":"x","token":"y","code_verifier":"z"}"#,
            #"[{"token":"x","code_verifier":"z"}]"#,
        ])
    func malformed(body: String) async throws {
        let fixture = try await GatewayFixture()
        #expect(try await fixture.browser().post(path, Array(body.utf8)).status == .badRequest)
    }

    @Test(
        "HO-6: a body that is no JSON by its type is 400 and burns nothing",
        arguments: [
            "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx",
        ])
    func wrongType(type: String) async throws {
        let fixture = try await GatewayFixture()
        let token = try await token(fixture)
        let body = ExchangeRequest(token: token, codeVerifier: PKCEPair.verifier).json.bytes
        #expect(try await fixture.browser().post(path, body, fields: ["Content-Type": type]).status == .badRequest)
        #expect(try await fixture.browser().exchange(token: token, verifier: PKCEPair.verifier).status == .ok)
    }

    @Test("HO-6: a body of 2 MB is refused, also when it streams without a length")
    func tooLarge() async throws {
        let fixture = try await GatewayFixture()
        let token = try await token(fixture)
        let huge = ExchangeRequest(
            token: token, codeVerifier: PKCEPair.verifier + String(repeating: "a", count: 2 << 20)
        ).json.bytes
        #expect(try await fixture.browser().post(path, huge).status == .contentTooLarge)
        let stream = HTTPBody.stream(HTTPBody.bytes(huge).stream, length: nil)
        let streamed = try await fixture.browser().send(
            .post, path, fields: ["Content-Type": "application/json"], body: stream)
        #expect(streamed.status == .contentTooLarge)
    }

    @Test("HO-6: the 21st attempt of an address within a minute is 429 with Retry-After")
    func rateLimit() async throws {
        let fixture = try await GatewayFixture()
        let client = fixture.browser(address: "203.0.113.9")
        for _ in 0..<20 {
            #expect(try await client.exchange(token: "guess", verifier: "guess").status == .forbidden)
        }
        let refused = try await client.exchange(token: "guess", verifier: "guess")
        #expect(refused.status == .tooManyRequests)
        #expect(refused.fields["Retry-After"] == "3")
        let other = fixture.browser(address: "203.0.113.10")
        #expect(try await other.exchange(token: "guess", verifier: "guess").status == .forbidden)
        fixture.time.advance(by: .seconds(3))
        #expect(try await client.exchange(token: "guess", verifier: "guess").status == .forbidden)
    }

    @Test("HO-6: of 10,000 racing redeemers exactly one wins")
    func race() async throws {
        let fixture = try await GatewayFixture()
        let token = try await token(fixture)
        let body = ExchangeRequest(token: token, codeVerifier: PKCEPair.verifier).json.bytes
        let gateway = fixture.gateway
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<10_000 {
                group.addTask {
                    let client = InProcessClient(gateway, clientAddress: "10.0.\(number >> 8).\(number & 255)")
                    let request = HTTPRequest(
                        method: .post, authority: "gateway.test", target: "/api/v1.0/mobile/auth/exchange/",
                        fields: ["Content-Type": "application/json"], body: .bytes(body))
                    return try await client.send(request).status.rawValue
                }
            }
            return try await group.reduce(into: [Int: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(statuses == [200: 1, 403: 9_999])
    }

    @Test("HO-4: the database holds no token, only its hash")
    func hashed() async throws {
        let fixture = try await GatewayFixture()
        let token = try await token(fixture)
        let stored = try await fixture.database.read { sql in try sql.first("SELECT * FROM gateway_handoff") }
        let row = try #require(stored)
        #expect(row["token"].blob != Base64URL.decode(token))
        #expect(row.values.allSatisfy { $0.text?.contains(token) != true })
    }
}
