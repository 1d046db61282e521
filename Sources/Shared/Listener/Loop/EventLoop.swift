// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
package import NacreCore
import Synchronization

/// What a loop tells about its descriptor.
protocol EventTarget: AnyObject, Sendable {
    /// The kernel reports these events.
    func ready(_ events: Readiness)
    /// Ends the waits whose deadline has passed, and says when the next one is due.
    func expire(at now: Deadline) -> Deadline
    /// The loop's thread is ending: nothing will be reported any more.
    func loopEnded()
}

/// What the kernel reports about a descriptor.
struct Readiness: OptionSet, Sendable {
    let rawValue: UInt32
    static let readable = Readiness(rawValue: nacre_epoll_in())
    static let writable = Readiness(rawValue: nacre_epoll_out())
    /// The peer has ended its sending half (or everything).
    static let peerEnded = Readiness(rawValue: nacre_epoll_peer_ended())
    /// Reset or fully closed.
    static let broken = Readiness(rawValue: nacre_epoll_broken())
}

/// One thread that waits for sockets (epoll, edge-triggered) and runs the tasks that prefer it.
///
/// Handlers run here, so they must not block; blocking work has threads of its own.
package final class EventLoop: TaskExecutor, Sendable {
    private struct Slot {
        var generation: UInt32 = 0
        weak var target: (any EventTarget)?
        var inUse = false
    }

    private struct State {
        var jobs: [UnownedJob] = []
        var slots: [Slot] = []
        var free: [Int] = []
        var nextDeadline = Deadline.never
        /// Until when the thread sleeps in the kernel; nil while it is awake.
        var asleepUntil: Deadline?
        var tasks = 0
        var stopping = false
        var ended = false
    }

    /// The loop whose task this is, so that what the task opens is watched where the task runs.
    @TaskLocal package static var current: EventLoop?

    private let poll: Int32
    private let wake: Int32
    private let state = Mutex(State())
    /// Deadlines closer together than this are looked at together.
    private static let scanInterval: Duration = .milliseconds(50)

    /// Starts the thread.
    package init() throws(NacreError) {
        poll = nacre_epoll_create()
        wake = nacre_eventfd()
        let descriptors = [poll, wake]
        guard poll >= 0, wake >= 0, nacre_epoll_add(poll, wake, Readiness.readable.rawValue, 0) == 0 else {
            for descriptor in descriptors where descriptor >= 0 { nacre_close(descriptor) }
            throw NacreError(
                "listener.no_descriptors", "The system has no file descriptors left; raise the limit (ulimit -n).")
        }
        try OwnThread.start(name: "nacre-loop") { self.run() }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (mustWake, ended) = state.withLock { state in
            guard !state.ended else { return (false, true) }
            state.jobs.append(job)
            return (Self.takeWake(&state), false)
        }
        if mustWake { wakeUp() }
        // The thread is gone only when nothing it knew of was left; a straggler still has to end somewhere.
        if ended { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
    }

    /// Starts a task that runs here; the thread stays until it has ended.
    @discardableResult
    package func spawn(_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        state.withLock { $0.tasks += 1 }
        return Task(executorPreference: self) {
            await Self.$current.withValue(self) { await operation() }
            self.state.withLock { $0.tasks -= 1 }
        }
    }

    /// Ends the thread as soon as its tasks have ended.
    package func stop() {
        let mustWake = state.withLock { state in
            state.stopping = true
            return Self.takeWake(&state)
        }
        if mustWake { wakeUp() }
    }

    // MARK: Descriptors

    /// Watches a descriptor, edge-triggered, until `forget`.
    func watch(_ descriptor: Int32, _ events: Readiness, target: any EventTarget, edge: Bool = true) throws(NacreError)
        -> UInt64
    {
        let watched = state.withLock { state -> UInt64? in
            guard !state.ended else { return nil }
            let index = state.free.popLast() ?? state.slots.count
            if index == state.slots.count { state.slots.append(Slot()) }
            state.slots[index].generation &+= 1
            state.slots[index].target = target
            state.slots[index].inUse = true
            return UInt64(state.slots[index].generation) << 32 | UInt64(index + 1)
        }
        guard let token = watched else { throw NacreError("listener.stopped", "The event loop has been stopped.") }
        let mask = events.rawValue | (edge ? nacre_epoll_edge() : 0)
        guard nacre_epoll_add(poll, descriptor, mask, token) == 0 else {
            forget(token)
            throw NacreError("listener.watch", "The system refuses to watch a socket: \(systemMessage(nacre_errno())).")
        }
        return token
    }

    /// Frees the place of a descriptor that is about to be closed; late events for it are dropped.
    func forget(_ token: UInt64, descriptor: Int32? = nil) {
        state.withLock { state in
            if let descriptor, !state.ended { _ = nacre_epoll_remove(poll, descriptor) }
            let index = Self.index(token)
            guard state.slots[index].inUse, Self.matches(state.slots[index], token) else { return }
            state.slots[index].inUse = false
            state.slots[index].target = nil
            state.free.append(index)
        }
    }

    /// Makes sure that the thread looks at deadlines no later than then.
    func note(_ deadline: Deadline) {
        guard deadline != .never else { return }
        let mustWake = state.withLock { state in
            guard deadline < state.nextDeadline else { return false }
            state.nextDeadline = deadline
            guard let until = state.asleepUntil, deadline < until else { return false }
            return Self.takeWake(&state)
        }
        if mustWake { wakeUp() }
    }

    private static func index(_ token: UInt64) -> Int { Int(token & 0xFFFF_FFFF) - 1 }

    private static func matches(_ slot: Slot, _ token: UInt64) -> Bool { UInt64(slot.generation) == token >> 32 }

    // MARK: The thread

    /// Whether the sleeping thread has to be woken; it is woken once.
    private static func takeWake(_ state: inout State) -> Bool {
        guard state.asleepUntil != nil else { return false }
        state.asleepUntil = nil
        return true
    }

    private func wakeUp() {
        var one: UInt64 = 1
        _ = write(wake, &one, 8)
    }

    private func run() {
        nacre_block_signals()
        var events = [nacre_event](repeating: nacre_event(), count: 128)
        var jobs: [UnownedJob] = []
        while true {
            runJobs(&jobs)
            guard let timeout = prepareToSleep() else { break }
            let count = nacre_epoll_wait(poll, &events, 128, timeout)
            state.withLock { $0.asleepUntil = nil }
            if count > 0 { deliver(events[0..<Int(count)]) }
            expire()
        }
        let left = state.withLock { state in state.slots.compactMap { $0.inUse ? $0.target : nil } }
        for target in left { target.loopEnded() }
        state.withLock { _ in
            nacre_close(poll)
            nacre_close(wake)
        }
    }

    /// One batch: jobs that enqueue more jobs do not starve the sockets.
    private func runJobs(_ batch: inout [UnownedJob]) {
        state.withLock { swap(&$0.jobs, &batch) }
        for job in batch { job.runSynchronously(on: asUnownedTaskExecutor()) }
        // The room stays for the next batch but one.
        batch.removeAll(keepingCapacity: true)
    }

    /// The time to sleep in milliseconds, or nil when the thread is to end.
    private func prepareToSleep() -> Int32? {
        state.withLock { state in
            guard state.jobs.isEmpty else { return 0 }
            if state.stopping, state.tasks == 0 {
                state.ended = true
                return nil
            }
            state.asleepUntil = state.nextDeadline
            return state.nextDeadline.pollTimeout
        }
    }

    private func deliver(_ events: ArraySlice<nacre_event>) {
        for event in events {
            guard event.token != 0 else {
                var count: UInt64 = 0
                _ = read(wake, &count, 8)
                continue
            }
            let target = state.withLock { state -> (any EventTarget)? in
                let slot = state.slots[Self.index(event.token)]
                return slot.inUse && Self.matches(slot, event.token) ? slot.target : nil
            }
            target?.ready(Readiness(rawValue: event.events))
        }
    }

    private func expire() {
        let now = Deadline.now
        let targets = state.withLock { state -> [any EventTarget] in
            guard state.nextDeadline <= now else { return [] }
            state.nextDeadline = .never
            return state.slots.compactMap { $0.inUse ? $0.target : nil }
        }
        guard !targets.isEmpty else { return }
        let next = targets.map { $0.expire(at: now) }.min() ?? .never
        if next != .never { note(max(next, .after(Self.scanInterval))) }
    }
}

/// The system's words for an error number.
func systemMessage(_ code: Int32) -> String { String(cString: nacre_error_text(code)) }
