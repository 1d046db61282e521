// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreGateway
import NacreHTTP
import NacreRouting
import NacreTesting
import Testing

@Suite struct CSRFStyleTests {
    @Test(
        "CSRF: each framework's own field carries our token, and no other does",
        arguments: [
            (CSRFStyle.gateway, "X-CSRFToken", 200), (.gateway, "X-CSRF-Token", 403), (.gateway, "X-XSRF-TOKEN", 403),
            (.django, "X-CSRFToken", 200), (.django, "X-XSRF-TOKEN", 403), (.rails, "X-CSRF-Token", 200),
            (.rails, "X-CSRFToken", 200), (.rails, "X-XSRF-TOKEN", 403), (.laravel, "X-XSRF-TOKEN", 200),
            (.laravel, "X-CSRF-TOKEN", 200), (.laravel, "X-CSRFToken", 200),
        ])
    func field(style: CSRFStyle, name: String, status: Int) async throws {
        let fixture = try await GatewayFixture { $0.upstream?.csrf = style }
        let (app, csrf) = try await fixture.signedInApp()
        #expect(try await app.send(.post, "/api/x", fields: [name: csrf]).status.rawValue == status)
        #expect(try await app.send(.post, "/api/x", fields: [name: "A" + csrf.dropFirst()]).status == .forbidden)
        for request in fixture.upstream.requests { #expect(request.fields[name] != csrf) }
    }

    @Test(
        "CSRF: a page finds the token in its framework's cookie, which the upstream never sees",
        arguments: [(CSRFStyle.django, "csrftoken", "X-CSRFToken"), (.laravel, "XSRF-TOKEN", "X-XSRF-TOKEN")])
    func cookie(style: CSRFStyle, name: String, field: String) async throws {
        let fixture = try await GatewayFixture { $0.upstream?.csrf = style }
        let browser = try await fixture.signedInBrowser()
        let first = try await browser.send(.get, "/api/x")
        let set = try #require(first.fields.values("Set-Cookie").first { $0.hasPrefix(name + "=") })
        #expect(set.contains("SameSite=Lax") && !set.contains("HttpOnly"))
        let token = try #require(browser.cookies[name])
        #expect(try await browser.send(.post, "/api/x", fields: [field: token]).status == .ok)
        let again = try await browser.send(.get, "/api/x")
        #expect(again.fields.values("Set-Cookie").isEmpty)
        for request in fixture.upstream.requests {
            #expect(request.fields["Cookie"]?.contains(token) != true)
            #expect(request.fields[field] != token)
        }
        browser.cookies[name] = "stale"
        #expect(try await browser.send(.get, "/api/x").fields["Set-Cookie"]?.hasPrefix(name + "=") == true)
        fixture.upstream.answer { _ in HTTPResponse(fields: ["Set-Cookie": "\(name)=planted; Path=/"]) }
        #expect(try await browser.send(.get, "/api/x").fields.values("Set-Cookie").isEmpty)
    }

    @Test func `CSRF: Django's own check is given a pair that stays the same for the session`() async throws {
        let fixture = try await GatewayFixture { $0.upstream?.csrf = .django }
        let browser = try await fixture.signedInBrowser()
        browser.cookies["theme"] = "dark"
        _ = try await browser.send(.get, "/api/x")
        _ = try await browser.send(.post, "/api/x", fields: ["Origin": "http://gateway.test"])
        let cookies = fixture.upstream.requests.compactMap { $0.fields["Cookie"] }
        #expect(Set(cookies).count == 1)
        let pair = try #require(cookies.first)
        #expect(pair.hasPrefix("theme=dark; csrftoken="))
        let secret = String(pair.dropFirst("theme=dark; csrftoken=".count))
        #expect(secret.utf8.count == 32 && secret.utf8.allSatisfy { Character(.init($0)).isHexDigit })
        #expect(fixture.upstream.requests[0].fields["X-CSRFToken"] == nil)
        #expect(fixture.upstream.requests[1].fields["X-CSRFToken"] == secret)
        let other = try await fixture.signedInBrowser()
        _ = try await other.send(.get, "/api/x")
        #expect(fixture.upstream.requests.last?.fields["Cookie"] != "csrftoken=" + secret)
    }

    @Test func `CSRF: a token of the upstream's own passes where it checks by itself`() async throws {
        let fixture = try await GatewayFixture()
        let browser = try await fixture.signedInBrowser()
        browser.cookies["csrftoken"] = "its-own"
        _ = try await browser.send(
            .post, "/api/x", fields: ["Origin": "http://gateway.test", "X-CSRFToken": "its-own"])
        let request = try #require(fixture.upstream.requests.first)
        #expect(request.fields["X-CSRFToken"] == "its-own" && request.fields["Cookie"] == "csrftoken=its-own")
    }
}
