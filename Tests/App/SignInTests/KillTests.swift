// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacrePorts
import NacreSignIn
import NacreTesting
import Synchronization
import Testing

/// The process dies after each of its writes in turn; the next one finds what is on disk.
@Suite(.timeLimit(.minutes(5))) struct KillTests {
    /// Every verifier that has been sent to the server, and none may be on disk in clear.
    private func expectSealed(_ device: Device) {
        let disk = String(decoding: device.disk.attemptBytes, as: UTF8.self)
        for body in device.server.bodies {
            guard let verifier = (try? JSONParser.parse(body))?["code_verifier"]?.string else { continue }
            #expect(!disk.contains(verifier))
        }
    }

    /// Whatever was found, the person can get in: never stuck.
    private func expectUsable(_ device: Device) async {
        if await device.flow.phase != nil {
            await device.flow.cancel()
            await eventually("ended") {
                device.time.advance(by: .seconds(1))
                return await device.flow.phase == nil
            }
        }
        #expect(device.links.held.isEmpty && device.links.captureCount == 0)
        #expect(device.disk.attempts.isEmpty)
        #expect(await device.signIn().end == .signedIn)
        await device.session.validate()
        #expect(await device.session.snapshot.state == .signedIn)
    }

    /// Runs a sign-in that dies after write `kill`; returns whether it died, and the link its browser page led to.
    private func signIn(_ device: Device, dying kill: Int) async -> (died: Bool, link: String?) {
        device.disk.change { $0.killAfter = kill }
        await device.launch()
        let task = Task { await device.flow.signIn() }
        await eventually("browser or death") { !device.browser.opened.isEmpty || device.life.isOver }
        let link = device.browser.opened.first.map { device.server.link(for: $0) }
        if let link { await device.links.receive(link) }
        if !device.life.isOver {
            _ = await task.value
            await device.session.validate()
        }
        task.cancel()
        return (device.life.isOver, link)
    }

    @Test(
        "HO-8: killed after any write of a sign-in, the next process resumes or is cleanly back", arguments: 1...12,
        [false, true])
    func signIn(kill: Int, real: Bool) async throws {
        let device = Device(disk: try await Disk.onSQLite(real))
        let (died, _) = await signIn(device, dying: kill)
        expectSealed(device)
        guard died else {
            // The sign-in needs fewer writes than this.
            #expect(kill > 4)
            return
        }
        let next = device.restarted()
        next.disk.change { $0.killAfter = nil }
        await next.launch()
        await eventually("decided") {
            let state = await next.session.snapshot.state
            let phase = await next.flow.phase
            return state == .signedIn || (state == .signedOut && phase == nil) || phase == .waiting
        }
        #expect(await next.session.snapshot.state != .unknown)
        if await next.flow.phase == .waiting { #expect(await next.session.snapshot.state == .signingIn) }
        expectSealed(next)
        await expectUsable(next)
    }

    @Test(
        "SE-4, SE-5: killed after any write of a sign-in that takes another's place, the older session goes on or is ended",
        arguments: 1...10, [false, true])
    func replacing(kill: Int, real: Bool) async throws {
        let device = await Device.signedIn(on: try await Disk.onSQLite(real))
        let older = try #require(device.server.sessions.first)
        device.disk.change { $0.killAfter = $0.writes + kill }
        let before = device.browser.opened.count
        let task = Task { await device.flow.signIn() }
        await eventually("browser or death") { device.browser.opened.count > before || device.life.isOver }
        if device.browser.opened.count > before {
            await device.links.receive(device.server.link(for: device.browser.opened[before]))
        }
        if !device.life.isOver { _ = await task.value }
        await eventually("ended or death") { device.life.isOver || device.disk.revocations.isEmpty }
        task.cancel()
        guard device.life.isOver else {
            #expect(kill > 5 && !device.server.sessions.contains(older))
            return
        }
        let next = device.restarted()
        next.disk.change { $0.killAfter = nil }
        await next.launch()
        await eventually("decided") { [nil, .waiting].contains(await next.flow.phase) }
        let shown = try await next.session.authorize(Device.request("/api/v1.0/threads/"))
        if FakeServer.session(shown.request) == older {
            try await Task.sleep(for: .milliseconds(10))
            await next.session.validate()
            #expect(next.server.sessions.contains(older))
            let end: SessionSnapshot.State = await next.flow.phase == nil ? .signedIn : .signingIn
            #expect(await next.session.snapshot.state == end)
        } else {
            await eventually("ended") { !next.server.sessions.contains(older) }
        }
        await expectUsable(next)
        await eventually("nothing left") {
            next.time.advance(by: .seconds(10))
            return !next.server.sessions.contains(older) && next.disk.revocations.isEmpty
        }
    }

    @Test(
        "SE-4, SE-5: nor does a kill lose one whose place a bundle's own hand-off takes", arguments: [1, 2],
        [false, true])
    func replacingByPage(kill: Int, real: Bool) async throws {
        let device = await Device.signedIn(on: try await Disk.onSQLite(real))
        let older = device.server.sessions
        device.disk.change { $0.killAfter = $0.writes + kill }
        let exchange = try await device.session.authorize(Device.request("/api/v1.0/mobile/auth/exchange/", .post))
        await device.session.observe(
            HTTPResponse(fields: ["Set-Cookie": "sessionid=of-the-bundle; Path=/"]), to: exchange)
        #expect(device.life.isOver)
        let next = device.restarted()
        next.disk.change { $0.killAfter = nil }
        await next.launch()
        if kill == 2 {
            await eventually("ended") { next.server.sessions.isEmpty }
        } else {
            try await Task.sleep(for: .milliseconds(10))
            await next.session.validate()
            #expect(await next.session.snapshot.state == .signedIn && next.server.sessions == older)
        }
    }

    @Test("HO-8: killed with the browser open, the link completes the sign-in in the next process")
    func browserOpen() async {
        let device = Device()
        await device.launch()
        let task = Task { await device.flow.signIn() }
        await eventually("browser") { !device.browser.opened.isEmpty }
        let link = device.server.link(for: device.browser.opened[0])
        device.life.end()
        let next = device.restarted()
        await next.launch()
        #expect(await next.flow.phase == .waiting)
        #expect(await next.session.snapshot.state == .signingIn)
        #expect(next.browser.opened.isEmpty)
        #expect(await next.links.receive(link))
        await eventually("signed in") { await next.session.snapshot.state == .signedIn }
        #expect(next.disk.attempts.isEmpty && next.links.held.isEmpty)
        task.cancel()
    }

    @Test("HO-8: found after 15 minutes, an attempt is forgotten")
    func tooOld() async {
        let device = Device()
        await device.launch()
        let task = Task { await device.flow.signIn() }
        await eventually("browser") { !device.browser.opened.isEmpty }
        device.life.end()
        device.time.advance(by: .seconds(15 * 60 + 1))
        let next = device.restarted()
        await next.launch()
        #expect(await next.flow.phase == nil)
        #expect(next.disk.attempts.isEmpty)
        try? await Task.sleep(for: .milliseconds(10))
        #expect(await next.session.snapshot.reason == nil)
        await expectUsable(next)
        task.cancel()
    }

    @Test("An attempt whose key is gone is forgotten, not fatal")
    func keyGone() async {
        let device = Device()
        await device.launch()
        let task = Task { await device.flow.signIn() }
        await eventually("browser") { !device.browser.opened.isEmpty }
        device.life.end()
        device.disk.change { $0.secrets["sign-in.key"] = nil }
        let next = device.restarted()
        await next.launch()
        await expectUsable(next)
        task.cancel()
    }

    @Test(
        "HO-15: killed after any write of a sign-out, the next process is signed out or still in, never between",
        arguments: 1...8, [false, true])
    func signOut(kill: Int, real: Bool) async throws {
        let device = await Device.signedIn(on: try await Disk.onSQLite(real))
        device.disk.change { $0.killAfter = $0.writes + kill }
        let before = device.browser.opened.count
        let task = Task { await device.flow.signOut() }
        await eventually("browser or death") { device.browser.opened.count > before || device.life.isOver }
        await device.links.receive("stmessages://logout")
        if !device.life.isOver { _ = await task.value }
        guard device.life.isOver else {
            #expect(kill > 3)
            return
        }
        let next = device.restarted()
        next.disk.change { $0.killAfter = nil }
        await next.launch()
        await eventually("decided") { await next.flow.phase == nil }
        await eventually("signed out") { await next.session.snapshot.state == .signedOut }
        await eventually("revoked") {
            next.time.advance(by: .seconds(10))
            return next.server.sessions.isEmpty && next.disk.revocations.isEmpty
        }
        await expectUsable(next)
        task.cancel()
    }

    @Test("Killed with the keyring locked at the next start, the attempt resumes after the unlock")
    func lockedAtResume() async {
        let device = Device()
        await device.launch()
        let task = Task { await device.flow.signIn() }
        await eventually("browser") { !device.browser.opened.isEmpty }
        let link = device.server.link(for: device.browser.opened[0])
        device.life.end()
        device.disk.change { $0.isLocked = true }
        let next = device.restarted()
        await next.launch()
        #expect(await next.flow.phase == nil)
        #expect(await next.session.snapshot.state == .locked)
        device.disk.change { $0.isLocked = false }
        await next.session.recheckLock()
        await next.flow.resumeAfterUnlock()
        #expect(await next.flow.phase == .waiting)
        await next.links.receive(link)
        await eventually("signed in") { await next.session.snapshot.state == .signedIn }
        task.cancel()
    }

    @Test(
        "HO-11: killed after a Cancel, the attempt is over and nobody is signed in by its link",
        arguments: [false, true])
    func cancelling(real: Bool) async throws {
        let device = Device(disk: try await Disk.onSQLite(real))
        await device.launch()
        let task = Task { await device.flow.signIn() }
        await eventually("browser") { !device.browser.opened.isEmpty }
        let link = device.server.link(for: device.browser.opened[0])
        await device.flow.cancel()
        #expect(await device.flow.phase == .cancelling)
        device.life.end()
        let next = device.restarted()
        await next.launch()
        await eventually("over") {
            next.time.advance(by: .seconds(1))
            return await next.flow.phase == nil
        }
        #expect(await !next.links.receive(link))
        #expect(await next.session.snapshot.state == .signedOut)
        #expect(next.server.sessions.isEmpty)
        await expectUsable(next)
        task.cancel()
    }

    @Test(
        "HO-11: killed after a Cancel during the exchange, no session is left on the server",
        arguments: [false, true])
    func exchangingCancelled(real: Bool) async throws {
        let device = Device(disk: try await Disk.onSQLite(real))
        await device.launch()
        let task = Task { await device.flow.signIn() }
        await eventually("browser") { !device.browser.opened.isEmpty }
        device.server.hold()
        await device.links.receive(device.server.link(for: device.browser.opened[0]))
        await eventually("exchanging") { await device.flow.phase == .exchanging }
        await device.flow.cancel()
        #expect(await device.flow.phase == .exchangingCancelled)
        device.life.end()
        device.server.letGo()
        let next = device.restarted()
        await next.launch()
        await eventually("over") {
            next.time.advance(by: .seconds(1))
            return await next.flow.phase == nil
        }
        #expect(await next.session.snapshot.state == .signedOut)
        #expect(next.disk.attempts.isEmpty)
        await expectUsable(next)
        task.cancel()
    }

    @Test(
        "HO-8: killed with the browser lent to the page, the successor gets the link, once",
        arguments: [false, true])
    func borrowed(real: Bool) async throws {
        let device = Device(disk: try await Disk.onSQLite(real))
        await device.launch()
        let url = "https://mail.example.org/api/v1.0/authenticate/?flow=page-flow"
        let task = Task { try await device.flow.borrow(url) }
        await eventually("browser") { !device.browser.opened.isEmpty }
        device.life.end()
        let next = device.restarted()
        await next.launch()
        #expect(await next.flow.phase == .borrowed)
        let foreign = try DeepLink(parsing: "stmessages://auth?token=t&flow=other", schemes: ["stmessages"])
        #expect(await !next.flow.pageShouldGet(foreign))
        let link = try DeepLink(parsing: "stmessages://auth?token=t&flow=page-flow", schemes: ["stmessages"])
        #expect(await next.flow.pageShouldGet(link))
        #expect(await !next.flow.pageShouldGet(link))
        await expectUsable(next)
        task.cancel()
    }
}
