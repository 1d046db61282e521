// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreGateway
import NacreHTTP
import NacreJOSE
import NacreRouting
import NacreTesting
import Synchronization
import Testing

@Suite struct ProxyTests {
    @Test func `without a session the upstream is not asked`() async throws {
        let fixture = try await GatewayFixture()
        let answer = try await fixture.browser().send(.get, "/api/v1.0/threads/")
        #expect(answer.status == .unauthorized)
        #expect(try await answer.json()["code"] == "session.absent")
        #expect(fixture.upstream.requests.isEmpty)
    }

    @Test func `the upstream learns who asks by a token it can verify`() async throws {
        let fixture = try await GatewayFixture()
        let (app, _) = try await fixture.signedInApp()
        #expect(try await app.send(.get, "/api/v1.0/threads/?page=2").status == .ok)
        let request = try #require(fixture.upstream.requests.first)
        #expect(request.url == "http://upstream.test/api/v1.0/threads/?page=2")
        let published = try await app.send(.get, "/.well-known/jwks.json")
        let keys = try JSONWebKeySet(parsing: try await published.body.collect(upTo: 4096))
        let token = try #require(request.fields["X-Nacre-Identity"])
        let jws = try JWS(parsing: token)
        #expect(jws.header.algorithm == "ES256")
        let claims = try JWTClaims(
            parsing: jws.verifiedPayload(with: .publicKey(try #require(try keys.key(for: jws.header)))))
        #expect(claims.issuer == "http://gateway.test")
        #expect(claims.audience == ["http://upstream.test"])
        #expect(claims.subject == "sub-alice")
        #expect(claims.members["idp"] == "http://idp.test")
        #expect(claims.expiry == Instant(seconds: fixture.time.now.seconds + 60))
        let me = try await app.send(.get, "/api/v1.0/users/me/").json()
        #expect(claims.members["uid"] == me["id"])
        #expect(request.fields["X-Nacre-User"] == me["id"]?.string)
        #expect(request.fields["X-Nacre-Name"] == "Alice%20Martin")
        #expect(request.fields["X-Nacre-Email"] == "alice%40example.test")
    }

    @Test func `one identity token serves a session's requests for ten seconds, and no other session`() async throws {
        let fixture = try await GatewayFixture()
        let (app, _) = try await fixture.signedInApp()
        let (other, _) = try await fixture.signedInApp()
        for client in [app, other, app] { _ = try await client.send(.get, "/api/x") }
        fixture.time.advance(by: .seconds(10))
        _ = try await app.send(.get, "/api/x")
        let tokens = fixture.upstream.requests.compactMap { $0.fields["X-Nacre-Identity"] }
        #expect(tokens.count == 4 && tokens[0] == tokens[2] && Set(tokens).count == 3)
        let expiry = try JWTClaims(parsing: JWS(parsing: tokens[3]).unverifiedPayload).expiry
        #expect(expiry == Instant(seconds: fixture.time.now.seconds + 60))
    }

    @Test(
        "what only the gateway may say is taken out of a request",
        arguments: [
            "X-Nacre-Identity", "x-nacre-user", "X_Nacre_User", "X-Remote-User", "X_REMOTE_USER", "Remote-User",
            "X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "X-Real-IP", "X.Nacre.User", "x~remote+user",
            "X_Forwarded_For", "x-forwarded_proto", "True-Client-IP", "X-Original-URL", "Content_Length",
            "Transfer_Encoding",
        ])
    func spoofed(name: String) async throws {
        let fixture = try await GatewayFixture { $0.upstream?.anonymousPrefixes = ["/api/public/"] }
        _ = try await fixture.browser().send(.get, "/api/public/x", fields: [name: "mallory"])
        let (app, _) = try await fixture.signedInApp()
        _ = try await app.send(.get, "/api/x", fields: [name: "mallory"])
        #expect(fixture.upstream.requests.count == 2)
        for request in fixture.upstream.requests {
            #expect(request.fields.fields.allSatisfy { !$0.value.contains("mallory") })
            #expect(request.fields.values(name).count <= 1)
        }
        #expect(fixture.upstream.requests[0].fields["X-Nacre-Identity"] == nil)
    }

    @Test func `our cookies do not reach the upstream and it cannot set them; others pass`() async throws {
        let fixture = try await GatewayFixture()
        let browser = try await fixture.signedInBrowser()
        browser.cookies["theme"] = "dark"
        browser.cookies["nacre_rt_0123456789abcdef"] = "secret"
        browser.cookies["__Host-nacre_rt_0123456789abcdef"] = "secret"
        fixture.upstream.answer { _ in
            var response = HTTPResponse.json([:])
            response.fields.append("Set-Cookie", "sessionid=planted; Path=/")
            response.fields.append("Set-Cookie", "nacre_rt_0123456789abcdef=planted")
            response.fields.append("Set-Cookie", "__Host-nacre_rt_0123456789abcdef=planted; Path=/; Secure")
            response.fields.append("Set-Cookie", "theme=light")
            response.fields.append("Connection", "X-Hop")
            response.fields.append("X-Hop", "1")
            return response
        }
        let answer = try await browser.send(.get, "/api/x")
        #expect(fixture.upstream.requests[0].fields["Cookie"] == "theme=dark")
        #expect(answer.fields.values("Set-Cookie") == ["theme=light"])
        #expect(answer.fields["X-Hop"] == nil)
    }

    @Test(
        "the upstream cannot have our cookies deleted by Clear-Site-Data",
        arguments: [
            (["\"cookies\""], nil), (["\"*\""], nil), (["\"cache\", \"cookies\""], "\"cache\""),
            (["\"cookies\"", "\"storage\",\"cache\""], "\"storage\", \"cache\""), (["cookies"], nil),
            (["\"Cookies\""], nil), (["\"executionContexts\""], "\"executionContexts\""), ([""], nil),
        ] as [([String], String?)])
    func clearSiteData(sent: [String], passed: String?) async throws {
        let fixture = try await GatewayFixture { $0.upstream?.anonymousPrefixes = ["/api/public/"] }
        fixture.upstream.answer { _ in
            var response = HTTPResponse.json([:])
            for value in sent { response.fields.append("Clear-Site-Data", value) }
            return response
        }
        let browser = try await fixture.signedInBrowser()
        for path in ["/api/x", "/api/public/x"] {
            let answer = try await browser.send(.get, path)
            #expect(answer.fields.values("Clear-Site-Data") == (passed.map { [$0] } ?? []))
        }
    }

    @Test(
        "CSRF: an unsafe request needs the token or exactly our origin",
        arguments: [
            ([:], 403), (["Origin": "http://gateway.test"], 200), (["Origin": "https://gateway.test"], 403),
            (["Origin": "http://gateway.test.evil.test"], 403), (["Origin": "null"], 403),
            (["Origin": "http://evil.test"], 403),
            (["Origin": "http://gateway.test:80"], 403), (["X-CSRFToken": "TOKEN"], 200),
            (["X-CSRFToken": "TOKEN", "Origin": "http://gateway.test"], 200), (["X-CSRFToken": "wrong"], 403),
            (["Referer": "http://gateway.test/"], 403), (["Cookie2": "csrftoken=x"], 403),
        ] as [([String: String], Int)])
    func csrf(fields: [String: String], status: Int) async throws {
        let fixture = try await GatewayFixture()
        let (app, csrf) = try await fixture.signedInApp()
        var headers = HTTPFields()
        for (name, value) in fields { headers.append(name, value == "TOKEN" ? csrf : value) }
        for method in [HTTPMethod.post, .put, .patch, .delete] {
            #expect(try await app.send(method, "/api/x", fields: headers).status.rawValue == status)
        }
        #expect(try await app.send(.get, "/api/x", fields: headers).status == .ok)
        #expect(fixture.upstream.requests.count == (status == 200 ? 5 : 1))
    }

    @Test("CSRF: another session's token is none; a page gets its own from /csrf/")
    func csrfOfAnother() async throws {
        let fixture = try await GatewayFixture()
        let (app, _) = try await fixture.signedInApp()
        let other = try await fixture.signedInBrowser()
        let token = try #require(try await other.send(.get, "/api/v1.0/csrf/").json()["csrf_token"]?.string)
        #expect(try await app.send(.post, "/api/x", fields: ["X-CSRFToken": token]).status == .forbidden)
        #expect(try await other.send(.post, "/api/x", fields: ["X-CSRFToken": token]).status == .ok)
        #expect(try await fixture.browser().send(.get, "/api/v1.0/csrf/").status == .unauthorized)
    }

    @Test func `both bodies stream: the first chunk passes before the last one exists`() async throws {
        let fixture = try await GatewayFixture()
        let (app, csrf) = try await fixture.signedInApp()
        let (up, down) = (BytePipe(), BytePipe())
        fixture.upstream.answer { request in
            let first = try await request.body.stream.next()
            #expect(first == [1])
            return HTTPResponse(body: .stream(down.stream, length: nil))
        }
        try await up.write([1])
        let answer = try await app.send(
            .post, "/api/x", fields: ["X-CSRFToken": csrf], body: .stream(up.stream, length: nil))
        try await down.write([2])
        #expect(try await answer.body.stream.next() == [2])
        down.finish()
        #expect(try await answer.body.stream.next() == nil)
    }

    @Test(
        "a failing upstream is named with a reason",
        arguments: [
            ("transport.unreachable", 502, "upstream.unreachable"), ("transport.timeout", 504, "upstream.timeout"),
            ("transport.tls", 502, "upstream.tls"), ("transport.protocol", 502, "upstream.protocol"),
        ])
    func failing(code: String, status: Int, reason: String) async throws {
        let fixture = try await GatewayFixture()
        let (app, _) = try await fixture.signedInApp()
        fixture.upstream.answer { _ in throw NacreError(.init(rawValue: code), "inner detail") }
        let answer = try await app.send(.get, "/api/x")
        #expect(answer.status.rawValue == status)
        let body = try await answer.json()
        #expect(body["code"] == .string(reason))
        #expect(body["message"]?.string?.contains("inner detail") == false)
    }

    @Test(
        "a body that fails on its way up is answered as what it is",
        arguments: [
            ("socket.timeout", 408, "body_timeout"), ("http.body_incomplete", 400, "body_malformed"),
            ("http.body_malformed", 400, "body_malformed"), ("http.body_too_large", 413, "body_too_large"),
        ])
    func failingBody(code: String, status: Int, reason: String) async throws {
        let fixture = try await GatewayFixture()
        let (app, csrf) = try await fixture.signedInApp()
        fixture.upstream.answer { request in
            _ = try await request.body.collect(upTo: 1 << 20)
            return HTTPResponse()
        }
        let body = HTTPBody.stream(ByteStream { throw NacreError(.init(rawValue: code), "inner detail") }, length: nil)
        let answer = try await app.send(.post, "/api/x", fields: ["X-CSRFToken": csrf], body: body)
        #expect(answer.status.rawValue == status)
        #expect(try await answer.json()["code"] == .string(reason))
    }

    @Test func `a request body beyond the limit is refused, announced or not`() async throws {
        let fixture = try await GatewayFixture { $0.upstream?.requestLimit = 10 }
        let (app, csrf) = try await fixture.signedInApp()
        fixture.upstream.answer { request in
            HTTPResponse(body: .bytes(try await request.body.collect(upTo: 1 << 20)))
        }
        let announced = try await app.send(
            .post, "/api/x", fields: ["X-CSRFToken": csrf], body: .bytes([UInt8](repeating: 1, count: 11)))
        #expect(announced.status == .contentTooLarge)
        #expect(fixture.upstream.requests.isEmpty)
        let chunks = Mutex(3)
        let stream = ByteStream {
            let more = chunks.withLock { count in
                count -= 1
                return count >= 0
            }
            return more ? [1, 2, 3, 4] : nil
        }
        let streamed = try await app.send(
            .post, "/api/x", fields: ["X-CSRFToken": csrf], body: .stream(stream, length: nil))
        #expect(streamed.status == .contentTooLarge)
        let small = try await app.send(.post, "/api/x", fields: ["X-CSRFToken": csrf], body: .bytes([1, 2]))
        #expect(small.status == .ok)
    }

    @Test func `an answer beyond the limit does not pass`() async throws {
        let fixture = try await GatewayFixture { $0.upstream?.responseLimit = 10 }
        let (app, _) = try await fixture.signedInApp()
        fixture.upstream.answer { _ in HTTPResponse(body: .bytes([UInt8](repeating: 1, count: 11))) }
        let announced = try await app.send(.get, "/api/x")
        #expect(announced.status == .badGateway)
        #expect(try await announced.json()["code"] == "upstream.too_large")
        fixture.upstream.answer { _ in HTTPResponse(body: .stream(ByteStream { [1, 2, 3, 4] }, length: nil)) }
        let streamed = try await app.send(.get, "/api/x")
        await #expect(throws: NacreError.self) { try await streamed.body.collect(upTo: 1 << 20) }
    }

    @Test(
        "redirects to the upstream's own address lead to ours",
        arguments: [
            ("http://upstream.test/a?b=c#d", "https://gateway.test/a?b=c#d"),
            ("https://upstream.test:80/a", "https://gateway.test/a"),
            ("http://gateway.test/a", "https://gateway.test/a"),
            ("/relative?x", "/relative?x"), ("other", "other"),
            ("https://elsewhere.test/a", "https://elsewhere.test/a"),
            ("http://upstream.test.evil.test/", "http://upstream.test.evil.test/"),
            ("http://gateway.test:8080/", "http://gateway.test:8080/"), ("//upstream.test/a", "//upstream.test/a"),
        ])
    func location(sent: String, seen: String) async throws {
        let fixture = try await GatewayFixture {
            $0.publicOrigin = try Origin("https://gateway.test")
            $0.upstream?.anonymousPrefixes = ["/api/"]
        }
        fixture.upstream.answer { _ in .redirect(to: sent) }
        #expect(try await fixture.browser().send(.get, "/api/x").fields["Location"] == seen)
    }

    @Test(
        "hop-by-hop fields and those that Connection names stay on their hop, both ways",
        arguments: [
            "Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Upgrade", "X-Named",
            "Proxy-Authorization",
        ])
    func hopByHop(name: String) async throws {
        let fixture = try await GatewayFixture { $0.upstream?.anonymousPrefixes = ["/api/"] }
        fixture.upstream.answer { _ in
            HTTPResponse(fields: ["Connection": "X-Named, close", name: "h2c", "X-Kept": "1"])
        }
        let answer = try await fixture.browser().send(
            .get, "/api/x", fields: ["Connection": "x-named", name: "h2c", "X-Kept": "1", "Expect": "100-continue"])
        let request = try #require(fixture.upstream.requests.first)
        #expect(request.fields[name] == nil && request.fields["Expect"] == nil && request.fields["X-Kept"] == "1")
        #expect(answer.fields[name] == nil && answer.fields["X-Kept"] == "1")
    }

    @Test func `a field of ours that Connection names is set all the same`() async throws {
        let fixture = try await GatewayFixture()
        let (app, _) = try await fixture.signedInApp()
        _ = try await app.send(
            .get, "/api/x", fields: ["Connection": "X-Nacre-Identity, X-Nacre-User, X-Forwarded-For"])
        let request = try #require(fixture.upstream.requests.first)
        #expect(request.fields["X-Nacre-Identity"] != nil && request.fields["X-Forwarded-For"] == "198.51.100.7")
    }

    @Test(
        "a Set-Cookie of the upstream cannot become one of ours",
        arguments: [
            "sessionid=x", " sessionid =x", "\tsessionid=x; Path=/", "=sessionid=x", "sessionid", "nacre_rt_1=x",
            "__Host-nacre_rt_1=x; Path=/; Secure",
        ])
    func plantedCookie(value: String) async throws {
        let fixture = try await GatewayFixture { $0.upstream?.anonymousPrefixes = ["/api/"] }
        fixture.upstream.answer { _ in HTTPResponse(fields: ["Set-Cookie": value]) }
        #expect(try await fixture.browser().send(.get, "/api/x").fields.values("Set-Cookie") == [])
    }

    @Test func `Host is the upstream's own, or the public one where that is wanted`() async throws {
        for preserved in [false, true] {
            let fixture = try await GatewayFixture {
                $0.upstream?.anonymousPrefixes = ["/api/"]
                $0.upstream?.preservesHost = preserved
            }
            _ = try await fixture.browser().send(.get, "/api/x")
            let request = try #require(fixture.upstream.requests.first)
            #expect(request.authority == "upstream.test")
            #expect(request.fields["Host"] == (preserved ? "gateway.test" : nil))
            #expect(request.fields["X-Forwarded-Host"] == "gateway.test")
        }
    }

    @Test func `a 101 that nobody asked for is no answer`() async throws {
        let fixture = try await GatewayFixture { $0.upstream?.anonymousPrefixes = ["/api/"] }
        fixture.upstream.answer { _ in HTTPResponse(status: .switchingProtocols) { _ in } }
        let answer = try await fixture.browser().send(.get, "/api/x")
        #expect(answer.status == .badGateway && answer.upgrade == nil)
    }

    @Test(
        "a path that climbs out of its prefix is refused",
        arguments: [
            "/api/../admin", "/api/%2e%2e/admin", "/api/..%2fadmin", "/api/.%2E%5Cadmin", "/api/a/./b", "/api/%00",
            "/api/%zz", "/api/..;/admin", "/api/..;a=b/admin", "/api/%2e%2e%3bx/admin", "/api/.;/b",
        ])
    func climbing(path: String) async throws {
        let fixture = try await GatewayFixture()
        let (app, _) = try await fixture.signedInApp()
        #expect(try await app.send(.get, path).status == .badRequest)
        #expect(fixture.upstream.requests.isEmpty)
    }

    @Test func `the window of the cookie slides with proxied requests`() async throws {
        let fixture = try await GatewayFixture()
        let (app, _) = try await fixture.signedInApp()
        #expect(try await app.send(.get, "/api/x").fields["Set-Cookie"] == nil)
        fixture.time.advance(by: .seconds(301))
        fixture.upstream.answer { _ in HTTPResponse(fields: ["Cache-Control": "public, max-age=86400"]) }
        let answer = try await app.send(.get, "/api/x")
        #expect(answer.fields["Set-Cookie"]?.contains("Max-Age=2592000") == true)
        #expect(answer.fields["Cache-Control"] == "private, no-store", "no cache in front keeps somebody's cookie")
        #expect(answer.fields.values("Vary").contains("Cookie"))
        #expect(try await app.send(.get, "/api/x").fields["Cache-Control"] == "public, max-age=86400")
    }

    @Test func `TRACE is not passed on: its answer would hold the identity`() async throws {
        let fixture = try await GatewayFixture()
        let (app, _) = try await fixture.signedInApp()
        #expect(try await app.send("TRACE", "/api/x").status == .methodNotAllowed)
        #expect(fixture.upstream.requests.isEmpty)
    }
}
