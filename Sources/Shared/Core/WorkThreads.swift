// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Synchronization

/// What became of a job that was handed in.
private enum Submission { case start, queued, refused }

/// A few threads for work that blocks or computes long, kept off Swift's cooperative pool.
///
/// Threads start when there is work and end when there is none; at most `limit` run, at most `waiting` jobs queue.
package final class WorkThreads: Sendable {
    private struct State {
        var running = 0
        var jobs: [@Sendable () -> Void] = []
    }

    private let limit: Int
    private let waiting: Int
    private let state = Mutex(State())

    /// At most `limit` threads and `waiting` queued jobs.
    package init(limit: Int, waiting: Int = 256) {
        self.limit = max(1, limit)
        self.waiting = waiting
    }

    /// Runs `work` on one of the threads.
    ///
    /// - Throws: `work.busy` when too many jobs wait already, else what `work` throws.
    package func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
            let job: @Sendable () -> Void = { continuation.resume(with: Result { try work() }) }
            let step = state.withLock { state -> Submission in
                guard state.jobs.count < waiting else { return .refused }  // guard: work-queue-limit
                state.jobs.append(job)
                guard state.running < limit else { return .queued }
                state.running += 1
                return .start
            }
            switch step {
            case .start: Platform.startThread { self.drain() }
            case .queued: break
            case .refused:
                continuation.resume(
                    throwing: NacreError("work.busy", "Too much work is waiting already; try again in a moment."))
            }
        }
    }

    private func drain() {
        while true {
            let job = state.withLock { state -> (@Sendable () -> Void)? in
                guard !state.jobs.isEmpty else {
                    state.running -= 1
                    return nil
                }
                return state.jobs.removeFirst()
            }
            guard let job else { return }
            job()
        }
    }
}
