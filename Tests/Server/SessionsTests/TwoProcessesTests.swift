// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase
import NacreDatabaseTesting
import NacreSessions
import NacreTesting
import Testing

@Suite("Two processes on one database") struct TwoProcessesTests {
    private func state(_ check: SessionCheck) -> String {
        switch check {
        case .valid: "valid"
        case .absent: "absent"
        case .ended(let reason): "ended: \(reason)"
        }
    }

    @Test("HO-13: both want to revalidate at the same moment; one asks, with the one refresh token")
    func claim() async throws {
        let world = try await TwoProcesses(slow: true)
        let (_, handle) = try await world.first.store.begin(TwoProcesses.person(), device: nil)
        world.time.advance(by: .seconds(12 * 3600))
        world.first.method.answer = .renewed(TwoProcesses.person(refreshToken: "refresh-1"))
        world.second.method.answer = .renewed(TwoProcesses.person(refreshToken: "refresh-1"))
        let (first, second) = (world.first.keeper, world.second.keeper)
        async let one = first.check(handle)
        try await until { world.time.sleeperCount == 1 }
        #expect(state(try await second.check(handle)) == "valid", "let be while the other asks")
        #expect(world.second.method.tokens.isEmpty)
        world.time.advance(by: .seconds(10))
        #expect(state(try await one) == "valid")
        #expect(world.first.method.tokens == ["refresh-0"])
        #expect(try await world.second.store.find(handle: handle)?.secrets.refreshToken == "refresh-1")
        #expect(state(try await second.check(handle)) == "valid")
        #expect(world.second.method.tokens.isEmpty)
    }

    @Test("HO-13: a process that died while asking holds the session up for two minutes")
    func deadClaim() async throws {
        let world = try await TwoProcesses()
        let (_, handle) = try await world.first.store.begin(TwoProcesses.person(), device: nil)
        world.time.advance(by: .seconds(12 * 3600))
        let until = SQLValue(world.time.now + .seconds(120))
        try await world.first.database.write { sql in
            _ = try sql.execute("UPDATE sessions SET claimed_until = $1", [until])
        }
        world.second.method.answer = .renewed(TwoProcesses.person(refreshToken: "refresh-1"))
        world.time.advance(by: .seconds(119))
        #expect(state(try await world.second.keeper.check(handle)) == "valid")
        #expect(world.second.method.tokens.isEmpty)
        world.time.advance(by: .seconds(1))
        #expect(state(try await world.second.keeper.check(handle)) == "valid")
        #expect(world.second.method.tokens == ["refresh-0"])
    }

    @Test("HO-13: the next try after an outage stands in the row, for every process")
    func retry() async throws {
        let world = try await TwoProcesses()
        let (_, handle) = try await world.first.store.begin(TwoProcesses.person(), device: nil)
        world.time.advance(by: .seconds(12 * 3600))
        for node in [world.first, world.second] {
            node.method.answer = .unreachable(NacreError("oidc.unreachable", "down"))
        }
        #expect(state(try await world.first.keeper.check(handle)) == "valid")
        #expect(state(try await world.second.keeper.check(handle)) == "valid")
        #expect(world.first.method.tokens.count + world.second.method.tokens.count == 1)
        world.time.advance(by: .seconds(61))
        #expect(state(try await world.second.keeper.check(handle)) == "valid")
        #expect(state(try await world.first.keeper.check(handle)) == "valid")
        #expect(world.first.method.tokens.count + world.second.method.tokens.count == 2)
    }

    @Test("HO-13: a rotated token that the database did not take is kept and stored later")
    func unsaved() async throws {
        let world = try await TwoProcesses()
        let (_, handle) = try await world.first.store.begin(TwoProcesses.person(), device: nil)
        world.time.advance(by: .seconds(12 * 3600))
        let faulty = FailsOnce(world.first.database, matching: "SET secrets")
        let store = SessionStore(
            database: Database(backend: faulty, time: world.time), sealing: world.sealing,
            time: world.time, random: SeededRandom(5))
        let method = FakeMethod()
        method.answer = .renewed(TwoProcesses.person(refreshToken: "refresh-1"))
        let keeper = SessionKeeper(store: store, methods: [method], time: world.time, log: .none)
        await #expect(throws: NacreError.self) { try await keeper.check(handle) }
        #expect(state(try await keeper.check(handle)) == "valid")
        #expect(method.tokens == ["refresh-0"], "the spent token was not used again")
        #expect(try await world.second.store.find(handle: handle)?.secrets.refreshToken == "refresh-1")
    }

    @Test("A child ends with its parent, also one that is made at that moment, and its grandchildren with it")
    func children() async throws {
        let world = try await TwoProcesses()
        let parent = try await world.first.store.begin(TwoProcesses.person(), device: "Laptop").session
        let (child, handle) = try #require(
            try await world.first.store.derive(from: parent, device: nil, as: .bearer))
        let grandchild = try #require(try await world.second.store.derive(from: child, device: nil, as: .bearer))
        #expect(child.device == "Laptop")
        #expect(child.secrets == SessionSecrets(), "the provider's tokens stay in one row")
        let heard = EndingRecorder()
        let watches = [parent.id, child.id, grandchild.session.id].map {
            world.second.store.events.onEnd(of: $0, heard.action)
        }
        let (first, second) = (world.first.store, world.second.store)
        let made = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<50 {
                group.addTask { try await second.derive(from: parent, device: nil, as: .bearer)?.handle }
            }
            group.addTask {
                try await first.end(parent.id)
                return nil
            }
            return try await group.reduce(into: [String]()) { if let handle = $1 { $0.append(handle) } }
        }
        for handle in made + [handle, grandchild.handle] {
            #expect(try await second.find(handle: handle, as: .bearer) == nil)
        }
        #expect(try await second.derive(from: parent, device: nil, as: .bearer) == nil)
        try await world.second.feed.poll()
        #expect(heard.endings.map(\.reason).sorted() == ["parent_ended", "parent_ended", "signed_out"])
        watches.forEach { $0.cancel() }
    }

    @Test("HO-13: a child is revalidated by its parent's token, and ends by the parent's refusal")
    func childRevalidation() async throws {
        let world = try await TwoProcesses()
        let parent = try await world.first.store.begin(TwoProcesses.person(), device: nil).session
        let (_, handle) = try #require(try await world.first.store.derive(from: parent, device: nil, as: .bearer))
        world.time.advance(by: .seconds(12 * 3600))
        world.first.method.answer = .renewed(TwoProcesses.person(refreshToken: "refresh-1"))
        #expect(state(try await world.first.keeper.check(handle, as: .bearer)) == "valid")
        #expect(world.first.method.tokens == ["refresh-0"])
        #expect(state(try await world.first.keeper.check(handle, as: .bearer)) == "valid")
        #expect(world.first.method.tokens.count == 1)
        // Only the child is used for weeks: its use is its parent's.
        for _ in 0..<6 {
            world.time.advance(by: .seconds(20 * 86400))
            #expect(state(try await world.first.keeper.check(handle, as: .bearer)) == "valid")
        }
        world.time.advance(by: .seconds(12 * 3600))
        world.second.method.answer = .refused(reason: "invalid_grant")
        #expect(state(try await world.second.keeper.check(handle, as: .bearer)) == "ended: invalid_grant")
        #expect(try await world.first.store.find(id: parent.id) == nil)
        #expect(state(try await world.second.keeper.check(handle, as: .bearer)) == "absent")
    }

    @Test("Ending all others keeps the one that asks and what it came from")
    func others() async throws {
        let world = try await TwoProcesses()
        let store = world.first.store
        let parent = try await store.begin(TwoProcesses.person(), device: nil).session
        let (child, handle) = try #require(try await store.derive(from: parent, device: nil, as: .bearer))
        _ = try await store.begin(TwoProcesses.person(), device: nil)
        let ended = try await store.end(issuer: child.issuer, subject: child.subject, except: child.id)
        #expect(ended == 1)
        #expect(try await store.find(handle: handle, as: .bearer) != nil)
    }

    @Test("Thousands of expired sessions go in small transactions")
    func retention() async throws {
        let world = try await TwoProcesses()
        let store = world.first.store
        for number in 0..<1100 {
            _ = try await store.beginWaiting(TwoProcesses.person("p\(number)"), device: nil, lifetime: .seconds(60))
        }
        let (_, handle) = try await store.begin(TwoProcesses.person(), device: nil)
        world.time.advance(by: .seconds(61))
        let counted = CountingBackend(world.first.database)
        let sweeping = SessionStore(
            database: counted.database(time: world.time), sealing: world.sealing, time: world.time,
            random: SeededRandom(6))
        #expect(try await sweeping.removeExpired() == 1100)
        #expect(counted.writes >= 3)
        #expect(try await store.find(handle: handle) != nil)
    }
}

@Suite("Device names") struct DeviceNameTests {
    @Test(
        arguments: [
            ("Alice's phone", "Alice's phone"), ("  a \n\t b  ", "a b"), ("\u{202E}evil\u{200B}", "evil"), ("", nil),
            (" \n\u{0}\u{7}", nil), ("\u{FEFF}\u{E000}", nil), ("Téléphone d’Éloïse", "Téléphone d’Éloïse"),
            ("手机 📱", "手机 📱"), ("<b>x</b>", "<b>x</b>"),
        ] as [(String, String?)])
    func `a name is one line of signs that are seen`(text: String, name: String?) {
        #expect(DeviceName.cleaned(text) == name)
    }

    @Test func `a name has eighty signs at most, however they are heaped up`() {
        #expect(DeviceName.cleaned(String(repeating: "x", count: 10_000))?.count == 80)
        let heap = DeviceName.cleaned("e" + String(repeating: "\u{301}", count: 100_000))
        #expect((heap?.utf8.count ?? 0) < 2000)
        #expect(DeviceName.cleaned(nil) == nil)
    }
}

/// Fails the first write whose statements contain a text.
final class FailsOnce: DatabaseBackend {
    private let inner: Database
    private let text: String
    private let heard = Heard()
    var dialect: SQLDialect { inner.backend.dialect }

    init(_ inner: Database, matching text: String) {
        self.inner = inner
        self.text = text
    }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result { try await inner.read(body) }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result {
        let (text, heard) = (text, heard)
        return try await inner.write { sql in try body(Watching(sql, text: text, heard: heard)) }
    }

    private final class Watching: SQLConnection {
        let inner: any SQLConnection
        let text: String
        let heard: Heard
        init(_ inner: any SQLConnection, text: String, heard: Heard) {
            (self.inner, self.text, self.heard) = (inner, text, heard)
        }
        private func watch(_ sql: String) throws(NacreError) {
            guard sql.contains(text), heard.all.isEmpty else { return }
            heard.add(SessionEnding(session: "", reason: ""))
            throw NacreError("database.disk_full", "The test says so.")
        }
        func execute(_ sql: String, _ arguments: [SQLValue]) throws(NacreError) -> Int {
            try watch(sql)
            return try inner.execute(sql, arguments)
        }
        func query(_ sql: String, _ arguments: [SQLValue]) throws(NacreError) -> [SQLRow] {
            try watch(sql)
            return try inner.query(sql, arguments)
        }
        func forEachRow(
            _ sql: String, _ arguments: [SQLValue], _ body: (SQLRow) throws(NacreError) -> Bool
        ) throws(NacreError) { try inner.forEachRow(sql, arguments, body) }
        func executeScript(_ sql: String) throws(NacreError) { try inner.executeScript(sql) }
    }
}
