// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
public import NacreCore
public import NacreRouting
import Synchronization

/// Serves HTTP/1.1 over TCP, plain or with TLS, on event loops of its own.
///
/// A handler runs on a loop's thread: it must not block. Its task is cancelled when its client leaves.
public final class HTTPListener: Sendable {
    private struct State {
        var loops: EventLoops?
        var listening: ListeningSocket?
        var stopped = false
    }

    private let configuration: ListenerConfiguration
    private let service: Service
    private let ownsLoops: Bool
    private let state: Mutex<State>

    /// A listener that hands every request to `responder`.
    public init(configuration: ListenerConfiguration, responder: any HTTPResponder, log: Log) {
        self.configuration = configuration
        service = Service(configuration: configuration, responder: responder, log: log)
        ownsLoops = true
        state = Mutex(State())
    }

    /// A listener on loops that it shares with others; whoever made them stops them.
    package init(configuration: ListenerConfiguration, responder: any HTTPResponder, log: Log, loops: EventLoops) {
        self.configuration = configuration
        service = Service(configuration: configuration, responder: responder, log: log)
        ownsLoops = false
        state = Mutex(State(loops: loops))
    }

    deinit {
        let state = state.withLock { $0 }
        state.listening?.closeNow()
        if ownsLoops { state.loops?.stop() }
    }

    /// Binds and begins to accept.
    ///
    /// - Returns: the bound port; 0 for a listener that listens nowhere.
    /// - Throws: `listener.bind`, which names host and port and what to do; `listener.inherited`; `listener.no_descriptors`.
    public func start() async throws -> Int {
        let loops = try currentLoops()
        let (service, tls) = (service, configuration.tls)
        let accepted = { @Sendable (descriptor: Int32, peer: SocketAddress?) in
            Self.accept(descriptor, peer: peer, tls: tls, loops: loops, service: service)
        }
        let exhausted = { @Sendable in
            service.log.error("listener.no_descriptors", ["remedy": "raise the limit (ulimit -n)"])
        }
        let listening: ListeningSocket
        if let descriptor = configuration.inherited {
            listening = try .adopt(descriptor, on: loops.next(), accepted: accepted, exhausted: exhausted)
        } else {
            guard let port = configuration.port else { return 0 }
            listening = try await .bind(
                host: configuration.host, port: port, on: loops.next(), accepted: accepted, exhausted: exhausted)
        }
        let late = state.withLock { state in
            if !state.stopped { state.listening = listening }
            return state.stopped
        }
        if late { listening.closeNow() }
        service.log.info(
            "listener.started", ["host": .string(configuration.host), "port": .integer(Int64(listening.port))])
        return listening.port
    }

    /// Serves a connection that is already there. The descriptor is this listener's from now on, whatever happens.
    package func adopt(descriptor: Int32, tls: TLSServerIdentity?, attributes: ConnectionAttributes?) {
        guard !state.withLock({ $0.stopped }), let loops = try? currentLoops() else {
            nacre_close(descriptor)
            return
        }
        _ = nacre_set_nonblocking(descriptor)
        Self.accept(
            descriptor, peer: .peer(of: descriptor), tls: tls, loops: loops, service: service, attributes: attributes)
    }

    /// Stops accepting, ends idle connections, gives the others `grace` to finish, then cancels their handlers and closes.
    ///
    /// No descriptor is left open when it returns. A handler that ignores its cancellation is logged and left behind.
    public func stop(grace: Duration) async {
        let (listening, loops) = state.withLock { state in
            state.stopped = true
            return (state.listening.take(), ownsLoops ? state.loops.take() : nil)
        }
        listening?.closeNow()
        await service.drain(grace: grace)
        loops?.stop()
    }

    private func currentLoops() throws(NacreError) -> EventLoops {
        try state.withLock { state throws(NacreError) in
            if let loops = state.loops { return loops }
            guard !state.stopped else { throw NacreError("listener.stopped", "The listener has been stopped.") }
            let loops = try EventLoops(count: configuration.loops)
            state.loops = loops
            return loops
        }
    }

    private static func accept(
        _ descriptor: Int32, peer: SocketAddress?, tls: TLSServerIdentity?, loops: EventLoops, service: Service,
        attributes: ConnectionAttributes? = nil
    ) {
        if let fullness = service.fullness(for: peer) {
            refuse(descriptor, isTLS: tls != nil, fullness)
            return service.sayFull(fullness)
        }
        do {
            let socket = try LoopSocket(owning: descriptor, peer: peer, loop: loops.next(), tls: tls?.context)
            service.take(socket, isTLS: tls != nil, attributes: attributes)
        } catch {
            service.log.error("listener.connection_lost", ["why": .string("\(error)")])
        }
    }

    /// One try, since nothing may wait here; a TLS client sees only the end.
    private static func refuse(_ descriptor: Int32, isTLS: Bool, _ fullness: Service.Fullness) {
        if !isTLS {
            let status = fullness == .client ? "429 Too Many Requests" : "503 Service Unavailable"
            let answer = Array(
                "HTTP/1.1 \(status)\r\nConnection: close\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n".utf8)
            _ = nacre_send(descriptor, answer, answer.count)
        }
        nacre_close(descriptor)
    }
}
