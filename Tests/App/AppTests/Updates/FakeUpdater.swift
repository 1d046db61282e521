// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreApp
import NacreCore
import NacreUpdates
import Synchronization

/// An updater that does what a test says and notes what it was told.
final class FakeUpdater: AppUpdater {
    private struct State {
        var running: BootedBundle
        var status: UpdateStatus
        var notes: [String] = []
        var next: UpdateCheck = .off
        var held: [String: Duration] = [:]
        var last = 0
        var refusal: NacreError?
        var holdRefusal: NacreError?
        var observers: [AsyncStream<UpdateStatus>.Continuation] = []
    }

    private let state: Mutex<State>

    init(_ running: BootedBundle = BootedBundle(folder: nil, version: "1.0.0", stamp: nil, isOnTrial: false)) {
        let status = UpdateStatus(phase: .idle, running: running.version, isBuiltIn: running.folder == nil)
        state = Mutex(State(running: running, status: status))
    }

    var notes: [String] { state.withLock { $0.notes } }
    var held: [String: Duration] { state.withLock { $0.held } }

    /// How the next check ends; one that stages something also says so.
    func nextCheck(_ check: UpdateCheck) { state.withLock { $0.next = check } }
    func refuseHolds(_ error: NacreError?) { state.withLock { $0.holdRefusal = error } }
    func refuseApply(_ error: NacreError?) { state.withLock { $0.refusal = error } }
    func becomes(running: BootedBundle) { state.withLock { $0.running = running } }

    func becomes(_ change: (inout UpdateStatus) -> Void) {
        state.withLock { state in
            change(&state.status)
            for observer in state.observers { observer.yield(state.status) }
        }
    }

    private func note(_ text: String) { state.withLock { $0.notes.append(text) } }

    var running: BootedBundle { get async { state.withLock { $0.running } } }

    func changes() async -> AsyncStream<UpdateStatus> {
        let (stream, continuation) = AsyncStream<UpdateStatus>.makeStream()
        state.withLock { state in
            continuation.yield(state.status)
            state.observers.append(continuation)
        }
        return stream
    }

    func pageLoadStarted(_ pageLoad: UInt64) async { note("load \(pageLoad)") }
    func confirm(pageLoad: UInt64) async {
        note("confirm \(pageLoad)")
        state.withLock { $0.running.isOnTrial = false }
    }
    func pageLeft(lastLoad: UInt64) async { note("left \(lastLoad)") }
    func cannotShow() async { note("cannot show") }
    func forgetStorage() async { note("forget storage") }
    func pageCrashed() async { note("crashed") }
    func closing() async { note("closing") }

    func check(isAsked: Bool) async -> UpdateCheck {
        note(isAsked ? "check asked" : "check")
        let next = state.withLock { $0.next }
        if case .staged(let version) = next {
            becomes { ($0.phase, $0.staged) = (.staged, version) }
        }
        return next
    }

    func apply() async throws(NacreError) {
        note("apply")
        if let refusal = state.withLock({ $0.refusal }) { throw refusal }
        guard state.withLock({ $0.held.isEmpty }) else { throw NacreError("update.held", "Something holds.") }
        guard state.withLock({ $0.status.staged }) != nil else {
            throw NacreError("update.none", "Nothing is staged.")
        }
    }

    func hold(for duration: Duration, reason: String) async throws(NacreError) -> String {
        if let refusal = state.withLock({ $0.holdRefusal }) { throw refusal }
        return state.withLock { state in
            state.last += 1
            state.held["h\(state.last)"] = duration
            return "h\(state.last)"
        }
    }

    func release(_ hold: String) async { state.withLock { _ = $0.held.removeValue(forKey: hold) } }

    func report() async -> JSONValue { ["running": "1.0.0", "decisions": ["first", "second"]] }
}
