// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Synchronization

/// Lets one task at a time through a stretch of code that awaits, in the order they came.
final class AsyncLock: Sendable {
    private struct State {
        var held = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Runs `body` alone.
    func run<Value: Sendable>(_ body: () async throws -> Value) async rethrows -> Value {
        await acquire()
        defer { release() }
        return try await body()
    }

    /// Runs `body` alone, unless somebody else is inside.
    func runIfFree(_ body: () async throws -> Void) async rethrows {
        let isFree = state.withLock { state in
            defer { state.held = true }
            return !state.held
        }
        guard isFree else { return }
        defer { release() }
        try await body()
    }

    private func acquire() async {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                if state.held {
                    state.waiting.append(continuation)
                } else {
                    state.held = true
                    continuation.resume()
                }
            }
        }
    }

    private func release() {
        state.withLock { state in
            if state.waiting.isEmpty {
                state.held = false
            } else {
                state.waiting.removeFirst().resume()
            }
        }
    }
}
