// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacrePorts
import NacreSignIn
import Synchronization
import Testing

@testable import NacreApp

@Suite struct SessionFollowerTests {
    /// What happened, in order.
    private final class Record: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func note(_ line: String) { lines.withLock { $0.append(line) } }
    }

    private func follow(_ snapshots: [SessionSnapshot], clears: Bool = true) async -> [String] {
        let record = Record()
        let clear: (@Sendable () async -> Void)?
        if clears { clear = { record.note("clear") } } else { clear = nil }
        let follower = SessionFollower(
            tell: { record.note($0["state"]?.string ?? "") }, closeStreams: { record.note("close") },
            revokeReplaced: { record.note("revoke") }, clearWebData: clear)
        let (stream, continuation) = AsyncStream<SessionSnapshot>.makeStream()
        for snapshot in snapshots { continuation.yield(snapshot) }
        continuation.finish()
        await follower.follow(stream)
        return record.all
    }

    private func snapshot(
        _ state: SessionSnapshot.State, _ generation: UInt64, _ reason: SessionSnapshot.Reason? = nil
    ) -> SessionSnapshot {
        SessionSnapshot(state: state, reason: reason, keptIn: .memory, generation: generation)
    }

    @Test("NB-13: another session, or none, ends the page's streams; news about the same one does not")
    func streams() async {
        #expect(
            await follow([snapshot(.signedIn, 2), snapshot(.signedIn, 2), snapshot(.signedIn, 3)])
                == ["signedIn", "signedIn", "signedIn", "close", "revoke"])
        #expect(
            await follow([snapshot(.signedIn, 2), snapshot(.signedOut, 3, .sessionExpired)])
                == ["signedIn", "signedOut", "close", "revoke"])
        // Through "signing in", where only the number tells that it is another person's.
        #expect(
            await follow([snapshot(.signedIn, 2), snapshot(.signingIn, 2), snapshot(.signingIn, 3)])
                == ["signedIn", "signingIn", "signingIn", "close", "revoke"])
    }

    @Test(
        "SE-1: web storage is cleared when the person has left, where the configuration says so",
        arguments: [
            (SessionSnapshot.Reason.signedOut, true), (.sessionRevoked, true), (.sessionExpired, false),
        ])
    func clears(reason: SessionSnapshot.Reason, cleared: Bool) async {
        let changes = [snapshot(.signedIn, 2), snapshot(.signedOut, 3, reason)]
        #expect(await follow(changes).contains("clear") == cleared)
        #expect(await !follow(changes, clears: false).contains("clear"))
    }
}
