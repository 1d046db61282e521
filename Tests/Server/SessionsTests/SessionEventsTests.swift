// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase
import NacreSessions
import NacreTesting
import Synchronization
import Testing

/// Endings in the order they were heard.
final class Heard: Sendable {
    private let list = Mutex<[SessionEnding]>([])
    var all: [SessionEnding] { list.withLock { $0 } }
    func add(_ ending: SessionEnding) { list.withLock { $0.append(ending) } }
}

@Suite("Sessions that end are told of") struct SessionEventsTests {
    @Test func `every way a session ends reaches its watcher once, with the reason`() async throws {
        let fixture = try await SessionFixture()
        let store = fixture.store
        let heard = EndingRecorder()
        var watches: [SessionWatch] = []
        func begin(_ subject: String) async throws -> Session {
            let session = try await store.begin(fixture.person(subject), device: nil).session
            watches.append(store.events.onEnd(of: session.id, heard.action))
            return session
        }
        let signedOut = try await begin("a")
        try await store.end(signedOut.id)
        try await store.end(signedOut.id)
        _ = try await begin("b")
        try await store.end(issuer: "https://idp.test", subject: "b")
        _ = try await begin("c")
        try await store.end(issuer: "https://idp.test", providerSession: "idp-1")
        let (_, handle) = try await store.begin(fixture.person("d"), device: nil)
        let replaced = try #require(try await store.find(handle: handle))
        watches.append(store.events.onEnd(of: replaced.id, heard.action))
        _ = try await store.begin(fixture.person("d"), device: nil, replacing: handle)
        _ = try await begin("e")
        fixture.time.advance(by: .seconds(31 * 86400))
        try await store.removeExpired()
        #expect(
            heard.endings.map(\.reason) == ["signed_out", "ended_elsewhere", "backchannel", "replaced", "expired"])
        #expect(store.events.watchedCount == 0)
    }

    @Test func `a watch that was cancelled or dropped hears nothing`() {
        let events = SessionEvents()
        let heard = EndingRecorder()
        let cancelled = events.onEnd(of: "s", heard.action)
        cancelled.cancel()
        _ = events.onEnd(of: "s", heard.action)
        #expect(events.watchedCount == 0)
        events.publish([SessionEnding(session: "s", reason: "signed_out")])
        #expect(heard.endings.isEmpty)
    }

    @Test func `who comes a moment too late hears it at once`() async throws {
        let events = SessionEvents()
        events.publish([SessionEnding(session: "s", reason: "signed_out")])
        let heard = EndingRecorder()
        let watch = events.onEnd(of: "s", heard.action)
        #expect(heard.endings.map(\.reason) == ["signed_out"])
        watch.cancel()
        #expect(try await events.ending(of: "s").reason == "signed_out")
        events.publish((0..<5000).map { SessionEnding(session: "\($0)", reason: "expired") })
        #expect(events.onEnd(of: "s", heard.action) !== watch)
        #expect(heard.endings.count == 1, "what is long past is forgotten")
    }

    @Test func `waiting for an end ends with the task`() async throws {
        let events = SessionEvents()
        let task = Task { try await events.ending(of: "s") }
        try await until { events.watchedCount == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(events.watchedCount == 0)
    }

    @Test func `an end in one process reaches the watchers of another, once`() async throws {
        let world = try await TwoProcesses()
        let session = try await world.first.store.begin(TwoProcesses.person(), device: nil).session
        let heard = EndingRecorder()
        let watch = world.second.store.events.onEnd(of: session.id, heard.action)
        try await world.second.feed.poll()
        #expect(heard.endings.isEmpty)
        try await world.first.store.end(session.id, reason: "ended_elsewhere")
        try await world.second.feed.poll()
        try await world.second.feed.poll()
        #expect(heard.endings == [SessionEnding(session: session.id, reason: "ended_elsewhere")])
        watch.cancel()
    }

    @Test func `rows that become visible late and sweeps in between lose no event`() async throws {
        let world = try await TwoProcesses()
        let (events, feed) = (world.second.store.events, world.second.feed)
        func write(_ row: Int64, _ session: String) async throws {
            let now = world.time.now
            try await world.first.database.write { sql in
                _ = try sql.execute(
                    "INSERT INTO session_event (row_id, session, reason, created_at) VALUES ($1, $2, 'test', $3)",
                    [.integer(row), .text(session), SQLValue(now)])
            }
        }
        for round in Int64(1)...3 {
            let heard = EndingRecorder()
            let watches = ["early", "late"].map { events.onEnd(of: "\($0)-\(round)", heard.action) }
            // A transaction that took its number first and ended last: its row has the lower number.
            try await write(1000 * round + 1, "early-\(round)")
            try await feed.poll()
            #expect(heard.endings.map(\.session) == ["early-\(round)"])
            try await write(1000 * round, "late-\(round)")
            try await feed.poll()
            #expect(heard.endings.map(\.session) == ["early-\(round)", "late-\(round)"])
            watches.forEach { $0.cancel() }
            world.time.advance(by: .seconds(2 * 3600))
            try await world.first.store.removeExpired()
            try await feed.poll()
        }
        let rows = try await world.first.database.read { sql in try sql.query("SELECT row_id FROM session_event") }
        #expect(try rows.map { try $0.integer("row_id") } == [3001], "the newest keeps its number, the others go")
    }

    @Test func `more events than one look takes all arrive`() async throws {
        let world = try await TwoProcesses()
        let heard = EndingRecorder()
        let watch = world.second.store.events.onEnd(of: "2499", heard.action)
        let now = world.time.now
        try await world.first.database.write { sql in
            for number in 0..<2500 {
                try sql.execute(
                    "INSERT INTO session_event (session, reason, created_at) VALUES ($1, 'x', $2)",
                    [.text("\(number)"), SQLValue(now)])
            }
        }
        try await world.second.feed.poll()
        #expect(heard.endings.count == 1)
        watch.cancel()
    }

    @Test func `the feed looks while somebody watches, until it is stopped`() async throws {
        let world = try await TwoProcesses()
        let session = try await world.first.store.begin(TwoProcesses.person(), device: nil).session
        let heard = EndingRecorder()
        let watch = world.second.store.events.onEnd(of: session.id, heard.action)
        let task = Task { await world.second.feed.run() }
        try await until { world.time.sleeperCount == 1 }
        try await world.first.store.end(session.id)
        world.time.advance(by: .seconds(1))
        try await until { heard.endings.count == 1 }
        task.cancel()
        await task.value
        watch.cancel()
    }
}

/// Waits for what another task does.
///
/// - Throws: `test.never` when it has not happened after twenty seconds.
func until(_ condition: () -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(20)
    while !condition() {
        guard ContinuousClock.now < end else { throw NacreError("test.never", "What was waited for never happened.") }
        await Task.yield()
    }
}
