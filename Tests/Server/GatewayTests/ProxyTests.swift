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

    @Test(
        "what only the gateway may say is taken out of a request",
        arguments: [
            "X-Nacre-Identity", "x-nacre-user", "X_Nacre_User", "X-Remote-User", "X_REMOTE_USER", "Remote-User",
            "X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "X-Real-IP", "X.Nacre.User", "x~remote+user",
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

    @Test func `an upstream that never begins to answer is given up`() async throws {
        let fixture = try await GatewayFixture()
        let (app, _) = try await fixture.signedInApp()
        let time = fixture.time
        fixture.upstream.answer { _ in
            try await time.sleep(for: .seconds(3600))
            return HTTPResponse()
        }
        async let answer = app.send(.get, "/api/x")
        try await until { time.sleeperCount >= 2 }
        time.advance(by: .seconds(60))
        #expect(try await answer.status == .gatewayTimeout)
    }

    @Test(
        "NB-6: an upload may take longer than the upstream may; its time counts from the end of the upload",
        arguments: [(59, 200), (3600, 504)])
    func slowUpload(seconds: Int, status: Int) async throws {
        let fixture = try await GatewayFixture()
        let (app, csrf) = try await fixture.signedInApp()
        let time = fixture.time
        let read = Mutex(0)
        fixture.upstream.answer { request in
            while try await request.body.stream.next() != nil { read.withLock { $0 += 1 } }
            try await time.sleep(for: .seconds(seconds))
            return HTTPResponse()
        }
        let pipe = BytePipe()
        let asked = Mutex(0)
        let slow = ByteStream {
            asked.withLock { $0 += 1 }
            return try await pipe.stream.next()
        }
        async let answer = app.send(
            .post, "/api/x", fields: ["X-CSRFToken": csrf], body: .stream(slow, length: nil))
        for part in 1...3 {
            // The upstream waits for the client, and the gateway's limit runs.
            try await until { asked.withLock { $0 } >= part && time.sleeperCount >= 1 }
            time.advance(by: .seconds(300))
            try await pipe.write([1])
        }
        try await until { asked.withLock { $0 } >= 4 && time.sleeperCount >= 1 }
        pipe.finish()
        try await until { time.sleeperCount >= 2 }
        time.advance(by: .seconds(min(seconds, 60)))
        #expect(try await answer.status.rawValue == status)
        #expect(read.withLock { $0 } == 3)
    }

    @Test func `an upstream that stops taking an upload is given up`() async throws {
        let fixture = try await GatewayFixture()
        let (app, csrf) = try await fixture.signedInApp()
        let time = fixture.time
        fixture.upstream.answer { request in
            _ = try await request.body.stream.next()
            try await time.sleep(for: .seconds(3600))
            return HTTPResponse()
        }
        let endless = ByteStream { [1] }
        async let answer = app.send(
            .post, "/api/x", fields: ["X-CSRFToken": csrf], body: .stream(endless, length: nil))
        try await until { time.sleeperCount >= 2 }
        time.advance(by: .seconds(60))
        #expect(try await answer.status == .gatewayTimeout)
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
        #expect(try await app.send(.get, "/api/x").fields["Set-Cookie"]?.contains("Max-Age=2592000") == true)
    }
}
