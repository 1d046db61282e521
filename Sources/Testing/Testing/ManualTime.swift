// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
import Synchronization

/// A clock that stands still until a test moves it; sleepers wake when it passes their moment.
public final class ManualTime: TimeSource {
    private struct Sleeper {
        let wake: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }
    private struct State {
        var now: Instant
        var next = 0
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
    }

    private let state: Mutex<State>

    /// A clock that shows `start`.
    public init(_ start: Instant = Instant(seconds: 1_790_000_000)) { state = Mutex(State(now: start)) }

    public var now: Instant { state.withLock { $0.now } }

    /// How many tasks sleep at present; a test waits for this before it moves the clock.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// How long until the first of them is due; nil when none sleeps.
    public var untilNextWake: Duration? {
        state.withLock { state in state.sleepers.values.map(\.wake).min().map { $0 - state.now } }
    }

    /// Moves the clock on and wakes whoever is due.
    public func advance(by duration: Duration) {
        let due = state.withLock { state -> [Sleeper] in
            state.now = state.now + duration
            let now = state.now
            let ready = state.sleepers.filter { $0.value.wake <= now }
            for id in ready.keys { state.sleepers[id] = nil }
            return ready.values.sorted { $0.wake < $1.wake }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    public func sleep(for duration: Duration) async throws {
        try Task.checkCancellation()
        guard duration > .zero else { return }
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isCancelled = state.withLock { state -> Bool in
                    if state.cancelled.remove(id) != nil { return true }
                    state.sleepers[id] = Sleeper(wake: state.now + duration, continuation: continuation)
                    return false
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let sleeper = state.withLock { state -> Sleeper? in
                guard let sleeper = state.sleepers.removeValue(forKey: id) else {
                    state.cancelled.insert(id)
                    return nil
                }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}
