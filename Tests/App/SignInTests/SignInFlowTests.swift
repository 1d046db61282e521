// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacrePorts
import NacreSignIn
import NacreTesting
import NacreWire
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2))) struct SignInFlowTests {
    private func launched() async -> Device {
        let device = Device()
        await device.launch()
        return device
    }

    /// Starts a sign-in and waits for its browser page.
    private func started(_ device: Device) async -> Task<AttemptResult, Never> {
        let task = Task { await device.flow.signIn() }
        await eventually("browser") { !device.browser.opened.isEmpty }
        return task
    }

    @Test("HO-1, HO-8: the browser gets scheme, challenge and flow; the verifier is on disk first, sealed")
    func request() async throws {
        let device = await launched()
        let task = await started(device)
        let url = try WebURL(device.browser.opened[0])
        let query = try #require(FormFields(decoding: url.query ?? ""))
        #expect(url.origin.description == "https://mail.example.org")
        #expect(url.path == "/api/v1.0/authenticate/")
        #expect(query["mobile_scheme"] == "stmessages")
        #expect(query["code_challenge"]?.count == 43)
        #expect(query["code_challenge_method"] == "S256")
        #expect((query["flow"] ?? "").count >= 22)
        #expect(device.disk.attempts.map(\.phase) == [.waiting])
        #expect(await device.session.snapshot.state == .signingIn)
        #expect(device.links.held.count == 1)
        await device.links.receive(device.server.link(for: device.browser.opened[0]))
        #expect(await task.value.end == .signedIn)
    }

    @Test("HO-6, HO-8, HO-10: the exchange signs in, and everything of the attempt is cleared")
    func success() async throws {
        let device = await launched()
        let result = await device.signIn()
        #expect(result.end == .signedIn && result.fault == nil)
        await eventually("profile") { await device.session.snapshot.profile?.fullName == "Ada" }
        let snapshot = await device.session.snapshot
        #expect(snapshot.state == .signedIn && snapshot.reason == nil && snapshot.error == nil)
        #expect(device.disk.attempts.isEmpty)
        #expect(device.links.held.isEmpty && device.links.captureCount == 0)
        let exchange = try #require(device.server.requests(to: "/api/v1.0/mobile/auth/exchange/").first)
        #expect(exchange.fields["Cookie"] == nil)
        #expect(exchange.fields["Origin"] == "https://mail.example.org")
        #expect(exchange.fields["Content-Type"] == "application/json")
    }

    @Test("HO-8: a refusal at the provider is a cancel of its own, not an error")
    func accessDenied() async {
        let device = await launched()
        let task = await started(device)
        let flow = device.disk.attempts[0].flow
        await device.links.receive("stmessages://auth?error=access_denied&flow=\(flow)")
        let result = await task.value
        #expect(result.end == .cancelled && result.fault == nil)
        let snapshot = await device.session.snapshot
        #expect(snapshot.state == .signedOut && snapshot.reason == .cancelled && snapshot.error == nil)
        #expect(device.disk.attempts.isEmpty && device.links.held.isEmpty && device.links.captureCount == 0)
    }

    @Test("HO-5: another error at the provider is a failure with a sentence")
    func loginFailed() async {
        let device = await launched()
        let task = await started(device)
        await device.links.receive("stmessages://auth?error=login_failed&flow=\(device.disk.attempts[0].flow)")
        let result = await task.value
        #expect(result.end == .failed && result.fault?.code == "sign_in.refused")
        #expect(await device.session.snapshot.reason == .failed)
        #expect(device.disk.attempts.isEmpty)
    }

    static let strangers = [
        "stmessages://auth?error=x", "stmessages://auth?error=access_denied", "stmessages://auth?error=x&flow=guess",
        "stmessages://auth?token=stolen&flow=guess", "stmessages://auth?token=stolen", "stmessages://auth",
        "stmessages://auth?token=&flow=guess", "stmessages://logout", "stmessages://logout?flow=guess",
        "stmessages://auth/path?error=x", "stmessages://elsewhere?token=x", "other://auth?error=x",
    ]

    @Test("HO-8, HO-9: a link a stranger opens changes nothing and does not end the wait", arguments: strangers)
    func stranger(link: String) async {
        let device = await launched()
        let task = await started(device)
        #expect(await device.links.receive(link) == false)
        #expect(await device.flow.phase == .waiting)
        #expect(await device.session.snapshot.state == .signingIn)
        await device.links.receive(device.server.link(for: device.browser.opened[0]))
        #expect(await task.value.end == .signedIn)
    }

    @Test("HO-8: a callback without a pending sign-in is dropped, and not kept for a later one")
    func noPending() async {
        let device = await launched()
        #expect(await device.links.receive("stmessages://auth?token=early&flow=x") == false)
        #expect(device.server.requests.isEmpty)
        #expect(await device.signIn().end == .signedIn)
    }

    @Test("A peer that echoes no flow is believed once its token exchanges")
    func noEcho() async {
        let device = await launched()
        let task = await started(device)
        let link = device.server.link(for: device.browser.opened[0], echo: false)
        #expect(await device.links.receive(link))
        #expect(await task.value.end == .signedIn)
    }

    @Test("HO-6: a token the server refuses ends the attempt with a sentence")
    func refused() async {
        let device = await launched()
        let task = await started(device)
        await device.links.receive("stmessages://auth?token=expired&flow=\(device.disk.attempts[0].flow)")
        let result = await task.value
        #expect(result.end == .failed && result.fault?.code == "sign_in.refused")
        #expect(device.disk.attempts.isEmpty && device.links.captureCount == 0)
    }

    @Test("HO-8: after 15 minutes an attempt is over, and its link comes too late")
    func expired() async {
        let device = await launched()
        let task = await started(device)
        let link = device.server.link(for: device.browser.opened[0])
        device.time.advance(by: .seconds(15 * 60 - 1))
        #expect(await device.flow.phase == .waiting)
        device.time.advance(by: .seconds(1))
        let result = await task.value
        #expect(result.end == .expired && result.fault?.code == "sign_in.expired")
        #expect(await device.links.receive(link) == false)
        #expect(await device.session.snapshot.state == .signedOut)
        #expect(device.disk.attempts.isEmpty && device.links.held.isEmpty)
    }

    @Test("HO-11: Cancel ends the attempt after a second")
    func cancelled() async {
        let device = await launched()
        let task = await started(device)
        await device.flow.cancel()
        #expect(await device.flow.phase == .cancelling)
        #expect(device.disk.attempts.map(\.phase) == [.cancelling])
        device.time.advance(by: .seconds(1))
        #expect(await task.value.end == .cancelled)
        #expect(await device.session.snapshot.reason == .cancelled)
        #expect(device.disk.attempts.isEmpty && device.links.held.isEmpty && device.links.captureCount == 0)
    }

    @Test("HO-11: a success within the second after a Cancel wins")
    func lateSuccess() async {
        let device = await launched()
        let task = await started(device)
        await device.flow.cancel()
        device.time.advance(by: .milliseconds(900))
        await device.links.receive(device.server.link(for: device.browser.opened[0]))
        #expect(await task.value.end == .signedIn)
        #expect(await device.session.snapshot.state == .signedIn)
    }

    @Test("HO-11: a success after the second is too late; its session does not stay behind on the server")
    func tooLate() async {
        let device = await launched()
        let task = await started(device)
        device.server.hold()
        await device.links.receive(device.server.link(for: device.browser.opened[0]))
        await eventually("exchange") { device.server.state.withLock { $0.gate != nil } }
        await device.flow.cancel()
        #expect(await device.flow.phase == .exchangingCancelled)
        device.time.advance(by: .seconds(1))
        #expect(await task.value.end == .cancelled)
        device.server.letGo()
        await eventually("revoked") {
            !device.server.requests(to: "/api/v1.0/mobile/auth/logout/").isEmpty && device.server.sessions.isEmpty
        }
        #expect(await device.session.snapshot.state == .signedOut)
    }

    @Test("HO-11: without a browser the app says so, at once")
    func noBrowser() async {
        let device = await launched()
        device.browser.goAway()
        let result = await device.flow.signIn()
        #expect(result.end == .failed && result.fault?.code == "browser.absent")
        #expect(await device.session.snapshot.error?.message == "Install a web browser.")
        #expect(device.disk.attempts.isEmpty && device.links.captureCount == 0)
    }

    @Test("SE-2: an attempt that cannot be written down is not begun")
    func diskFull() async {
        let device = await launched()
        device.disk.change { $0.isFull = true }
        let result = await device.flow.signIn()
        #expect(result.end == .failed)
        #expect(device.browser.opened.isEmpty)
        device.disk.change { $0.isFull = false }
        #expect(await device.signIn().end == .signedIn)
    }

    @Test("SE-2: a session that cannot be stored is shown, and lasts until the app closes")
    func sessionNotStored() async {
        let device = await launched()
        let task = await started(device)
        let link = device.server.link(for: device.browser.opened[0])
        device.server.hold()
        await device.links.receive(link)
        await eventually("exchange") { device.server.state.withLock { $0.gate != nil } }
        device.disk.change { $0.isFull = true }
        device.server.letGo()
        let result = await task.value
        #expect(result.end == .signedIn && result.fault != nil)
        let snapshot = await device.session.snapshot
        #expect(snapshot.state == .signedIn && snapshot.error?.code == "secrets.write_failed")
        #expect(snapshot.notice != nil)
    }

    @Test("A second signIn joins the attempt and shows its page again")
    func joins() async {
        let device = await launched()
        let first = await started(device)
        let second = Task { await device.flow.signIn() }
        await eventually("again") { device.browser.opened.count == 2 }
        #expect(device.browser.opened[0] == device.browser.opened[1])
        #expect(device.disk.attempts.count == 1)
        await device.links.receive(device.server.link(for: device.browser.opened[0]))
        #expect(await first.value.end == .signedIn)
        #expect(await second.value.end == .signedIn)
    }

    @Test("A server out of reach is asked again while the token lives")
    func retries() async {
        let device = await launched()
        let task = await started(device)
        let link = device.server.link(for: device.browser.opened[0])
        device.server.change { $0.online = false }
        await device.links.receive(link)
        await eventually("first try") { device.server.requests.count == 1 && device.time.sleeperCount >= 2 }
        device.server.change { $0.online = true }
        device.time.advance(by: .milliseconds(500))
        #expect(await task.value.end == .signedIn)
    }

    @Test("WebAuthSession: a borrowed browser comes back with the link; only the API's own pages are opened")
    func borrowed() async throws {
        let device = await launched()
        let page = "https://mail.example.org/api/v1.0/authenticate/?mobile_scheme=stmessages&flow=mine"
        let task = Task { try await device.flow.borrow(page) }
        await eventually("browser") { device.browser.opened == [page] }
        for stranger in [
            "auth?token=t&flow=foreign", "auth?error=x", "auth?error=access_denied", "auth?error=x&flow=x",
        ] {
            #expect(await device.links.receive("stmessages://" + stranger) == false, "\(stranger)")
        }
        #expect(await device.links.receive("stmessages://auth?token=t&flow=mine"))
        #expect(try await task.value == "stmessages://auth?token=t&flow=mine")
        #expect(device.disk.attempts.isEmpty && device.links.captureCount == 0)
        let evil = Task { () -> NacreError.Code? in
            do throws(NacreError) {
                _ = try await device.flow.borrow("https://evil.example/")
                return nil
            } catch { return error.code }
        }
        // Were it opened, it would end with its time.
        try await Task.sleep(for: .milliseconds(20))
        device.time.advance(by: .seconds(15 * 60))
        #expect(await evil.value == "web_auth.origin")
        #expect(device.browser.opened.count == 1)
    }
}
