// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreSignIn

/// What becomes of the page when the session changes (NB-13, SE-1).
struct SessionFollower: Sendable {
    /// Tells the page.
    let tell: @Sendable (JSONValue) async -> Void
    /// Ends the page's streams to the API.
    let closeStreams: @Sendable () async -> Void
    /// Revokes what has given way to a newer session.
    let revokeReplaced: @Sendable () async -> Void
    /// Clears the page's web storage, where the configuration says so.
    let clearWebData: (@Sendable () async -> Void)?

    /// Follows until the changes end.
    func follow(_ changes: AsyncStream<SessionSnapshot>) async {
        var last: SessionSnapshot?
        for await snapshot in changes {
            await tell(snapshot.json)
            if let last, last.generation != snapshot.generation {
                // A stream that was opened with one session must not go on under the next, nor after it.
                await closeStreams()  // guard: follower-closes-streams
                await revokeReplaced()
                let isOver = snapshot.state == .signedOut && [.signedOut, .sessionRevoked].contains(snapshot.reason)
                if isOver { await clearWebData?() }
            }
            last = snapshot
        }
    }
}
