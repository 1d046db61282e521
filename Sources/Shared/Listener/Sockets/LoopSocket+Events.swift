// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
import NacreCore
import Synchronization

extension LoopSocket {
    // MARK: What the loop reports

    func ready(_ events: Readiness) {
        let (waiters, gone, broken) = state.withLock { state in
            let broken = events.contains(.broken) || !events.isDisjoint(with: .broken)
            let ended = broken || events.contains(.peerEnded)
            if ended || events.contains(.readable) { state.readBlocked = false }
            if broken || events.contains(.writable) { state.writeBlocked = false }
            state.broken = state.broken || broken
            let first = ended && !state.peerEnded || broken
            state.peerEnded = state.peerEnded || ended
            var waiters: [Waiter] = []
            if let waiter = state.reader, !Self.isBlocked(state, waiter.side) {
                waiters.append(waiter)
                state.reader = nil
            }
            if let waiter = state.writer, !Self.isBlocked(state, waiter.side) {
                waiters.append(waiter)
                state.writer = nil
            }
            return (waiters, first ? state.peerGone : nil, broken)
        }
        for waiter in waiters { waiter.continuation.resume(returning: .ready) }
        gone?(broken)
    }

    func expire(at now: Deadline) -> Deadline {
        let (waiters, next) = state.withLock { state in
            var waiters: [Waiter] = []
            if let waiter = state.reader, waiter.deadline <= now {
                waiters.append(waiter)
                state.reader = nil
            }
            if let waiter = state.writer, waiter.deadline <= now {
                waiters.append(waiter)
                state.writer = nil
            }
            return (waiters, min(state.reader?.deadline ?? .never, state.writer?.deadline ?? .never))
        }
        for waiter in waiters { waiter.continuation.resume(returning: .deadline) }
        return next
    }

    func loopEnded() { closeNow() }

    private static func isBlocked(_ state: State, _ side: Readiness) -> Bool {
        side == .readable ? state.readBlocked : state.writeBlocked
    }

    // MARK: Waiting

    func waitToRead(_ side: Readiness, until deadline: Deadline) async throws {
        let wake = await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Wake, Never>) in
                let waiter = Waiter(continuation: continuation, deadline: deadline, side: side)
                arm(waiter, cancellable: true, { $0.reader }, { $0.reader = $1 })
            }
        } onCancel: {
            state.withLock { $0.reader.take() }?.continuation.resume(returning: .cancelled)
        }
        try check(wake)
    }

    func waitToWrite(_ side: Readiness, until deadline: Deadline, cancellable: Bool) async throws {
        guard cancellable else { return try check(await armWriter(side, deadline, cancellable: false)) }
        let wake = await withTaskCancellationHandler {
            await armWriter(side, deadline, cancellable: true)
        } onCancel: {
            state.withLock { $0.writer.take() }?.continuation.resume(returning: .cancelled)
        }
        try check(wake)
    }

    private func armWriter(_ side: Readiness, _ deadline: Deadline, cancellable: Bool) async -> Wake {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Wake, Never>) in
            let waiter = Waiter(continuation: continuation, deadline: deadline, side: side)
            arm(waiter, cancellable: cancellable, { $0.writer }, { $0.writer = $1 })
        }
    }

    /// Puts a waiter in place unless its reason to wait is already gone.
    private func arm(
        _ waiter: Waiter, cancellable: Bool, _ get: (State) -> Waiter?, _ set: (inout State, Waiter) -> Void
    ) {
        let wake = state.withLock { state -> Wake? in
            // A second reader (or writer) would steal the first one's wake-up; it is told so instead.
            guard state.descriptor >= 0, get(state) == nil else { return .closed }
            if cancellable, Task.isCancelled { return .cancelled }
            guard Self.isBlocked(state, waiter.side) else { return .ready }
            set(&state, waiter)
            return nil
        }
        if let wake { waiter.continuation.resume(returning: wake) } else { loop.note(waiter.deadline) }
    }

    private func check(_ wake: Wake) throws {
        switch wake {
        case .ready: return
        case .cancelled: throw CancellationError()
        case .deadline: throw NacreError("socket.timeout", "The other side was silent or slow for too long.")
        case .closed: throw Self.closedError
        }
    }

    static var closedError: NacreError { NacreError("socket.closed", "The connection was closed on this side.") }

    // MARK: The kernel

    enum Received {
        case bytes([UInt8])
        case end
        case wait(Readiness)
    }

    enum Sent {
        case sent(Int)
        case wait(Readiness)
    }

    func receive(_ state: inout State, _ limit: Int, peek: Bool) throws(NacreError) -> Received {
        guard state.descriptor >= 0 else { throw Self.closedError }
        if state.readBlocked { return .wait(.readable) }
        if let tls = state.tls {
            guard !peek else { throw NacreError("socket.peek", "A TLS socket cannot be peeked at.") }
            let result = try tls.receive(limit)
            if case .wait(let side) = result { block(&state, side) }
            return result
        }
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, used in
            repeat {
                count = nacre_receive(state.descriptor, buffer.baseAddress, limit, peek ? 1 : 0)
            } while count < 0
                && nacre_errno() == EINTR
            used = max(0, count)
        }
        guard count < 0 else {
            // A short read has emptied the kernel's buffer; the end still has to be fetched when it was announced.
            if !peek, count < limit, !state.peerEnded, count > 0 { state.readBlocked = true }
            if count == 0 { return .end }
            return .bytes(count * 4 < limit ? Array(bytes[...]) : bytes)
        }
        guard nacre_errno() == EAGAIN || nacre_errno() == EWOULDBLOCK else { throw Self.failure(nacre_errno()) }
        state.readBlocked = true
        return .wait(.readable)
    }

    func send(_ state: inout State, _ bytes: [UInt8], from start: Int) throws(NacreError) -> Sent {
        guard state.descriptor >= 0, !state.sendingEnded else { throw Self.closedError }
        if state.writeBlocked { return .wait(.writable) }
        if let tls = state.tls {
            let result = try tls.send(bytes, from: start)
            if case .wait(let side) = result { block(&state, side) }
            return result
        }
        var count = 0
        bytes.withUnsafeBytes { buffer in
            let rest = UnsafeRawBufferPointer(rebasing: buffer[start...])
            repeat {
                count = nacre_send(state.descriptor, rest.baseAddress, rest.count)
            } while count < 0 && nacre_errno() == EINTR
        }
        guard count < 0 else { return .sent(count) }
        guard nacre_errno() == EAGAIN || nacre_errno() == EWOULDBLOCK else { throw Self.failure(nacre_errno()) }
        state.writeBlocked = true
        return .wait(.writable)
    }

    private func block(_ state: inout State, _ side: Readiness) {
        if side == .readable { state.readBlocked = true } else { state.writeBlocked = true }
    }

    static func failure(_ code: Int32) -> NacreError {
        code == ECONNRESET || code == EPIPE
            ? NacreError("socket.peer_gone", "The other side has left.")
            : NacreError("socket.failed", "The connection failed: \(systemMessage(code)).")
    }
}
