// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacrePorts
import NacreSQLite
import NacreSignIn
import NacreTesting
import Synchronization

/// What outlives a process: the secrets and the attempts. Every write counts, and the device can die after any of them.
final class Disk: Sendable {
    struct State {
        var secrets: [String: [UInt8]] = [:]
        var attempts: [String: AttemptRecord] = [:]
        var revocations: [String: PendingRevocation] = [:]
        var writes = 0
        var killAfter: Int?
        var isLocked = false
        var isFull = false
        var isSignedOut = false
    }
    let state = Mutex(State())
    /// The store of the app itself, where the test wants it; else a dictionary.
    let real: SQLiteAttemptStore?

    init(real: SQLiteAttemptStore? = nil) { self.real = real }

    /// A device whose attempts are in SQLite, as they are for people.
    static func onSQLite(_ isReal: Bool = true) async throws -> Disk {
        guard isReal else { return Disk() }
        let now = ManualTime().now
        return Disk(real: try await SQLiteAttemptStore(SQLiteStore(path: ":memory:"), now: now))
    }

    var attempts: [AttemptRecord] { state.withLock { Array($0.attempts.values) } }
    var revocations: [PendingRevocation] { state.withLock { Array($0.revocations.values) } }
    var writes: Int { state.withLock { $0.writes } }
    func change(_ body: @Sendable (inout State) -> Void) { state.withLock { body(&$0) } }

    /// Everything of the attempts as bytes, as a thief would see them.
    var attemptBytes: [UInt8] {
        state.withLock { state in
            state.attempts.values.flatMap { Array($0.id.utf8) + Array($0.flow.utf8) + $0.sealed }
                + state.revocations.values.flatMap { $0.sealed }
        }
    }
}

/// Whether the process still lives: once it is dead, nothing it does reaches disk, network or browser.
final class Life: Sendable {
    private let dead = Mutex(false)
    var isOver: Bool { dead.withLock { $0 } }
    func end() { dead.withLock { $0 = true } }
    static let over = NacreError("process.dead", "The process has been killed.")
}

struct DiskSecrets: SecretStore {
    let kind = SecretStoreKind.secretService
    let disk: Disk
    let life: Life

    func availability() async -> SecretStoreAvailability { disk.state.withLock { $0.isLocked ? .locked : .available } }
    private func check() throws(NacreError) {
        if life.isOver { throw Life.over }
        if disk.state.withLock({ $0.isLocked }) { throw NacreError("secrets.locked", "Unlock the keyring.") }
    }
    func read(_ name: String) async throws(NacreError) -> [UInt8]? {
        try check()
        return disk.state.withLock { $0.secrets[name] }
    }
    func write(_ name: String, _ value: [UInt8]) async throws(NacreError) {
        try check()
        if disk.state.withLock({ $0.isFull }) { throw NacreError("secrets.write_failed", "There is no room left.") }
        count { $0.secrets[name] = value }
    }
    func remove(_ name: String) async throws(NacreError) {
        try check()
        count { $0.secrets[name] = nil }
    }
    func unlock() async -> Bool { await availability() == .available }
    private func count(_ body: @Sendable (inout Disk.State) -> Void) {
        let kills = disk.state.withLock { state in
            body(&state)
            state.writes += 1
            return state.writes == state.killAfter
        }
        if kills { life.end() }
    }
}

struct DiskAttempts: AttemptStore {
    let disk: Disk
    let life: Life

    private func write(_ body: @Sendable (inout Disk.State) -> Void) throws {
        if life.isOver { throw Life.over }
        if disk.state.withLock({ $0.isFull }) { throw NacreError("sqlite.disk_full", "There is no room left.") }
        let kills = disk.state.withLock { state in
            body(&state)
            state.writes += 1
            return state.writes == state.killAfter
        }
        if kills { life.end() }
    }
    func attempts() async throws -> [AttemptRecord] {
        if life.isOver { throw Life.over }
        if let real = disk.real { return try await real.attempts() }
        return disk.attempts.sorted { $0.startedAt < $1.startedAt }
    }
    func save(_ record: AttemptRecord) async throws {
        try write { $0.attempts[record.id] = record }
        try await disk.real?.save(record)
    }
    func remove(_ id: String, keeping revocation: PendingRevocation?) async throws {
        try write { state in
            state.attempts[id] = nil
            if let revocation { state.revocations[id] = revocation }
        }
        try await disk.real?.remove(id, keeping: revocation)
    }
    func revocations() async throws -> [PendingRevocation] {
        if life.isOver { throw Life.over }
        if let real = disk.real { return try await real.revocations() }
        return disk.revocations
    }
    func keep(_ revocation: PendingRevocation) async throws {
        try write { $0.revocations[revocation.id] = revocation }
        try await disk.real?.keep(revocation)
    }
    func removeRevocation(_ id: String) async throws {
        try write { $0.revocations[id] = nil }
        try await disk.real?.removeRevocation(id)
    }
}

extension DiskAttempts: SignOutMark {
    func isSet() async -> Bool {
        if let real = disk.real { return await real.isSet() }
        return disk.state.withLock { $0.isSignedOut }
    }
    func set() async {
        guard (try? write { $0.isSignedOut = true }) != nil else { return }
        await disk.real?.set()
    }
    func clear() async {
        guard (try? write { $0.isSignedOut = false }) != nil else { return }
        await disk.real?.clear()
    }
}

private struct MortalTransport: HTTPTransport {
    let server: FakeServer
    let life: Life
    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        if life.isOver { throw Life.over }
        return try await server.send(request)
    }
}

private struct MortalBrowser: SystemBrowser {
    let browser: FakeBrowser
    let life: Life
    func open(_ url: String) async throws(NacreError) {
        if life.isOver { throw Life.over }
        try await browser.open(url)
    }
}

/// One process of the app.
struct Device {
    let server: FakeServer
    let disk: Disk
    let time: ManualTime
    let life = Life()
    let browser = FakeBrowser()
    let links = FakeLinks()
    /// What the process logged.
    let sink = RecordingLogSink()
    let session: AppSession
    let flow: SignInFlow

    init(
        server: FakeServer = FakeServer(), disk: Disk = Disk(), time: ManualTime = ManualTime(), seed: UInt64 = 1,
        asksWho: Bool = false
    ) {
        self.server = server
        self.disk = disk
        self.time = time
        let endpoints = SessionEndpoints(origin: Origin(scheme: "https", host: "mail.example.org", port: 443))
        let secrets = DiskSecrets(disk: disk, life: life)
        let transport = MortalTransport(server: server, life: life)
        let attempts = DiskAttempts(disk: disk, life: life)
        let log = Log(label: "app", minimum: .debug, time: time, sink: sink)
        session = AppSession(
            endpoints: endpoints, transport: transport, store: secrets, mark: attempts, time: time, log: log)
        flow = SignInFlow(
            scheme: "stmessages", endpoints: endpoints,
            parts: SignInParts(
                session: session, store: attempts, secrets: secrets, transport: transport,
                browser: MortalBrowser(browser: browser, life: life), links: links, hold: links, time: time,
                random: SeededRandom(seed), log: log, asksWho: { asksWho }))
    }

    /// The next process on the same device.
    func restarted() -> Device { Device(server: server, disk: disk, time: time, seed: 1000 + UInt64(disk.writes)) }

    /// What the app does at launch.
    func launch() async {
        await flow.noteReplaced()
        await session.restore()
        await flow.resume()
    }

    /// A launched device whose person has signed in.
    static func signedIn(on disk: Disk = Disk()) async -> Device {
        let device = Device(disk: disk)
        await device.launch()
        let result = await device.signIn()
        precondition(result.end == .signedIn)
        await eventually("profile") { await device.session.snapshot.profile != nil }
        return device
    }

    /// Signs in as a person would who has no trouble.
    func signIn() async -> AttemptResult {
        let before = browser.opened.count
        async let result = flow.signIn()
        await eventually("browser") { browser.opened.count > before }
        await links.receive(server.link(for: browser.opened.last ?? ""))
        return await result
    }

    /// A request of the page, sent and observed as the page channel does.
    func call(_ path: String = "/api/v1.0/threads/", _ method: HTTPMethod = .get) async throws -> HTTPResponse {
        let authorized = try await session.authorize(Self.request(path, method))
        let response = try await server.send(authorized.request)
        await session.observe(response, to: authorized)
        return response
    }

    static func request(_ path: String, _ method: HTTPMethod = .get) -> HTTPRequest {
        HTTPRequest(method: method, scheme: "https", authority: "mail.example.org", target: path)
    }
}
