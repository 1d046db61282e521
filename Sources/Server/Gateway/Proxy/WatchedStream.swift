// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Synchronization

/// A client's side of a WebSocket that knows when it last carried bytes, and that can be ended in a way the client
/// understands.
final class WatchedStream: DuplexStream {
    private struct State {
        var lastUse: Instant
        /// What goes to the client.
        var frames = WebSocketFrames()
        var isWriting = false
        /// Ended from this side: nothing passes any more.
        var isEnded = false
    }

    /// How long a client may take to hear why it is closed.
    static let patience: Duration = .seconds(2)

    private let inner: any DuplexStream
    private let time: any TimeSource
    private let state: Mutex<State>
    /// Ends when the client has ended its half.
    private let left = AsyncStream.makeStream(of: Never.self)

    init(_ inner: any DuplexStream, time: any TimeSource) {
        self.inner = inner
        self.time = time
        state = Mutex(State(lastUse: time.now))
    }

    func read() async throws -> [UInt8]? {
        do {
            while let bytes = try await inner.read() {
                let passes = state.withLock { state in
                    state.lastUse = time.now
                    return !state.isEnded
                }
                // Taken all the same: a connection that is closed over unread bytes loses what was written last.
                if passes { return bytes }  // guard: websocket-after-end
            }
        } catch {
            left.continuation.finish()
            throw error
        }
        left.continuation.finish()
        return nil
    }

    func write(_ bytes: [UInt8]) async throws {
        let passes = state.withLock { state in
            state.isWriting = !state.isEnded
            return state.isWriting
        }
        guard passes else { return }
        defer { state.withLock { $0.isWriting = false } }
        try await inner.write(bytes)
        state.withLock { state in
            state.frames.pass(bytes)
            state.lastUse = time.now
        }
    }

    func finishWriting() async throws { try await inner.finishWriting() }
    func close() async { await inner.close() }

    /// Ends it for `reason`: with a close frame where one may stand, in any case soon.
    func end(_ reason: String) async {
        let mayTell = state.withLock { state in
            defer { state.isEnded = true }
            return !state.isEnded && !state.isWriting && state.frames.isBetweenFrames  // guard: websocket-close-frame
        }
        if mayTell {
            let (inner, time, left) = (inner, time, left.stream)
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    try? await inner.write(WebSocketFrames.closing(reason))
                    try? await inner.finishWriting()
                    for await _ in left {}
                }
                // A client that takes nothing, or does not leave, does not hold up the end.
                group.addTask { try? await time.sleep(for: Self.patience) }
                await group.next()
                group.cancelAll()
            }
        }
        await inner.close()
    }

    /// Returns once nothing has passed either way for `limit`.
    func untilIdle(for limit: Duration) async throws {
        while true {
            let waited = time.now - state.withLock { $0.lastUse }
            guard waited < limit else { return }
            // In short naps: a sleep that is cancelled keeps its timer until it would have ended.
            try await time.sleep(for: min(limit - waited, .seconds(30)))
        }
    }
}
