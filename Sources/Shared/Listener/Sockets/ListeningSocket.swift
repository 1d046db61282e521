// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
import NacreCore
import Synchronization

/// A bound port whose connections are handed to a closure on the loop's thread.
final class ListeningSocket: EventTarget, Sendable {
    private struct State {
        var descriptor: Int32
        var token: UInt64 = 0
        /// Held back so that a connection can still be taken and closed when descriptors run out.
        var spare: Int32
    }

    /// The port that was bound.
    let port: Int
    private let loop: EventLoop
    private let state: Mutex<State>
    private let accepted: @Sendable (_ descriptor: Int32, _ peer: SocketAddress?) -> Void
    private let exhausted: @Sendable () -> Void

    /// Binds the first address of `host` that can be bound.
    ///
    /// - Throws: `listener.bind`, which names host and port and says what to do.
    static func bind(
        host: String, port: Int, on loop: EventLoop,
        accepted: @escaping @Sendable (_ descriptor: Int32, _ peer: SocketAddress?) -> Void,
        exhausted: @escaping @Sendable () -> Void
    ) async throws(NacreError) -> ListeningSocket {
        var problem: Int32 = EADDRNOTAVAIL
        for address in try await SocketAddress.resolve(host: host, port: port, passive: true) {
            let descriptor = nacre_stream_socket(address.family)
            guard descriptor >= 0 else {
                problem = nacre_errno()
                continue
            }
            _ = nacre_reuse_address(descriptor)
            if address.family == AF_INET6 { _ = nacre_only_ipv6(descriptor) }
            let bound = address.withSockaddr { nacre_bind(descriptor, $0, $1) }
            if bound == 0, listen(descriptor, 1024) == 0 {
                return try ListeningSocket(descriptor, on: loop, accepted: accepted, exhausted: exhausted)
            }
            problem = nacre_errno()
            nacre_close(descriptor)
        }
        throw Self.bindError(host, port, problem)
    }

    /// Takes a socket over that listens already (socket activation: no connection is refused while the program restarts).
    ///
    /// - Throws: `listener.inherited` when the descriptor is no listening TCP socket.
    static func adopt(
        _ descriptor: Int32, on loop: EventLoop,
        accepted: @escaping @Sendable (_ descriptor: Int32, _ peer: SocketAddress?) -> Void,
        exhausted: @escaping @Sendable () -> Void
    ) throws(NacreError) -> ListeningSocket {
        guard nacre_is_listening(descriptor) != 0 else {  // guard: listener-inherited
            throw NacreError(
                "listener.inherited",
                "Descriptor \(descriptor) from the service manager is no listening TCP socket; "
                    + "write ListenStream= with a port into the socket unit.")
        }
        _ = nacre_close_on_exec(descriptor)
        _ = nacre_set_nonblocking(descriptor)
        return try ListeningSocket(descriptor, on: loop, accepted: accepted, exhausted: exhausted)
    }

    private static func bindError(_ host: String, _ port: Int, _ code: Int32) -> NacreError {
        switch code {
        case EADDRINUSE:
            NacreError(
                "listener.bind",
                "Port \(port) on \(host) is taken; stop its owner (ss -ltnp 'sport = :\(port)' names it) "
                    + "or set another port.")
        case EACCES:
            NacreError("listener.bind", "Port \(port) on \(host) needs privileges; set a port above 1023.")
        case EADDRNOTAVAIL:
            NacreError("listener.bind", "\(host) is no address of this machine; set 127.0.0.1 or one that it has.")
        default:
            NacreError("listener.bind", "Port \(port) on \(host) cannot be bound: \(systemMessage(code)).")
        }
    }

    private init(
        _ descriptor: Int32, on loop: EventLoop,
        accepted: @escaping @Sendable (_ descriptor: Int32, _ peer: SocketAddress?) -> Void,
        exhausted: @escaping @Sendable () -> Void
    ) throws(NacreError) {
        self.loop = loop
        self.accepted = accepted
        self.exhausted = exhausted
        port = SocketAddress.local(of: descriptor)?.port ?? 0
        state = Mutex(State(descriptor: descriptor, spare: nacre_open_null()))
        do throws(NacreError) {
            let token = try loop.watch(descriptor, [.readable], target: self, edge: false)
            state.withLock { $0.token = token }
        } catch {
            closeNow()
            throw error
        }
    }

    deinit { closeNow() }

    func ready(_ events: Readiness) {
        for _ in 0..<64 {  // the rest is reported again: other sockets get their turn
            var address = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let (descriptor, code) = state.withLock { state in
                guard state.descriptor >= 0 else { return (Int32(-1), EAGAIN) }
                let descriptor = nacre_accept(state.descriptor, &address, &length)
                return (descriptor, nacre_errno())
            }
            if descriptor >= 0 {
                accepted(descriptor, Self.peer(&address, length))
            } else if code == EMFILE || code == ENFILE {
                refuseOne()
                exhausted()
                return
            } else if code != EINTR && code != ECONNABORTED {
                return
            }
        }
    }

    private static func peer(_ address: inout sockaddr_storage, _ length: socklen_t) -> SocketAddress? {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { SocketAddress($0, length: length) }
        }
    }

    /// Without descriptors a waiting connection would be reported for ever and the thread would spin.
    private func refuseOne() {
        state.withLock { state in
            if state.spare >= 0 { nacre_close(state.spare) }
            var address = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let descriptor = nacre_accept(state.descriptor, &address, &length)
            if descriptor >= 0 { nacre_close(descriptor) }
            state.spare = nacre_open_null()
        }
    }

    func expire(at now: Deadline) -> Deadline { .never }

    func loopEnded() { closeNow() }

    /// Stops listening.
    func closeNow() {
        state.withLock { state in
            if state.spare >= 0 { nacre_close(state.spare) }
            state.spare = -1
            guard state.descriptor >= 0 else { return }
            if state.token != 0 { loop.forget(state.token, descriptor: state.descriptor) }
            nacre_close(state.descriptor)
            state.descriptor = -1
        }
    }
}
