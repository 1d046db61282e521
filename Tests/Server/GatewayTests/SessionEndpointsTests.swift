// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreGateway
import NacreHTTP
import NacreSessions
import NacreTesting
import NacreWire
import Testing

@Suite("SE-5: a person's own sessions") struct SessionEndpointsTests {
    private let list = "/api/v1.0/sessions/"
    private let me = "/api/v1.0/users/me/"

    private func sessions(_ browser: TestBrowser) async throws -> [JSONValue] {
        try #require(try await browser.send(.get, list).json()["sessions"]?.array)
    }

    private func csrf(_ browser: TestBrowser) async throws -> HTTPFields {
        let token = try await browser.send(.get, "/api/v1.0/csrf/").json()["csrf_token"]?.string ?? ""
        return ["X-CSRFToken": token]
    }

    @Test("The list names this person's sessions, newest use first, and says which one asks; no handle is in it")
    func listed() async throws {
        let fixture = try await GatewayPair()
        let browser = try await fixture.signedIn(fixture.first)
        fixture.time.advance(by: .seconds(600))
        let (app, answer) = try await fixture.exchanged(["device": "  Alice\u{202E}s\u{0}\n phone "])
        #expect(answer.status == .ok)
        fixture.provider.person.subject = "bob"
        let stranger = try await fixture.signedIn(fixture.first)
        let all = try await sessions(app)
        #expect(all.count == 2)
        #expect(all[0]["current"] == true)
        #expect(all[0]["device"] == "Alices phone")
        #expect(all[0]["presentation"] == "cookie")
        #expect(all[1]["current"] == false)
        #expect(all[1]["last_seen_at"]?.integer ?? 0 < all[0]["last_seen_at"]?.integer ?? 0)
        let text = try await app.send(.get, list).text()
        for handle in Array(browser.cookies.values) + Array(app.cookies.values) { #expect(!text.contains(handle)) }
        #expect(try await sessions(stranger).count == 1)
        #expect(try await fixture.browser(fixture.first).send(.get, list).status == .unauthorized)
    }

    @Test("One session is ended from another, at once; strangers and unknown identifiers are 404")
    func endOne() async throws {
        let fixture = try await GatewayFixture()
        let browser = try await fixture.signedInBrowser()
        let (app, token) = try await fixture.signedInApp()
        fixture.provider.person.subject = "bob"
        let stranger = try await fixture.signedInBrowser()
        let id = try #require(try await sessions(app).first { $0["current"] == false }?["id"]?.string)
        let fields: HTTPFields = ["X-CSRFToken": token]
        #expect(try await app.send(.delete, list + id + "/").status == .forbidden, "without CSRF")
        #expect(try await stranger.send(.delete, list + id + "/", fields: csrf(stranger)).status == .notFound)
        #expect(try await app.send(.delete, list + "nothing/", fields: fields).status == .notFound)
        #expect(try await browser.send(.get, me).status == .ok)
        let heard = Mailbox()
        let watch = fixture.gateway.events.onEnd(of: id, heard.action)
        let answer = try await app.send(.delete, list + id + "/", fields: fields)
        #expect(answer.status == .noContent)
        #expect(answer.fields["Set-Cookie"] == nil)
        #expect(heard.reasons == ["ended_elsewhere"])
        #expect(try await browser.send(.get, me).status == .unauthorized)
        #expect(try await app.send(.delete, list + id + "/", fields: fields).status == .notFound)
        #expect(try await app.send(.get, me).status == .ok)
        watch.cancel()
    }

    @Test("The own session is ended with its cookie")
    func endOwn() async throws {
        let fixture = try await GatewayFixture()
        let (app, token) = try await fixture.signedInApp()
        let id = try #require(try await sessions(app)[0]["id"]?.string)
        let answer = try await app.send(.delete, list + id + "/", fields: ["X-CSRFToken": token])
        #expect(answer.status == .noContent)
        #expect(answer.fields["Set-Cookie"]?.contains("Max-Age=0") == true)
        #expect(try await app.send(.get, me).status == .unauthorized)
    }

    @Test("All others end, or all")
    func endMany() async throws {
        let fixture = try await GatewayFixture()
        var browsers: [TestBrowser] = []
        for _ in 0..<4 { browsers.append(try await fixture.signedInBrowser()) }
        fixture.provider.person.subject = "bob"
        let stranger = try await fixture.signedInBrowser()
        #expect(try await browsers[0].send(.post, list + "end-others/").status == .forbidden, "without CSRF")
        let others = try await browsers[0].send(.post, list + "end-others/", fields: csrf(browsers[0]))
        #expect(try await others.json()["ended"] == 3)
        #expect(try await browsers[0].send(.get, me).status == .ok)
        #expect(try await browsers[1].send(.get, me).status == .unauthorized)
        let all = try await browsers[0].send(.post, list + "end-all/", fields: csrf(browsers[0]))
        #expect(try await all.json()["ended"] == 1)
        #expect(all.fields["Set-Cookie"]?.contains("Max-Age=0") == true)
        #expect(try await browsers[0].send(.get, me).status == .unauthorized)
        #expect(try await stranger.send(.get, me).status == .ok)
    }

    @Test("HO-7: back-channel logout tells the watchers of the sessions it ends")
    func backchannel() async throws {
        let fixture = try await GatewayFixture()
        let (app, _) = try await fixture.signedInApp()
        let id = try #require(try await sessions(app)[0]["id"]?.string)
        let heard = Mailbox()
        let watch = fixture.gateway.events.onEnd(of: id, heard.action)
        let token = try fixture.provider.logoutToken()
        let form = "logout_token=" + PercentEncoding.encode(token)
        let answer = try await fixture.browser().post(
            "/api/v1.0/backchannel-logout/", Array(form.utf8),
            fields: ["Content-Type": "application/x-www-form-urlencoded"])
        #expect(answer.status == .ok)
        #expect(heard.reasons == ["backchannel"])
        watch.cancel()
    }
}
