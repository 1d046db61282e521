// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase
import NacreDatabaseTesting
import NacreKeys
import NacreTesting
import Synchronization
import Testing

/// One table of keys and a clock, for as many processes as a test wants.
private struct KeyWorld {
    static let lead: Duration = .seconds(900)
    static let tail: Duration = .seconds(3600)
    static let age: Duration = .seconds(90 * 86400)
    let time = ManualTime()
    let database: Database

    init() async throws {
        database = try await TestDatabase.make(time: time)
        try await database.migrate(
            "keys_test",
            [
                Migration(
                    1,
                    """
                    CREATE TABLE test_key (
                        id {id}, kid TEXT NOT NULL UNIQUE, sealed_key BYTEA NOT NULL, created_at BIGINT NOT NULL,
                        tail BIGINT NOT NULL DEFAULT 0);
                    """)
            ])
    }

    /// The keys as one process sees them.
    func process(tail: Duration = Self.tail, through database: Database? = nil, secret: UInt64 = 1) -> RotatingKeys {
        RotatingKeys(
            SealedKeyTable(
                "test_key", context: "test/", refusal: ("test.sealed", "Another secret."),
                database: database ?? self.database, sealing: SealingKey(random: SeededRandom(secret)),
                random: SystemRandom()),
            life: .init(lead: Self.lead, tail: tail, age: Self.age), time: time, log: .none, event: "test")
    }

    func rows() async throws -> [String] {
        try await database.read { sql in
            try sql.query("SELECT kid FROM test_key ORDER BY id").map { try $0.text("kid") }
        }
    }
}

/// A database whose reads wait while the gate is shut, and are counted.
private final class GatedReads: DatabaseBackend {
    private struct State {
        var count = 0
        var isShut = false
        var fails = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }
    private let inner: Database
    private let state = Mutex(State())
    var dialect: SQLDialect { inner.backend.dialect }
    var count: Int { state.withLock { $0.count } }

    init(_ inner: Database) { self.inner = inner }

    func shut() { state.withLock { $0.isShut = true } }
    func fail(_ fails: Bool) { state.withLock { $0.fails = fails } }
    func open() {
        let waiting = state.withLock { state in
            defer { (state.isShut, state.waiting) = (false, []) }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result {
        await withCheckedContinuation { continuation in
            let goesOn = state.withLock { state in
                state.count += 1
                if state.isShut { state.waiting.append(continuation) }
                return !state.isShut
            }
            if goesOn { continuation.resume() }
        }
        if state.withLock({ $0.fails }) { throw NacreError("database.unreachable", "The test says so.") }
        return try await inner.read(body)
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result { try await inner.write(body) }
}

@Suite("Keys that follow each other") struct RotatingKeysTests {
    @Test func `a key is known before it signs, trusted until its last token is dead, and then gone`() async throws {
        let world = try await KeyWorld()
        let (first, second) = (world.process(), world.process())
        try await first.prepare()
        try await second.prepare()
        let old = try await first.signer().id
        #expect(try await second.signer().id == old, "one first key, however many processes start")
        world.time.advance(by: KeyWorld.age - .seconds(1))
        try await first.maintain()
        #expect(try await world.rows() == [old])
        world.time.advance(by: .seconds(1))
        try await first.maintain()
        try await second.maintain()
        let rows = try await world.rows()
        #expect(rows.count == 2, "one new key, however many processes notice")
        let new = try #require(rows.last)
        world.time.advance(by: KeyWorld.lead - .seconds(1))
        for keys in [first, second] {
            #expect(try await keys.signer().id == old)
            #expect(try await keys.verifier(new) != nil)
        }
        world.time.advance(by: .seconds(1))
        for keys in [first, second] { #expect(try await keys.signer().id == new) }
        world.time.advance(by: KeyWorld.tail - .seconds(1))
        try await first.maintain()
        for keys in [first, second] { #expect(try await keys.verifier(old) != nil) }
        world.time.advance(by: .seconds(1))
        // By the clock alone: nobody has looked after the table yet.
        for keys in [first, second] {
            #expect(try await keys.verifier(old) == nil)
            #expect(await keys.trusted().map(\.id) == [new])
        }
        #expect(try await world.rows() == [old, new])
        try await second.maintain()
        #expect(try await world.rows() == [new])
    }

    @Test func `a stolen key is trusted no more at once, in other processes within ten seconds; the new one signs`()
        async throws
    {
        let world = try await KeyWorld()
        let (first, second) = (world.process(), world.process())
        try await first.prepare()
        let old = try await first.signer().id
        try await first.rotate()
        let next = try #require(try await world.rows().last)
        #expect(try await second.verifier(old) != nil)
        #expect(try await second.verifier(next) != nil)
        try await first.rotate(stolen: true)
        let new = try await first.signer().id
        #expect(new != old && new != next)
        for id in [old, next] { #expect(try await first.verifier(id) == nil) }
        #expect(await first.trusted().map(\.id) == [new])
        #expect(try await world.rows() == [new], "nobody can read the stolen ones here any more")
        #expect(try await second.verifier(new) != nil, "a new key is looked for when a token names it")
        for id in [old, next] { #expect(try await second.verifier(id) == nil) }
        let third = world.process()
        #expect(try await third.signer().id == new)
        try await first.rotate(stolen: true)
        world.time.advance(by: .seconds(10))
        #expect(try await third.signer().id == first.signer().id)
        #expect(try await third.verifier(new) == nil, "it was known, and nobody named another")
    }

    @Test func `tokens that became longer by a setting keep the key that signs, not the one before it`() async throws {
        let world = try await KeyWorld()
        let keys = world.process(tail: .seconds(60))
        try await keys.prepare()
        let retired = try await keys.signer().id
        try await keys.rotate()
        world.time.advance(by: KeyWorld.lead)
        let signing = try await keys.signer().id
        let longer = world.process(tail: .seconds(7200))
        try await longer.prepare()
        try await longer.rotate()
        world.time.advance(by: KeyWorld.lead + .seconds(7199))
        #expect(try await longer.verifier(retired) == nil)
        #expect(try await longer.verifier(signing) != nil)
        // A process with the shorter setting again: the long tokens are still out there.
        let shorter = world.process(tail: .seconds(60))
        try await shorter.prepare()
        #expect(try await shorter.verifier(signing) != nil)
        world.time.advance(by: .seconds(1))
        #expect(try await shorter.verifier(signing) == nil)
    }

    @Test func `the table is read once for all who ask meanwhile, and nobody is told no before that`() async throws {
        let world = try await KeyWorld()
        let maker = world.process()
        try await maker.prepare()
        let id = try await maker.signer().id
        let gate = GatedReads(world.database)
        let keys = world.process(through: Database(backend: gate, time: world.time))
        gate.shut()
        let asking = (0..<100).map { _ in Task { try await keys.verifier(id) != nil } }
        try await until { gate.count >= 1 }
        for _ in 0..<200 { await Task.yield() }
        #expect(gate.count == 1)
        gate.open()
        for task in asking { #expect(try await task.value) }
        #expect(gate.count == 1)
    }

    @Test func `tokens that name unknown keys cost one look in a second, and a key that has just come is found`()
        async throws
    {
        let world = try await KeyWorld()
        let maker = world.process()
        try await maker.prepare()
        let gate = GatedReads(world.database)
        let keys = world.process(through: Database(backend: gate, time: world.time))
        let known = try await keys.signer().id
        try await maker.rotate()
        let came = try #require(try await world.rows().last)
        #expect(try await keys.verifier(came) != nil, "the table was read a moment ago, but not for an unknown key")
        let before = gate.count
        for number in 0..<1000 { #expect(try await keys.verifier("k\(number)") == nil) }
        #expect(gate.count == before)
        world.time.advance(by: RotatingKeys.missInterval)
        for number in 0..<1000 { #expect(try await keys.verifier("k\(number)") == nil) }
        #expect(gate.count == before + 1)
        #expect(try await keys.verifier(known) != nil)
    }

    @Test func `while the database is away known keys serve, and of an unknown one nobody says no`() async throws {
        let world = try await KeyWorld()
        let maker = world.process()
        try await maker.prepare()
        let gate = GatedReads(world.database)
        let keys = world.process(through: Database(backend: gate, time: world.time))
        let id = try await keys.signer().id
        try await maker.rotate()
        let came = try #require(try await world.rows().last)
        gate.fail(true)
        world.time.advance(by: .seconds(60))
        #expect(try await keys.signer().id == id)
        for _ in 0..<3 { await #expect(throws: NacreError.self) { _ = try await keys.verifier(came) } }
        gate.fail(false)
        #expect(try await keys.verifier(came) != nil)
    }

    @Test func `keys of another secret are refused by name`() async throws {
        let world = try await KeyWorld()
        try await world.process().prepare()
        let error = await #expect(throws: NacreError.self) { try await world.process(secret: 2).prepare() }
        #expect(error?.code == "test.sealed")
    }

    @Test func `of processes that start at once one makes the first key`() async throws {
        let world = try await KeyWorld()
        let processes = (0..<8).map { _ in world.process() }
        let signers = try await withThrowingTaskGroup(of: String.self) { group in
            for keys in processes { group.addTask { try await keys.signer().id } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(signers.count == 1)
        #expect(try await world.rows() == Array(signers))
    }
}
