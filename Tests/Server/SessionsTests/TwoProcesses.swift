// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreCrypto
import NacreDatabase
import NacreDatabaseTesting
import NacreSessions
import NacreTesting

/// Two processes' stores: each with its own connections to one database (a file, or a schema of PostgreSQL), on one clock unless they differ on purpose.
final class TwoProcesses: Sendable {
    let time = ManualTime()
    let sealing = SealingKey(random: SeededRandom(7))
    let first: Node
    let second: Node
    private let folder: TemporaryFolder

    /// What one process has.
    struct Node: Sendable {
        let database: Database
        let store: SessionStore
        let method: FakeMethod
        let keeper: SessionKeeper
        let tokens: SessionTokens
        let feed: SessionEventFeed
    }

    init(skew: Duration = .zero, slow: Bool = false, tokens configure: (inout TokenPolicy) -> Void = { _ in })
        async throws
    {
        folder = try TemporaryFolder()
        var policy = TokenPolicy()
        policy.presentations = [.bearer, .pair]
        configure(&policy)
        let shared = try await TestDatabase.place()
        let place = shared == ":memory:" ? folder.file("sessions.sqlite") : shared
        let (tokenPolicy, time, sealing) = (policy, time, sealing)
        func node(_ clock: any TimeSource, seed: UInt64) throws -> Node {
            let database = try TestDatabase.open(place, time: clock)
            let store = SessionStore(database: database, sealing: sealing, time: clock, random: SeededRandom(seed))
            let method = FakeMethod(time: slow ? time : nil)
            let keeper = SessionKeeper(store: store, methods: [method], time: clock, log: .none)
            return Node(
                database: database, store: store, method: method, keeper: keeper,
                tokens: SessionTokens(
                    store: store, keeper: keeper, policy: tokenPolicy, issuer: "https://gateway.test"),
                feed: SessionEventFeed(store, log: .none))
        }
        first = try node(time, seed: 31)
        second = try node(SkewedTime(base: time, by: skew), seed: 32)
        try await first.store.prepare()
        try await second.store.prepare()
        try await first.feed.poll()
        try await second.feed.poll()
    }

    static func person(_ subject: String = "alice", refreshToken: String? = "refresh-0") -> Authentication {
        Authentication(
            method: "fake", issuer: "https://idp.test", subject: subject, providerSession: "idp-\(subject)",
            profile: ["email": .string("\(subject)@example.test")],
            secrets: SessionSecrets(refreshToken: refreshToken, idToken: "id-token"))
    }
}

/// A clock that is ahead of another, or behind it.
struct SkewedTime: TimeSource {
    let base: ManualTime
    let by: Duration
    var now: Instant { base.now + by }
    func sleep(for duration: Duration) async throws { try await base.sleep(for: duration) }
}

/// Remembers the endings it hears.
final class EndingRecorder: Sendable {
    private let heard = Heard()
    var endings: [SessionEnding] { heard.all }
    var action: SessionEvents.Action { { [heard] in heard.add($0) } }
}
