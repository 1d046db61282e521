// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacrePorts
import NacreSignIn
import NacreTesting
import NacreWire
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2))) struct AppSessionTests {
    @Test("SE-3: at launch the session is restored with its profile, then validated in the background")
    func restored() async throws {
        let first = await Device.signedIn()
        first.server.change { $0.profileBody = ["id": "42", "full_name": "Ada L.", "email": .null, "language": .null] }
        let second = first.restarted()
        #expect(await second.session.snapshot.state == .unknown)
        await second.session.restore()
        let early = await second.session.snapshot
        #expect(early.state == .signedIn && early.profile?.fullName == "Ada")
        await second.session.validate()
        let late = await second.session.snapshot
        #expect(late.profile?.fullName == "Ada L." && late.server == .reachable)
        #expect(late.keptIn == .secretService)
    }

    @Test("SE-3: revoked on the server → signed out with the reason, and not back at the next start")
    func revoked() async {
        let first = await Device.signedIn()
        first.server.change { $0.sessions = [] }
        let second = first.restarted()
        await second.session.restore()
        await second.session.validate()
        let snapshot = await second.session.snapshot
        #expect(snapshot.state == .signedOut && snapshot.reason == .sessionRevoked && snapshot.profile == nil)
        let third = second.restarted()
        await third.session.restore()
        #expect(await third.session.snapshot.state == .signedOut)
    }

    @Test("Who has signed out is remembered until the end of the run, for a report that must not name them")
    func people() async throws {
        let device = await Device.signedIn()
        let profile = try #require(await device.session.snapshot.profile)
        device.server.change { $0.sessions = [] }
        await device.session.validate()
        #expect(await device.session.snapshot.profile == nil)
        #expect(await device.session.people.contains(profile))
    }

    @Test("A server that tells another name at each question does not fill the memory")
    func manyPeople() async {
        let device = await Device.signedIn()
        for number in 0..<80 {
            device.server.change {
                $0.profileBody = ["id": "42", "full_name": .string("Ada \(number)"), "email": .null, "language": .null]
            }
            await device.session.validate()
        }
        let people = await device.session.people
        #expect(people.count == 64 && people.last?.fullName == "Ada 79")
    }

    @Test(
        "SE-3: why a session is over is told as the server's code and the cookie say",
        arguments: [
            (SessionRefusal.absent, true, SessionSnapshot.Reason.sessionRevoked),
            (SessionRefusal.absent, false, .sessionExpired), (SessionRefusal.ended, true, .sessionExpired),
            (SessionRefusal.revoked, true, .sessionRevoked), ("not_authenticated", true, .sessionExpired),
        ])
    func reasons(code: String, cookie: Bool, reason: SessionSnapshot.Reason) async {
        let device = await Device.signedIn()
        device.server.change {
            $0.sessions = []
            $0.refusal = code
        }
        // Past the cookie's own age nothing is presented any more.
        if !cookie { device.time.advance(by: .seconds(31 * 86_400)) }
        await device.session.validate()
        #expect(await device.session.snapshot.reason == reason)
    }

    @Test(
        "SE-3: an unreachable server leaves the session alone, and says so",
        arguments: [nil, HTTPStatus(rawValue: 502)])
    func unreachable(status: HTTPStatus?) async {
        let first = await Device.signedIn()
        if let status {
            first.server.change { $0.profileStatus = status }
        } else {
            first.server.change { $0.online = false }
        }
        let second = first.restarted()
        await second.session.restore()
        await second.session.validate()
        let snapshot = await second.session.snapshot
        #expect(snapshot.state == .signedIn && snapshot.server == .unreachable && snapshot.profile != nil)
    }

    @Test("NB-3, NB-7: a request carries the cookie; an unsafe one also the CSRF token and Origin")
    func authorized() async throws {
        let device = await Device.signedIn()
        let get = try await device.session.authorize(Device.request("/api/v1.0/threads/"))
        #expect(get.request.fields["Cookie"]?.hasPrefix("sessionid=session") == true)
        #expect(get.request.fields["X-CSRFToken"] == nil)
        var post = Device.request("/api/v1.0/threads/", .post)
        post.fields["Cookie"] = "sessionid=chosen-by-the-page"
        post.fields["X-CSRFToken"] = "stale"
        post.fields["Origin"] = "https://localhost"
        let sent = try await device.session.authorize(post).request
        #expect(sent.fields.values("Cookie") == get.request.fields.values("Cookie"))
        #expect(sent.fields["X-CSRFToken"]?.hasPrefix("csrf-session") == true)
        #expect(sent.fields["Origin"] == "https://mail.example.org")
    }

    @Test(
        "NB-1: nothing of the session leaves for another origin",
        arguments: [("https", "evil.example"), ("http", "mail.example.org"), ("https", "mail.example.org:444")])
    func otherOrigin(scheme: String, authority: String) async throws {
        let device = await Device.signedIn()
        let request = HTTPRequest(method: .post, scheme: scheme, authority: authority, target: "/")
        let sent = try await device.session.authorize(request)
        #expect(sent.request.fields["Cookie"] == nil && sent.request.fields["X-CSRFToken"] == nil)
        // Its 401 is somebody else's.
        await device.session.observe(HTTPResponse(status: .unauthorized), to: sent)
        #expect(await device.session.snapshot.state == .signedIn)
    }

    @Test("SE-4: many 401s end the session in one place; the server is asked once and the page is told once")
    func singleFlight() async throws {
        let device = await Device.signedIn()
        device.server.change { $0.sessions = [] }
        var changes = await device.session.changes().makeAsyncIterator()
        _ = await changes.next()
        let before = device.server.requests(to: "/api/v1.0/users/me/").count
        let authorized = try await device.session.authorize(Device.request("/api/v1.0/threads/"))
        for _ in 0..<20 { await device.session.observe(HTTPResponse(status: .unauthorized), to: authorized) }
        let next = await changes.next()
        #expect(next?.state == .signedOut && next?.reason == .sessionRevoked)
        #expect(device.server.requests(to: "/api/v1.0/users/me/").count == before + 1)
        for _ in 0..<20 { await device.session.observe(HTTPResponse(status: .unauthorized), to: authorized) }
        #expect(device.server.requests(to: "/api/v1.0/users/me/").count == before + 1)
    }

    @Test("SE-4: a 401 that is one address's own answer leaves a valid session alone")
    func own401() async throws {
        let device = await Device.signedIn()
        let authorized = try await device.session.authorize(Device.request("/api/v1.0/special/"))
        await device.session.observe(HTTPResponse(status: .unauthorized), to: authorized)
        await device.session.validate()
        #expect(await device.session.snapshot.state == .signedIn)
    }

    @Test("SE-4: a 401 to a request of an older session leaves the newer one alone, and its cookies do too")
    func olderGeneration() async throws {
        let device = await Device.signedIn()
        let old = try await device.session.authorize(Device.request("/api/v1.0/threads/"))
        #expect(await device.signIn().end == .signedIn)
        await device.session.validate()
        let before = device.server.requests(to: "/api/v1.0/users/me/").count
        let answer = HTTPResponse(status: .unauthorized, fields: ["Set-Cookie": "sessionid=old; Path=/"])
        await device.session.observe(answer, to: old)
        await device.session.validate()
        #expect(await device.session.snapshot.state == .signedIn)
        #expect(device.server.requests(to: "/api/v1.0/users/me/").count == before + 1)
        let now = try await device.session.authorize(Device.request("/"))
        #expect(now.request.fields["Cookie"]?.contains("sessionid=old") == false)
    }

    @Test("SE-4: the exchange carries no old session, and its 401 is an answer")
    func anonymousCall() async throws {
        let device = await Device.signedIn()
        let sent = try await device.session.authorize(Device.request("/api/v1.0/mobile/auth/exchange/", .post))
        #expect(sent.request.fields["Cookie"] == nil && sent.request.fields["X-CSRFToken"] == nil)
        await device.session.observe(HTTPResponse(status: .unauthorized), to: sent)
        await device.session.validate()
        #expect(await device.session.snapshot.state == .signedIn)
    }

    @Test("A bundle that exchanges by itself is signed in with the session it was given")
    func pageExchanges() async throws {
        let device = Device()
        await device.launch()
        let sent = try await device.session.authorize(Device.request("/api/v1.0/mobile/auth/exchange/", .post))
        device.server.change { $0.sessions = ["mine"] }
        await device.session.observe(HTTPResponse(fields: ["Set-Cookie": "sessionid=mine; Path=/; HttpOnly"]), to: sent)
        await device.session.validate()
        #expect(await device.session.snapshot.state == .signedIn)
        #expect(try await device.call().status == .ok)
    }

    @Test("HO-13: a cookie the server renews is kept, and survives a restart")
    func renewed() async throws {
        let device = await Device.signedIn()
        let sent = try await device.session.authorize(Device.request("/api/v1.0/threads/"))
        device.server.change { $0.sessions = ["rotated"] }
        await device.session.observe(
            HTTPResponse(fields: ["Set-Cookie": "sessionid=rotated; Path=/; HttpOnly"]), to: sent)
        #expect(try await device.call().status == .ok)
        await device.session.flush()
        let second = device.restarted()
        await second.session.restore()
        await second.session.validate()
        #expect(await second.session.snapshot.state == .signedIn)
    }

    @Test("SE-1: a locked store is a state: nobody is signed out, calls wait, and go on after the unlock")
    func locked() async throws {
        let first = await Device.signedIn()
        first.disk.change { $0.isLocked = true }
        let second = first.restarted()
        await second.launch()
        #expect(await second.session.snapshot.state == .locked)
        let call = Task { try await second.call() }
        try await Task.sleep(for: .milliseconds(20))
        #expect(second.server.requests(to: "/api/v1.0/threads/").isEmpty)
        #expect(await second.session.unlock() == false)
        first.disk.change { $0.isLocked = false }
        await second.session.recheckLock()
        #expect(await second.session.snapshot.state == .signedIn)
        #expect(try await call.value.status == .ok)
        #expect(FakeServer.session(second.server.requests(to: "/api/v1.0/threads/")[0]) != nil)
    }

    @Test("SE-1: a call that waits for the unlock can be cancelled")
    func lockedCancel() async throws {
        let first = await Device.signedIn()
        first.disk.change { $0.isLocked = true }
        let second = first.restarted()
        await second.launch()
        let call = Task { try await second.call() }
        try await Task.sleep(for: .milliseconds(10))
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    @Test("A damaged record is said, and signs nobody in")
    func damaged() async {
        let disk = Disk()
        disk.change { $0.secrets["session"] = Array("{\"version\":1}".utf8) }
        let device = Device(disk: disk)
        await device.launch()
        let snapshot = await device.session.snapshot
        #expect(snapshot.state == .signedOut && snapshot.error?.code == "secrets.damaged")
    }

    @Test("A session of another server is none")
    func otherServer() async {
        let device = await Device.signedIn()
        let disk = device.disk
        let other = AppSession(
            endpoints: SessionEndpoints(origin: Origin(scheme: "https", host: "other.example", port: 443)),
            transport: device.server, store: DiskSecrets(disk: disk, life: Life()),
            mark: DiskAttempts(disk: disk, life: Life()), time: device.time, log: .none)
        await other.restore()
        #expect(await other.snapshot.state == .signedOut)
    }

    @Test("The snapshot reads as the page's contract says")
    func contract() async throws {
        let device = await Device.signedIn()
        #expect(
            await device.session.snapshot.json == [
                "state": "signedIn", "reason": .null, "error": .null,
                "profile": ["id": "42", "email": "ada@example.org", "name": "Ada", "language": "en"],
                "server": "reachable", "keptIn": "secret-service", "notice": .null,
            ])
    }
}
