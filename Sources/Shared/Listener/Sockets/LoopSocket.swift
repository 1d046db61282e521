// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
package import NacreCore
import NacreHTTP
import Synchronization

/// A connected TCP socket on an event loop, with or without TLS, as bytes both ways.
///
/// One task may read and one may write at a time, from any executor. A socket nobody holds any more closes itself.
package final class LoopSocket: DuplexStream, EventTarget, Sendable {
    /// What ended a wait.
    enum Wake: Sendable {
        case ready, deadline, cancelled, closed
    }

    struct Waiter {
        let continuation: UnsafeContinuation<Wake, Never>
        let deadline: Deadline
        let side: Readiness
    }

    struct State {
        /// -1 once closed or given away.
        var descriptor: Int32
        var token: UInt64 = 0
        /// The kernel said "again" and has not reported since.
        var readBlocked = false
        var writeBlocked = false
        var peerEnded = false
        var broken = false
        var sendingEnded = false
        var reader: Waiter?
        var writer: Waiter?
        var tls: TLSSession?
        var peerGone: (@Sendable (_ broken: Bool) -> Void)?
    }

    /// The loop that watches it.
    package let loop: EventLoop
    /// The numeric address of the other end.
    package let peer: SocketAddress?
    let state: Mutex<State>

    /// Takes over a connected, non-blocking descriptor, also when it throws.
    init(owning descriptor: Int32, peer: SocketAddress?, loop: EventLoop, tls: TLSContext? = nil) throws(NacreError) {
        self.loop = loop
        self.peer = peer
        state = Mutex(State(descriptor: descriptor))
        nacre_no_delay(descriptor)
        nacre_keep_alive(descriptor)
        if let tls {
            let made = state.withLock { state in
                state.tls = tls.session(descriptor)
                return state.tls != nil
            }
            guard made else {
                closeNow()
                throw NacreError("tls.session", "OpenSSL cannot start a session: \(TLSContext.lastError()).")
            }
        }
        do throws(NacreError) {
            let token = try loop.watch(descriptor, [.readable, .writable, .peerEnded], target: self)
            state.withLock { $0.token = token }
        } catch {
            closeNow()
            throw error
        }
    }

    /// Takes over an accepted or connected TCP socket.
    ///
    /// - Throws: `listener.watch` when the system refuses; the descriptor is closed then.
    package convenience init(adopting descriptor: Int32, on loop: EventLoop) throws(NacreError) {
        _ = nacre_set_nonblocking(descriptor)
        try self.init(owning: descriptor, peer: .peer(of: descriptor), loop: loop)
    }

    deinit { closeNow() }

    // MARK: Reading

    package func read() async throws -> [UInt8]? { try await read(upTo: 65_536, until: .never) }

    /// The next bytes, at most `limit`; nil when the other side has ended its half.
    ///
    /// - Throws: `socket.timeout` at the deadline, `socket.peer_gone` after a reset, `socket.closed` after `close`,
    ///   `CancellationError` when the task is cancelled.
    package func read(upTo limit: Int, until deadline: Deadline) async throws -> [UInt8]? {
        while true {
            switch try state.withLock({ state throws(NacreError) in try receive(&state, limit, peek: false) }) {
            case .bytes(let bytes): return bytes
            case .end: return nil
            case .wait(let side): try await waitToRead(side, until: deadline)
            }
        }
    }

    /// The bytes that stand ready without taking them: waits until there are more than `count`, or the end.
    ///
    /// Only without TLS; at most 64 KiB are seen.
    package func peek(beyond count: Int, until deadline: Deadline = .never) async throws -> [UInt8] {
        while true {
            let result = try state.withLock { state throws(NacreError) -> Received in
                let result = try receive(&state, 65_536, peek: true)
                guard case .bytes(let bytes) = result, bytes.count <= count, !state.peerEnded else { return result }
                // Bytes left unread make no edge of their own: only what comes after them does. Said under the lock of
                // the look itself, or the edge in between would be lost.
                state.readBlocked = true
                return .wait(.readable)
            }
            switch result {
            case .bytes(let bytes): return bytes
            case .end: return []
            case .wait(let side): try await waitToRead(side, until: deadline)
            }
        }
    }

    /// Waits until bytes or the end can be read.
    func waitUntilReadable(until deadline: Deadline) async throws {
        let ready = state.withLock { !$0.readBlocked }
        if !ready { try await waitToRead(.readable, until: deadline) }
    }

    // MARK: Writing

    package func write(_ bytes: [UInt8]) async throws {
        try await write(bytes, stall: .seconds(3600 * 24), cancellable: true)
    }

    /// Sends all bytes; fails when none could be sent for `stall`, or when they go more slowly than `meter` allows.
    func write(_ bytes: [UInt8], stall: Duration, meter: PaceMeter? = nil, cancellable: Bool) async throws {
        var sent = 0
        while sent < bytes.count {
            switch try state.withLock({ state throws(NacreError) in try send(&state, bytes, from: sent) }) {
            case .sent(let count):
                sent += count
                meter?.moved(count)
            case .wait(let side):
                let start = Deadline.now
                let end = meter?.deadline(start, stall: stall) ?? start.advanced(by: stall)
                try await waitToWrite(side, until: end, cancellable: cancellable)
                meter?.waited(since: start)
            }
        }
    }

    package func finishWriting() async throws { endSending() }

    /// Ends our half: close_notify where there is TLS, then FIN. Never waits.
    func endSending() {
        state.withLock { state in
            guard state.descriptor >= 0, !state.sendingEnded else { return }
            state.sendingEnded = true
            state.tls?.notifyClose()
            shutdown(state.descriptor, Int32(SHUT_WR))
        }
    }

    package func close() async { closeNow() }

    // MARK: Life

    /// Closes both halves at once; waiting reads and writes fail with `socket.closed`.
    package func closeNow() {
        let (waiters, _) = release(close: true)
        for waiter in waiters { waiter.continuation.resume(returning: .closed) }
    }

    /// Closes it so that the other end sees it break: half an answer is then not taken for the whole, as some clients do
    /// where a chunked body simply ends.
    package func breakNow() {
        state.withLock { state in
            guard state.descriptor >= 0 else { return }
            state.broken = true
            nacre_reset_on_close(state.descriptor)
        }
        closeNow()
    }

    /// Gives the descriptor away (to a listener that adopts it); this object is closed afterwards.
    package func detach() -> Int32? {
        let (waiters, descriptor) = release(close: false)
        for waiter in waiters { waiter.continuation.resume(returning: .closed) }
        return descriptor
    }

    /// Calls `handler` once, on the loop, when the peer ends its half or breaks; at once if it already has.
    func onPeerGone(_ handler: @escaping @Sendable (_ broken: Bool) -> Void) {
        let already = state.withLock { state -> Bool? in
            state.peerGone = handler
            return state.broken ? true : state.peerEnded ? false : nil
        }
        if let already { handler(already) }
    }

    /// Calls nobody any more when the peer leaves.
    func forgetPeerGone() { state.withLock { $0.peerGone = nil } }

    /// Whether the other side has neither said anything nor left, by the kernel's own word: what a kept connection must
    /// be before it is used again.
    var isQuiet: Bool {
        state.withLock { state in
            guard state.descriptor >= 0, !state.peerEnded, !state.broken else { return false }
            // Under TLS it may be a late session ticket: then a new connection is made for nothing.
            var byte: UInt8 = 0
            return nacre_receive(state.descriptor, &byte, 1, 1) < 0
                && (nacre_errno() == EAGAIN || nacre_errno() == EWOULDBLOCK)
        }
    }

    /// Whether the peer has ended its half.
    var peerHasEnded: Bool { state.withLock { $0.peerEnded || $0.broken } }

    private func release(close closing: Bool) -> (waiters: [Waiter], descriptor: Int32?) {
        state.withLock { state in
            guard state.descriptor >= 0 else { return ([], nil) }
            let descriptor = state.descriptor
            state.descriptor = -1
            if closing, !state.sendingEnded, !state.broken { state.tls?.notifyClose() }
            state.tls = nil
            state.peerGone = nil
            if state.token != 0 { loop.forget(state.token, descriptor: descriptor) }
            if closing { nacre_close(descriptor) }
            let waiters = [state.reader.take(), state.writer.take()].compactMap { $0 }
            return (waiters, closing ? nil : descriptor)
        }
    }
}
