// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreSignIn
import NacreTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2))) struct SignOutTests {
    private func leaving(_ device: Device) async -> Task<AttemptResult, Never> {
        let before = device.browser.opened.count
        let task = Task { await device.flow.signOut() }
        await eventually("browser") { device.browser.opened.count > before }
        return task
    }

    @Test("HO-15: browser, then the server's session with the old cookie, then everything here")
    func order() async throws {
        let device = await Device.signedIn()
        let task = await leaving(device)
        let url = try WebURL(device.browser.opened.last ?? "")
        #expect(url.path == "/api/v1.0/logout/")
        #expect(FormFields(decoding: url.query ?? "")?["mobile_scheme"] == "stmessages")
        #expect(await device.session.snapshot.state == .signedIn)
        #expect(device.links.held.count == 1)
        await device.links.receive("stmessages://logout")
        let result = await task.value
        #expect(result.end == .signedOut && !result.sharedSessionMayLiveOn && result.fault == nil)
        let post = try #require(device.server.requests(to: "/api/v1.0/mobile/auth/logout/").first)
        #expect(FakeServer.session(post) != nil)
        #expect(post.fields["X-CSRFToken"]?.hasPrefix("csrf-") == true)
        #expect(device.server.sessions.isEmpty)
        let snapshot = await device.session.snapshot
        #expect(snapshot.state == .signedOut && snapshot.reason == .signedOut && snapshot.profile == nil)
        #expect(device.disk.state.withLock { $0.secrets["session"] } == nil)
        #expect(device.disk.attempts.isEmpty && device.links.held.isEmpty && device.links.captureCount == 0)
    }

    @Test("HO-15: cancelled in the browser, it still signs out here, and says what may live on")
    func cancelled() async {
        let device = await Device.signedIn()
        let task = await leaving(device)
        await device.flow.cancel()
        let result = await task.value
        #expect(result.end == .signedOut && result.sharedSessionMayLiveOn)
        let snapshot = await device.session.snapshot
        #expect(snapshot.state == .signedOut && snapshot.notice != nil)
        #expect(device.server.sessions.isEmpty)
    }

    @Test("HO-15: a browser that never answers is not waited for beyond 20 seconds")
    func silence() async {
        let device = await Device.signedIn()
        let task = await leaving(device)
        device.time.advance(by: .seconds(20))
        let result = await task.value
        #expect(result.end == .signedOut && result.sharedSessionMayLiveOn)
    }

    @Test("HO-15, SE-5: offline it signs out here at once; the server part is kept, sealed, and retried")
    func offline() async {
        let device = await Device.signedIn()
        device.server.change { $0.online = false }
        device.browser.goAway()
        let result = await device.flow.signOut()
        #expect(result.end == .signedOut && result.sharedSessionMayLiveOn)
        #expect(await device.session.snapshot.state == .signedOut)
        #expect(device.disk.revocations.count == 1)
        #expect(device.server.sessions.count == 1)
        let id = device.server.sessions.first ?? ""
        #expect(!String(decoding: device.disk.attemptBytes, as: UTF8.self).contains(id))
        // The next process, online again.
        device.server.change { $0.online = true }
        let second = device.restarted()
        await second.launch()
        await eventually("revoked") { device.server.sessions.isEmpty && device.disk.revocations.isEmpty }
        #expect(await second.session.snapshot.state == .signedOut)
    }

    @Test("SE-5: a revocation the server does not take is tried again in this process too")
    func retried() async {
        let device = await Device.signedIn()
        device.server.change { $0.online = false }
        device.browser.goAway()
        _ = await device.flow.signOut()
        device.server.change { $0.online = true }
        await eventually("revoked") {
            device.time.advance(by: .seconds(10))
            return device.disk.revocations.isEmpty && device.server.sessions.isEmpty
        }
    }

    @Test("SE-2, SE-5: a full disk keeps nobody signed in who wants to leave")
    func diskFull() async {
        let device = await Device.signedIn()
        device.disk.change { $0.isFull = true }
        let result = await device.flow.signOut()
        #expect(result.end == .signedOut && result.fault != nil)
        #expect(await device.session.snapshot.state == .signedOut)
        #expect(device.server.sessions.isEmpty)
    }

    @Test("Signing out when nobody is signed in opens no browser")
    func nobody() async {
        let device = Device()
        await device.launch()
        #expect(await device.flow.signOut().end == .signedOut)
        #expect(device.browser.opened.isEmpty)
    }

    @Test("HO-12: after a sign-out the next sign-in is a new attempt with nothing of the old one")
    func switchAccount() async throws {
        let device = await Device.signedIn()
        let task = await leaving(device)
        await device.links.receive("stmessages://logout")
        _ = await task.value
        #expect(await device.signIn().end == .signedIn)
        let challenges = try device.browser.opened.compactMap {
            FormFields(decoding: try WebURL($0).query ?? "")?["code_challenge"]
        }
        #expect(Set(challenges).count == 2)
    }

    @Test("SE-4: signing in again while signed in ends the session that gives way", arguments: [true, false])
    func replaced(online: Bool) async throws {
        let device = await Device.signedIn(on: try await Disk.onSQLite())
        let first = device.server.sessions
        if !online { device.server.change { $0.revocationStatus = .badGateway } }
        #expect(await device.signIn().end == .signedIn)
        if !online {
            await eventually("asked") { !device.server.requests(to: "/api/v1.0/mobile/auth/logout/").isEmpty }
            #expect(device.server.sessions.isSuperset(of: first))
            device.server.change { $0.revocationStatus = nil }
        }
        await eventually("revoked") {
            device.time.advance(by: .seconds(10))
            return device.server.sessions.isDisjoint(with: first) && device.disk.revocations.isEmpty
        }
        await device.session.validate()
        #expect(await device.session.snapshot.state == .signedIn)
    }

    @Test("SE-5: a session that gives way while the end of another is being told is told of after it, in this process")
    func notedMeanwhile() async throws {
        let device = await Device.signedIn(on: try await Disk.onSQLite())
        device.server.holdRevocation()
        #expect(await device.signIn().end == .signedIn)
        await eventually("asked") { device.server.state.withLock { $0.revocationGate != nil } }
        let older = device.server.sessions
        #expect(await device.signIn().end == .signedIn)
        #expect(older.count == 2 && device.disk.revocations.count == 2)
        // Whoever asks now finds somebody at it.
        await device.flow.retryRevocations()
        device.server.letRevocationGo()
        await eventually("told") { device.server.sessions.isDisjoint(with: older) && device.disk.revocations.isEmpty }
        await device.session.validate()
        #expect(await device.session.snapshot.state == .signedIn)
    }

    @Test("SE-5: what a keyring that is locked at the start keeps from being told is told when it is unlocked")
    func lockedAtStart() async throws {
        var device = await Device.signedIn(on: try await Disk.onSQLite())
        device.server.change { $0.online = false }
        device.browser.goAway()
        _ = await device.flow.signOut()
        device.life.end()
        device.server.change { $0.online = true }
        device.disk.change { $0.isLocked = true }
        device = device.restarted()
        await device.launch()
        try await Task.sleep(for: .milliseconds(10))
        #expect(device.server.sessions.count == 1 && device.disk.revocations.count == 1)
        device.disk.change { $0.isLocked = false }
        let last = device
        await eventually("told") {
            await last.flow.resumeAfterUnlock()
            return last.server.sessions.isEmpty && last.disk.revocations.isEmpty
        }
    }

    @Test("SE-5: who asks for revocations does not wait for a server that is out of reach", .timeLimit(.minutes(1)))
    func nobodyWaits() async throws {
        let device = await Device.signedIn()
        device.server.change { $0.revocationStatus = .badGateway }
        // A bundle that runs the hand-off by itself: the older session has given way, and nobody has been told.
        let exchange = try await device.session.authorize(Device.request("/api/v1.0/mobile/auth/exchange/", .post))
        await device.session.observe(
            HTTPResponse(fields: ["Set-Cookie": "sessionid=of-the-bundle; Path=/"]), to: exchange)
        // The clock stands still: a wait for the next try would have no end.
        await device.flow.revokeReplaced()
        #expect(!device.disk.revocations.isEmpty)
    }

    @Test("SE-5: signed out with a locked keyring, the person is signed out for good", arguments: [false, true])
    func locked(restarts: Bool) async throws {
        var device = await Device.signedIn(on: try await Disk.onSQLite())
        device = device.restarted()
        device.disk.change { $0.isLocked = true }
        await device.launch()
        #expect(await device.session.snapshot.state == .locked)
        _ = await device.flow.signOut()
        #expect(await device.session.snapshot.state == .signedOut)
        if restarts {
            device = device.restarted()
            await device.launch()
            // Still locked: nothing can be read, yet nobody is signed in.
            #expect(await device.session.snapshot.state == .signedOut)
        }
        device.disk.change { $0.isLocked = false }
        await device.session.recheckLock()
        await device.flow.revokeReplaced()
        #expect(device.disk.state.withLock { $0.secrets["session"] } == nil)
        let (last, time) = (device, device.time)
        await eventually("revoked") {
            time.advance(by: .seconds(10))
            return last.server.sessions.isEmpty && last.disk.revocations.isEmpty
        }
        device = device.restarted()
        await device.launch()
        #expect(await device.session.snapshot.state == .signedOut)
        #expect(await device.signIn().end == .signedIn)
        device = device.restarted()
        await device.launch()
        #expect(await device.session.snapshot.state == .signedIn)
    }

    @Test(
        "SE-5, HO-15: a revocation is done only when the server has said so",
        arguments: [(204, true), (401, true), (403, true), (404, true), (410, true)]
            + [400, 408, 409, 421, 425, 429, 500, 502, 503].map { ($0, false) })
    func finalAnswers(status: Int, isFinal: Bool) async {
        let device = await Device.signedIn()
        device.server.change { $0.revocationStatus = HTTPStatus(rawValue: status) }
        device.browser.goAway()
        _ = await device.flow.signOut()
        #expect(device.disk.revocations.isEmpty == isFinal)
    }
}
