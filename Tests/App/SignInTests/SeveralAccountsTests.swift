// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacrePorts
import NacreTesting
import Synchronization
import Testing

@testable import NacreSignIn

@Suite("Sign-in with several accounts")
struct SeveralAccountsTests {
    private func query(_ url: String?) throws -> FormFields {
        let address = try WebURL(try #require(url))
        return try #require(FormFields(decoding: address.query ?? ""))
    }

    private func resting(_ device: Device) -> RestingAttempts {
        RestingAttempts(
            store: DiskAttempts(disk: device.disk, life: Life()), secrets: DiskSecrets(disk: device.disk, life: Life()),
            scheme: "stmessages", time: device.time, random: SeededRandom(7))
    }

    private func link(_ url: String) throws -> DeepLink {
        try DeepLink(parsing: url, schemes: ["stmessages", "other"])
    }

    /// A device whose person has the browser open and whose process has gone to another account.
    private func waiting() async throws -> (device: Device, url: String) {
        let device = Device()
        await device.launch()
        let signingIn = Task { await device.flow.signIn() }
        await eventually("browser") { !device.browser.opened.isEmpty }
        await device.flow.rest()
        device.life.end()
        signingIn.cancel()
        return (device, device.browser.opened[0])
    }

    // MARK: Who is asked, and which session is meant

    @Test("HO-12: with several accounts the provider asks who it is, also when the sign-in is taken up again")
    func asksWho() async throws {
        for asks in [false, true] {
            let device = Device(asksWho: asks)
            await device.launch()
            Task { await device.flow.signIn() }
            await eventually("browser") { !device.browser.opened.isEmpty }
            #expect(try query(device.browser.opened.first)["prompt"] == (asks ? "select_account" : nil))
            device.life.end()
            let next = Device(server: device.server, disk: device.disk, time: device.time, seed: 9, asksWho: asks)
            await next.launch()
            try await next.flow.reopenBrowser()
            #expect(try query(next.browser.opened.first)["prompt"] == (asks ? "select_account" : nil))
            await next.flow.cancel()
        }
    }

    @Test("HO-7: a sign-out says which of the browser's hand-offs it ends, also after a restart")
    func handoff() async throws {
        let device = await Device.signedIn()
        let flow = try query(device.browser.opened.first)["flow"]
        let next = device.restarted()
        await next.launch()
        Task { await next.flow.signOut() }
        await eventually("browser") { !next.browser.opened.isEmpty }
        let sent = try query(next.browser.opened.first)
        #expect(flow != nil && sent["handoff"] == flow && sent["flow"] != flow)
        await next.flow.cancel()
    }

    // MARK: Before another account takes the place

    @Test("A sign-in that waits for its person stays as it is")
    func restWaiting() async throws {
        let (device, _) = try await waiting()
        #expect(device.disk.attempts.map(\.phase) == [.waiting])
    }

    @Test("HO-15: a sign-out that is under way ends first, here and at the server")
    func restLeaving() async throws {
        let device = await Device.signedIn()
        Task { await device.flow.signOut() }
        await eventually("browser") { device.browser.opened.count == 2 }
        await device.flow.rest()
        #expect(device.disk.attempts.isEmpty && device.server.sessions.isEmpty)
        #expect(await device.session.snapshot.state == .signedOut)
    }

    @Test("An exchange that is under way ends first, and is not waited for without end")
    func restExchanging() async throws {
        for answers in [true, false] {
            let device = Device()
            await device.launch()
            Task { await device.flow.signIn() }
            await eventually("browser") { !device.browser.opened.isEmpty }
            device.server.hold()
            await device.links.receive(device.server.link(for: device.browser.opened[0]))
            await eventually("exchange") { device.server.state.withLock { $0.gate != nil } }
            let sleepers = device.time.sleeperCount
            let resting = Task { await device.flow.rest() }
            if answers {
                device.server.letGo()
                await resting.value
                #expect(await device.session.snapshot.state == .signedIn)
            } else {
                await eventually("patience") { device.time.sleeperCount > sleepers }
                device.time.advance(by: SignInFlow.restPatience)
                await resting.value
                #expect(device.disk.attempts.map(\.phase) == [.exchanging])
                device.server.letGo()
            }
        }
    }

    // MARK: Links for an account that rests

    @Test("HO-8: a link is written down for the account that waits for it, and its next start signs in with it")
    func finished() async throws {
        let (device, url) = try await waiting()
        let taken = try await resting(device).take(link(device.server.link(for: url)))
        #expect(taken == .toBeFinished && device.disk.attempts.map(\.phase) == [.exchanging])
        let token = Array("token1".utf8)
        #expect(!device.disk.attemptBytes.split(separator: token[0]).contains { $0.starts(with: token.dropFirst()) })
        let next = device.restarted()
        await next.launch()
        await eventually("signed in") { await next.session.snapshot.state == .signedIn }
        #expect(device.disk.attempts.isEmpty)
    }

    @Test(
        "HO-9: what does not carry the attempt's own flow changes nothing",
        arguments: [
            "stmessages://auth?token=t", "stmessages://auth?token=t&flow=x", "stmessages://auth?error=x",
            "stmessages://auth?error=access_denied&flow=x", "stmessages://logout", "stmessages://logout?flow=FLOW",
            "other://auth?token=t&flow=FLOW", "stmessages://thread?token=t&flow=FLOW", "stmessages://auth?flow=FLOW",
        ])
    func foreign(_ text: String) async throws {
        let (device, url) = try await waiting()
        let flow = try query(url)["flow"] ?? ""
        let taken = try await resting(device).take(link(text.replacing("FLOW", with: flow)))
        #expect(taken == nil && device.disk.attempts.map(\.phase) == [.waiting])
    }

    @Test("A refusal ends the sign-in where it waits")
    func refused() async throws {
        let (device, url) = try await waiting()
        let flow = try query(url)["flow"] ?? ""
        #expect(try await resting(device).take(link("stmessages://auth?error=access_denied&flow=\(flow)")) == .over)
        #expect(device.disk.attempts.isEmpty)
    }

    @Test("HO-8: after 15 minutes a link finds nothing any more")
    func late() async throws {
        let (device, url) = try await waiting()
        let answer = device.server.link(for: url)
        device.time.advance(by: .seconds(15 * 60))
        #expect(try await resting(device).take(link(answer)) == nil)
    }

    @Test("With a locked keyring the sign-in stays as it was, and the caller hears of it")
    func locked() async throws {
        let (device, url) = try await waiting()
        device.disk.change { $0.isLocked = true }
        let answer = device.server.link(for: url)
        await #expect(throws: NacreError.self) { try await resting(device).take(link(answer)) }
        #expect(device.disk.attempts.map(\.phase) == [.waiting])
    }

    // MARK: An account that is removed

    private func forsaken(_ device: Device, _ server: Origin? = nil) -> ForsakenSession {
        ForsakenSession(
            secrets: DiskSecrets(disk: device.disk, life: Life()),
            attempts: DiskAttempts(disk: device.disk, life: Life()),
            server: server, transport: device.server, time: device.time, random: SeededRandom(8))
    }

    @Test("SE-5: a removed account's session ends at its server, and its secrets go")
    func forsakenSession() async throws {
        let device = await Device.signedIn()
        device.life.end()
        try await forsaken(device).end()
        #expect(device.server.sessions.isEmpty && device.disk.state.withLock { $0.secrets.isEmpty })
        try await forsaken(device).end()
    }

    @Test("SE-5: out of reach of the server the secrets go all the same")
    func forsakenOffline() async throws {
        let device = await Device.signedIn()
        device.life.end()
        device.server.change { $0.online = false }
        try await forsaken(device).end()
        #expect(device.server.sessions.count == 1 && device.disk.state.withLock { $0.secrets.isEmpty })
    }

    @Test("SE-5: a sign-out that the server has not heard of is told to it first")
    func forsakenRevocation() async throws {
        let device = await Device.signedIn()
        device.server.change { $0.online = false }
        Task { await device.flow.signOut() }
        await eventually("browser") { device.browser.opened.count == 2 }
        await device.links.receive("stmessages://logout")
        await eventually("kept") { device.disk.revocations.count == 1 }
        device.life.end()
        device.server.change { $0.online = true }
        #expect(device.server.sessions.count == 1)
        try await forsaken(device, Origin(scheme: "https", host: "mail.example.org", port: 443)).end()
        #expect(device.server.sessions.isEmpty)
    }

    // MARK: What is owed to its server

    private func owed(_ device: Device) -> OwedRevocations {
        OwedRevocations(transport: PartlyAway(server: device.server), time: device.time)
    }

    private struct PartlyAway: HTTPTransport {
        let server: FakeServer
        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            guard request.authority != "away.example.org" else {
                throw NacreError("transport.unreachable", "This server is away.")
            }
            return try await server.send(request)
        }
    }

    /// A removal out of reach of the server, and the store in which its revocation waits.
    private func removedOffline(_ device: Device) async throws -> DiskSecrets {
        let store = DiskSecrets(disk: Disk(), life: Life())
        device.life.end()
        device.server.change { $0.online = false }
        try await forsaken(device).end { list throws(NacreError) in
            // A kill before the account's own secrets are gone comes this way again.
            try await owed(device).add(list, to: store)
            try await owed(device).add(list, to: store)
        }
        return store
    }

    @Test("SE-5: out of reach of the server the end of a removed account's session is kept, and told later, once")
    func owedRevocation() async throws {
        let device = await Device.signedIn()
        let store = try await removedOffline(device)
        #expect(device.disk.state.withLock { $0.secrets.isEmpty } && device.server.sessions.count == 1)
        #expect(try await owed(device).settle(in: store) == 1)
        device.server.change { $0.online = true }
        #expect(try await owed(device).settle(in: store) == 0)
        #expect(device.server.sessions.isEmpty)
        #expect(try await store.read("owed-revocations") == nil)
        #expect(try await owed(device).settle(in: store) == 0)
    }

    @Test("SE-5: of several servers one that is out of reach stays noted, and the others are not told again")
    func owedToSeveral() async throws {
        let device = await Device.signedIn()
        let store = try await removedOffline(device)
        let away = OwedRevocation(
            origin: Origin(scheme: "https", host: "away.example.org", port: 443),
            credentials: SessionCredentials(cookies: "sessionid=x", csrf: nil), since: device.time.now)
        try await owed(device).add([away], to: store)
        device.server.change { $0.online = true }
        #expect(try await owed(device).settle(in: store) == 1)
        #expect(device.server.sessions.isEmpty)
        let kept = try JSONParser.parse(try #require(try await store.read("owed-revocations")))
        #expect(kept["owed"]?.array?.compactMap { $0["origin"]?.string } == ["https://away.example.org"])
    }

    @Test("SE-5: after a month a revocation that nobody takes is forgotten, and so is one that cannot be read")
    func owedTooLong() async throws {
        let device = await Device.signedIn()
        let store = try await removedOffline(device)
        device.time.advance(by: OwedRevocations.memory)
        device.server.change { $0.online = true }
        #expect(try await owed(device).settle(in: store) == 0)
        #expect(device.server.sessions.count == 1)
        for text in ["", "{", #"{"version":2}"#, #"{"version":1,"owed":[1,{"origin":"x"},{"origin":"https://a.b"}]}"#] {
            try await store.write("owed-revocations", Array(text.utf8))
            #expect(try await owed(device).settle(in: store) == 0)
            #expect(try await store.read("owed-revocations") == nil)
        }
    }

    @Test("SE-1: with a locked keyring nothing is called removed")
    func forsakenLocked() async throws {
        let device = await Device.signedIn()
        device.disk.change { $0.isLocked = true }
        await #expect(throws: NacreError.self) { try await forsaken(device).end() }
        #expect(device.server.sessions.count == 1)
    }
}
