// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase
import NacreDatabaseTesting
import NacreSessions
import NacreTesting
import Synchronization

/// A store in memory with a clock of its own.
struct SessionFixture {
    let time = ManualTime()
    let random = SeededRandom(3)
    let database: Database
    let store: SessionStore

    init(policy: SessionPolicy = SessionPolicy()) async throws {
        database = try await TestDatabase.make(time: time)
        store = SessionStore(
            database: database, sealing: SealingKey(random: random), policy: policy, time: time, random: random)
        try await store.prepare()
    }

    func person(
        _ subject: String = "alice", refreshToken: String? = "refresh-0", session: String? = "idp-1"
    ) -> Authentication {
        Authentication(
            method: "fake", issuer: "https://idp.test", subject: subject, providerSession: session, level: "eidas1",
            means: ["pwd"], profile: ["email": "alice@example.test"],
            secrets: SessionSecrets(refreshToken: refreshToken, idToken: "id-token"))
    }
}

/// A method whose answers a test writes, and which counts how often it is asked.
final class FakeMethod: AuthenticationMethod {
    private let state = Mutex<(answer: Revalidation, tokens: [String?])>((.refused(reason: "unset"), []))
    private let time: ManualTime?

    /// With a clock, every answer takes ten seconds of it.
    init(time: ManualTime? = nil) { self.time = time }

    var name: String { "fake" }
    var answer: Revalidation {
        get { state.withLock { $0.answer } }
        set { state.withLock { $0.answer = newValue } }
    }
    /// The refresh tokens it was asked with.
    var tokens: [String?] { state.withLock { $0.tokens } }

    func revalidate(_ session: Session) async -> Revalidation {
        let answer = state.withLock { state in
            state.tokens.append(session.secrets.refreshToken)
            return state.answer
        }
        try? await time?.sleep(for: .seconds(10))
        return answer
    }
}
