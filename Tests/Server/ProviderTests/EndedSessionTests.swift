// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase
import NacreDatabaseTesting
import NacreTesting
import Testing

@testable import NacreProvider

@Suite("PV-1: a code for a session that has ended") struct EndedSessionTests {
    private let now = ManualTime().now

    private func world() async throws -> (store: ProviderStore, session: SSOSession) {
        let store = ProviderStore(database: try await TestDatabase.make())
        try await store.prepare()
        let session = SSOSession(
            sid: "sid-1", subject: "alice", level: "eidas1", methods: ["pwd"], authenticatedAt: now,
            expiresAt: now + .seconds(3600))
        try await store.start(session, token: "cookie-1", replacing: nil)
        return (store, session)
    }

    private func add(_ store: ProviderStore, _ session: SSOSession, code: String = "code-1") async throws {
        try await store.addCode(
            code,
            for: ProviderGrant(
                name: "grant-" + code, clientID: "messages", session: session, scope: "openid", nonce: nil),
            redirectURI: "https://app.test/cb", challenge: nil, expires: now + .seconds(60), now: now)
    }

    private func rows(_ store: ProviderStore) async throws -> Int {
        try await store.database.read { sql in
            try sql.query("SELECT id FROM provider_grant").count + sql.query("SELECT id FROM provider_code").count
        }
    }

    @Test("It is not given, and nothing of it is stored", arguments: ["signed out", "replaced", "another person's"])
    func ended(how: String) async throws {
        let (store, session) = try await world()
        var asked = session
        switch how {
        case "signed out": try await store.endSession(sid: session.sid, telling: [], now: now)
        case "replaced":
            var next = session
            next.sid = "sid-2"
            try await store.start(next, token: "cookie-2", replacing: "cookie-1")
        default: asked.subject = "bob"
        }
        let error = await #expect(throws: NacreError.self) { try await add(store, asked) }
        #expect(error?.code == "provider.session_ended")
        #expect(try await rows(store) == 0)
    }

    @Test("Of a sign-out and many codes at the same moment none is left that works")
    func race() async throws {
        let (store, session) = try await world()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    do { try await add(store, session, code: "code-\(number)") } catch let error as NacreError {
                        #expect(error.code == "provider.session_ended")
                    }
                }
                if number == 20 {
                    group.addTask { try await store.endSession(sid: session.sid, telling: [], now: now) }
                }
            }
            try await group.waitForAll()
        }
        let alive = try await store.database.read { sql in
            try sql.query("SELECT id FROM provider_grant WHERE revoked_at IS NULL").count
        }
        #expect(alive == 0)
    }

    @Test("A live session gets one")
    func live() async throws {
        let (store, session) = try await world()
        try await add(store, session)
        #expect(try await rows(store) == 2)
    }
}
