// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Synchronization

/// An executor with a thread of its own, for actors whose work blocks: SQLite, password hashing, file trees.
///
/// The actor keeps it in a `nonisolated let`, answers `unownedExecutor` with it, and calls `stop()` in its `deinit`.
package final class OwnThread: SerialExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var stopping = false
    }

    private let state = Mutex(State())
    private let gate = ThreadGate()

    /// Starts the thread, which keeps this object alive until `stop()`.
    package init() {
        Platform.startThread { self.run() }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let wasIdle = state.withLock { state in
            state.jobs.append(job)
            return state.jobs.count == 1
        }
        if wasIdle { gate.open() }
    }

    /// Ends the thread once the jobs it already has are done.
    package func stop() {
        state.withLock { $0.stopping = true }
        gate.open()
    }

    private func run() {
        while true {
            gate.wait()
            while true {
                let jobs = state.withLock { state in
                    let jobs = state.jobs
                    state.jobs = []
                    return jobs
                }
                if jobs.isEmpty { break }
                for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
            }
            if state.withLock({ $0.stopping && $0.jobs.isEmpty }) { return }
        }
    }
}
