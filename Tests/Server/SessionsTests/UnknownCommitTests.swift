// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase
import NacreSessions
import NacreTesting
import Synchronization
import Testing

/// A database whose connection breaks while a change is being stored, as often as a test says.
private final class BreaksAtCommit: DatabaseBackend {
    typealias Hook = @Sendable () async throws -> Void
    private struct State {
        /// For each write to come that breaks, whether it was stored.
        var breaks: [Bool] = []
        var readsFail = false
        var between: Box?
    }
    /// A closure that stands in a tuple behind a generic lock is wrapped once more by every access.
    private struct Box: Sendable { let hook: Hook }
    private let inner: Database
    private let state = Mutex(State())
    var dialect: SQLDialect { inner.backend.dialect }

    init(_ inner: Database) { self.inner = inner }

    func next(_ breaks: [Bool], readsFail: Bool = false, between: Hook? = nil) {
        state.withLock {
            $0 = State(breaks: breaks, readsFail: readsFail, between: between.map { Box(hook: $0) })
        }
    }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result {
        // Only once the connection has broken.
        if state.withLock({ $0.readsFail && $0.breaks.isEmpty }) {
            throw NacreError("database.unreachable", "The test says so.")
        }
        return try await inner.read(body)
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result {
        let isStored = state.withLock { state in state.breaks.isEmpty ? nil : state.breaks.removeFirst() }
        guard let isStored else { return try await inner.write(body) }
        if isStored { _ = try await inner.write(body) }
        try await state.withLock { $0.between }?.hook()
        throw NacreError("database.commit_unknown", "The test says so.")
    }
}

@Suite("JW-1: a refresh whose storing is uncertain") struct UnknownCommitTests {
    private struct World {
        let processes: TwoProcesses
        let database: BreaksAtCommit
        /// The first process, over the database that breaks.
        let tokens: SessionTokens
        let pair: IssuedTokens

        init() async throws {
            processes = try await TwoProcesses()
            database = BreaksAtCommit(processes.first.database)
            let store = SessionStore(
                database: Database(backend: database, time: processes.time), sealing: processes.sealing,
                time: processes.time, random: SeededRandom(51))
            tokens = SessionTokens(
                store: store, keeper: SessionKeeper(store: store, methods: [], time: processes.time, log: .none),
                policy: processes.first.tokens.policy, issuer: "https://gateway.test")
            pair = try #require(try await tokens.issue(.pair, from: .person(TwoProcesses.person()), device: nil))
        }

        var isAlive: Bool {
            get async throws { try await processes.second.store.find(id: pair.session.id) != nil }
        }
    }

    @Test("Stored or not, the row decides: one new pair comes, and the session goes on", arguments: [true, false])
    func decided(isStored: Bool) async throws {
        let world = try await World()
        world.database.next([isStored])
        let next = try #require(try await world.tokens.refresh(world.pair.token))
        #expect(next.token != world.pair.token)
        let third = try #require(try await world.processes.second.tokens.refresh(next.token), "it is the current one")
        #expect(try await world.tokens.refresh(third.token) != nil)
        #expect(try await world.isAlive)
    }

    @Test("When it broke without storing and somebody else used the token meanwhile, that is the second use")
    func usedMeanwhile() async throws {
        let world = try await World()
        let (old, other) = (world.pair.token, world.processes.second.tokens)
        world.database.next([false]) { _ = try #require(try await other.refresh(old)) }
        #expect(try await world.tokens.refresh(old) == nil)
        #expect(try await !world.isAlive)
    }

    @Test("A second use whose ending broke is refused, and has ended the session", arguments: [true, false])
    func reuse(isStored: Bool) async throws {
        let world = try await World()
        _ = try #require(try await world.tokens.refresh(world.pair.token))
        world.database.next([isStored])
        #expect(try await world.tokens.refresh(world.pair.token) == nil)
        #expect(try await !world.isAlive)
    }

    @Test("Where nobody can look, that is said, and no session ends by it", arguments: [true, false])
    func unread(isStored: Bool) async throws {
        let world = try await World()
        world.database.next([isStored], readsFail: true)
        let error = await #expect(throws: NacreError.self) { _ = try await world.tokens.refresh(world.pair.token) }
        #expect(error?.code == "session.refresh_unknown")
        world.database.next([])
        #expect(try await world.isAlive)
        if !isStored { #expect(try await world.tokens.refresh(world.pair.token) != nil) }
    }

    @Test("A connection that breaks twice is not tried for ever")
    func twice() async throws {
        let world = try await World()
        world.database.next([false, false])
        let error = await #expect(throws: NacreError.self) { _ = try await world.tokens.refresh(world.pair.token) }
        #expect(error?.code == "session.refresh_unknown")
        #expect(try await world.isAlive)
    }
}
