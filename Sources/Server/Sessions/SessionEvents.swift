// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Synchronization

/// A session has ended: which one, and why.
package struct SessionEnding: Sendable, Hashable {
    /// The session's identifier.
    package let session: String
    /// Such as `signed_out`, `ended_elsewhere`, `backchannel`, `expired`, `invalid_grant`, `refresh_reused`, `too_many`,
    /// `parent_ended`.
    package let reason: String

    package init(session: String, reason: String) {
        self.session = session
        self.reason = reason
    }
}

/// Tells whoever holds something open for a session (a WebSocket, a stream of events) that the session has ended.
///
/// One registry per process; `SessionEventFeed` brings what other processes ended. Copies of a `SessionStore` share one.
///
/// ```swift
/// let watch = events.onEnd(of: session.id) { ending in socket.close(ending.reason) }
/// defer { watch.cancel() }
/// ```
package final class SessionEvents: Sendable {
    package typealias Action = @Sendable (SessionEnding) -> Void

    /// How many endings are remembered for those who come a moment too late.
    private static let memory = 4096

    private struct State {
        var next = 0
        var watchers: [String: [Int: Action]] = [:]
        var recent: [String: SessionEnding] = [:]
        var order: [String] = []
    }
    private let state = Mutex(State())

    package init() {}

    /// Calls `action` once when the session ends, at once when it has just ended, never after `cancel()` of the watch.
    ///
    /// The action runs on the caller that ended the session: it must not wait. Keep the watch: it ends with its last
    /// reference.
    package func onEnd(of session: String, _ action: @escaping Action) -> SessionWatch {
        let (number, ending) = state.withLock { state -> (Int, SessionEnding?) in
            // The session was checked before the watch began; it may have ended in between.
            if let ending = state.recent[session] { return (0, ending) }  // guard: session-event-late
            state.next += 1
            state.watchers[session, default: [:]][state.next] = action
            return (state.next, nil)
        }
        if let ending { action(ending) }
        return SessionWatch { [weak self] in self?.forget(session, number) }
    }

    /// Waits until the session ends.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    package func ending(of session: String) async throws -> SessionEnding {
        let (stream, continuation) = AsyncStream.makeStream(of: SessionEnding.self)
        let watch = onEnd(of: session) { ending in
            continuation.yield(ending)
            continuation.finish()
        }
        defer { watch.cancel() }
        for await ending in stream { return ending }
        throw CancellationError()
    }

    /// Tells the watchers of these sessions; those told before are not told again.
    package func publish(_ endings: [SessionEnding]) {
        guard !endings.isEmpty else { return }
        let due = state.withLock { state -> [(Action, SessionEnding)] in
            var due: [(Action, SessionEnding)] = []
            for ending in endings {
                if let actions = state.watchers.removeValue(forKey: ending.session) {
                    due += actions.sorted { $0.key < $1.key }.map { ($0.value, ending) }
                }
                guard state.recent.updateValue(ending, forKey: ending.session) == nil else { continue }
                state.order.append(ending.session)
            }
            let surplus = state.order.count - Self.memory
            if surplus > 0 {
                for session in state.order.prefix(surplus) { state.recent[session] = nil }
                state.order.removeFirst(surplus)
            }
            return due
        }
        // Outside of the lock: an action may watch or end another session.
        for (action, ending) in due { action(ending) }
    }

    /// How many sessions somebody watches.
    package var watchedCount: Int { state.withLock { $0.watchers.count } }

    private func forget(_ session: String, _ number: Int) {
        state.withLock { state in
            state.watchers[session]?[number] = nil
            if state.watchers[session]?.isEmpty == true { state.watchers[session] = nil }
        }
    }
}

/// Somebody waits for a session's end.
package final class SessionWatch: Sendable {
    private let stop: @Sendable () -> Void

    init(_ stop: @escaping @Sendable () -> Void) { self.stop = stop }

    deinit { stop() }

    /// Stops waiting. Harmless afterwards and twice.
    package func cancel() { stop() }
}
