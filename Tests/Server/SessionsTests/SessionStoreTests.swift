// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase
import NacreDatabaseTesting
import NacreSessions
import NacreTesting
import Testing

@Suite struct SessionStoreTests {
    @Test func `a session is found by its handle, with what was stored`() async throws {
        let fixture = try await SessionFixture()
        let (session, handle) = try await fixture.store.begin(fixture.person(), device: "Laptop")
        let found = try #require(try await fixture.store.find(handle: handle))
        #expect(found.id == session.id)
        #expect(found.subject == "alice")
        #expect(found.secrets == SessionSecrets(refreshToken: "refresh-0", idToken: "id-token"))
        #expect(found.device == "Laptop")
        #expect(found.level == "eidas1")
        #expect(try await fixture.store.find(handle: session.id) == nil)
    }

    @Test func `the database holds neither handle nor token`() async throws {
        let fixture = try await SessionFixture()
        let (_, handle) = try await fixture.store.begin(fixture.person(), device: nil)
        let row = try #require(try await fixture.database.read { sql in try sql.first("SELECT * FROM sessions") })
        let handleBytes = Array(handle.utf8)
        for value in row.values {
            #expect(value.text?.contains(handle) != true)
            #expect(value.text?.contains("refresh-0") != true)
            if let blob = value.blob {
                #expect(blob != handleBytes && blob != Base64URL.decode(handle))
                #expect(!String(decoding: blob, as: UTF8.self).contains("refresh-0"))
            }
        }
    }

    @Test("HO-13: the window of 30 days slides with use and ends without it")
    func window() async throws {
        let fixture = try await SessionFixture()
        let (session, handle) = try await fixture.store.begin(fixture.person(), device: nil)
        fixture.time.advance(by: .seconds(29 * 86400))
        #expect(try await fixture.store.find(handle: handle) != nil)
        try await fixture.store.touch(session.id)
        fixture.time.advance(by: .seconds(29 * 86400))
        #expect(try await fixture.store.find(handle: handle) != nil)
        fixture.time.advance(by: .seconds(86401))
        #expect(try await fixture.store.find(handle: handle) == nil)
        #expect(try await fixture.store.removeExpired() == 1)
    }

    @Test("HO-13: use does not stretch a session beyond its absolute end")
    func absolute() async throws {
        let fixture = try await SessionFixture(policy: SessionPolicy(absolute: .seconds(40 * 86400)))
        let (session, handle) = try await fixture.store.begin(fixture.person(), device: nil)
        fixture.time.advance(by: .seconds(20 * 86400))
        try await fixture.store.touch(session.id)
        fixture.time.advance(by: .seconds(21 * 86400))
        #expect(try await fixture.store.find(handle: handle) == nil)
    }

    @Test("HO-4: beginning a session ends the one whose handle the browser presented")
    func noFixation() async throws {
        let fixture = try await SessionFixture()
        let (_, planted) = try await fixture.store.begin(fixture.person("mallory"), device: nil)
        let (_, handle) = try await fixture.store.begin(fixture.person(), device: nil, replacing: planted)
        #expect(handle != planted)
        #expect(try await fixture.store.find(handle: planted) == nil)
        #expect(try await fixture.store.find(handle: handle)?.subject == "alice")
    }

    @Test("HO-6: of a thousand racing activations of a waiting session exactly one gets a handle")
    func activationRace() async throws {
        let fixture = try await SessionFixture()
        let (session, browser) = try await fixture.store.beginWaiting(
            fixture.person(), device: nil, lifetime: .seconds(60))
        #expect(try await fixture.store.find(handle: browser) == nil)
        #expect(try await fixture.store.find(browserHandle: browser)?.id == session.id)
        let store = fixture.store
        let handles = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<1000 { group.addTask { try await store.activate(session.id)?.handle } }
            return try await group.reduce(into: [String]()) { if let handle = $1 { $0.append(handle) } }
        }
        #expect(handles.count == 1)
        #expect(try await fixture.store.find(handle: handles[0])?.id == session.id)
    }

    @Test("HO-6: a waiting session that nobody fetches is gone after its lifetime")
    func waitingExpires() async throws {
        let fixture = try await SessionFixture()
        let (session, browser) = try await fixture.store.beginWaiting(
            fixture.person(), device: nil, lifetime: .seconds(60))
        fixture.time.advance(by: .seconds(61))
        #expect(try await fixture.store.activate(session.id) == nil)
        #expect(try await fixture.store.find(browserHandle: browser) == nil)
    }

    @Test func `ending by provider session, by person and everywhere else`() async throws {
        let fixture = try await SessionFixture()
        let store = fixture.store
        let (a, first) = try await store.begin(fixture.person(session: "idp-1"), device: nil)
        let (_, second) = try await store.begin(fixture.person(session: "idp-2"), device: nil)
        let (_, third) = try await store.begin(fixture.person("bob", session: "idp-1b"), device: nil)
        #expect(try await store.list(issuer: "https://idp.test", subject: "alice").count == 2)
        #expect(try await store.end(issuer: "https://idp.test", providerSession: "idp-2") == 1)
        #expect(try await store.find(handle: second) == nil)
        #expect(try await store.end(issuer: "https://other.test", providerSession: "idp-1") == 0)
        #expect(try await store.end(issuer: "https://idp.test", subject: "alice", except: a.id) == 0)
        #expect(try await store.find(handle: first) != nil)
        #expect(try await store.end(issuer: "https://idp.test", subject: "alice") == 1)
        #expect(try await store.find(handle: third) != nil)
    }

    /// A fixture in which a person may have three sessions.
    private func capped() async throws -> SessionFixture {
        var policy = SessionPolicy()
        policy.perPerson = 3
        return try await SessionFixture(policy: policy)
    }

    @Test func `a person has so many sessions; the one that was used the longest ago ends for a new one`() async throws
    {
        let fixture = try await capped()
        let store = fixture.store
        let heard = EndingRecorder()
        var handles: [String] = []
        var watches: [SessionWatch] = []
        let other = try await store.begin(fixture.person("bob"), device: nil).handle
        for number in 0..<5 {
            let (session, handle) = try await store.begin(fixture.person(), device: nil)
            watches.append(store.events.onEnd(of: session.id, heard.action))
            handles.append(handle)
            fixture.time.advance(by: .seconds(1))
            // The first one is in use all the time.
            if number < 4, let first = try await store.find(handle: handles[0]) { try await store.touch(first.id) }
        }
        var alive: [Bool] = []
        for handle in handles { alive.append(try await store.find(handle: handle) != nil) }
        #expect(alive == [true, false, false, true, true])
        #expect(heard.endings.map(\.reason) == ["too_many", "too_many"])
        #expect(try await store.find(handle: other) != nil)
        #expect(try await store.list(issuer: "https://idp.test", subject: "alice").count == 3)
        watches.forEach { $0.cancel() }
    }

    @Test func `sessions that wait for their app count by themselves, until one gets its handle`() async throws {
        let fixture = try await capped()
        let store = fixture.store
        var handles: [String] = []
        for _ in 0..<3 {
            handles.append(try await store.begin(fixture.person(), device: nil).handle)
            fixture.time.advance(by: .seconds(1))
        }
        var waiting: [String] = []
        for _ in 0..<5 {
            waiting.append(
                try await store.beginWaiting(fixture.person(), device: nil, lifetime: .seconds(60)).session.id)
            fixture.time.advance(by: .seconds(1))
        }
        for handle in handles { #expect(try await store.find(handle: handle) != nil) }
        for id in waiting.prefix(2) { #expect(try await store.activate(id) == nil) }
        #expect(try await store.activate(waiting[4]) != nil)
        #expect(try await store.find(handle: handles[0]) == nil)
        #expect(try await store.find(handle: handles[1]) != nil)
    }

    @Test func `what is derived counts as well, and never ends what it came from`() async throws {
        let fixture = try await capped()
        let store = fixture.store
        let old = try await store.begin(fixture.person(), device: nil).handle
        fixture.time.advance(by: .seconds(1))
        let (parent, handle) = try await store.begin(fixture.person(), device: nil)
        var children: [String] = []
        for _ in 0..<6 {
            children.append(try #require(try await store.derive(from: parent, device: nil, as: .bearer)).handle)
        }
        #expect(try await store.find(handle: handle) != nil)
        #expect(try await store.find(handle: old) == nil)
        #expect(try await store.find(handle: children[3], as: .bearer) == nil)
        for child in children[4...] { #expect(try await store.find(handle: child, as: .bearer) != nil) }
    }

    @Test func `many sessions end in batches, each batch a transaction of its own`() async throws {
        let fixture = try await SessionFixture()
        let session = try await fixture.store.begin(fixture.person(), device: nil).session
        for kind in ["person", "provider"] {
            try await fixture.database.double("sessions", times: 10)
            let counted = CountingBackend(fixture.database)
            let store = SessionStore(
                database: counted.database(time: fixture.time), sealing: SealingKey(random: fixture.random),
                time: fixture.time, random: SeededRandom(8))
            let ended =
                kind == "person"
                ? try await store.end(issuer: session.issuer, subject: session.subject, except: session.id)
                : try await store.end(issuer: session.issuer, providerSession: "idp-1")
            #expect(ended == (kind == "person" ? 1023 : 1024))
            #expect(counted.writes == 3)
        }
        #expect(try await fixture.store.list(issuer: session.issuer, subject: session.subject).isEmpty)
    }
}
