// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
package import NacreCore
import Synchronization

/// Accepts plain TCP connections and runs a task for each, on the loops it is given.
package final class SocketAcceptor: Sendable {
    private struct State {
        var listening: ListeningSocket?
        var sockets: [ObjectIdentifier: (socket: LoopSocket, task: Task<Void, Never>?)] = [:]
        var stopped = false
    }

    private let loops: EventLoops
    private let host: String
    private let wantedPort: Int
    private let limit: Int
    private let handler: @Sendable (LoopSocket) async -> Void
    private let state = Mutex(State())

    /// An acceptor for `host`:`port` (0 takes a free one) with at most `limit` connections at once.
    ///
    /// `handler` runs on the socket's loop. When it returns, the socket is closed unless it was given away.
    package init(
        host: String = "127.0.0.1", port: Int = 0, loops: EventLoops, limit: Int = 1024,
        handler: @escaping @Sendable (LoopSocket) async -> Void
    ) {
        self.loops = loops
        self.host = host
        self.wantedPort = port
        self.limit = limit
        self.handler = handler
    }

    /// Binds, and returns the port.
    ///
    /// - Throws: `listener.bind`, which names host and port.
    package func start() async throws(NacreError) -> Int {
        let listening = try await ListeningSocket.bind(
            host: host, port: wantedPort, on: loops.next(),
            accepted: { [weak self] descriptor, peer in
                guard let self else {
                    nacre_close(descriptor)
                    return
                }
                self.accept(descriptor, peer)
            }, exhausted: {})
        let late = state.withLock { state in
            if !state.stopped { state.listening = listening }
            return state.stopped
        }
        if late { listening.closeNow() }
        return listening.port
    }

    /// Stops listening, cancels the handlers and closes their sockets. Sockets given away are not touched.
    package func stop() {
        let (listening, sockets) = state.withLock { state in
            state.stopped = true
            return (state.listening.take(), Array(state.sockets.values))
        }
        listening?.closeNow()
        for entry in sockets {
            entry.task?.cancel()
            entry.socket.closeNow()
        }
    }

    private func accept(_ descriptor: Int32, _ peer: SocketAddress?) {
        let loop = loops.next()
        guard let socket = try? LoopSocket(owning: descriptor, peer: peer, loop: loop) else { return }
        let id = ObjectIdentifier(socket)
        let taken = state.withLock { state in
            guard !state.stopped, state.sockets.count < limit else { return false }
            state.sockets[id] = (socket, nil)
            return true
        }
        guard taken else { return socket.closeNow() }
        let task = loop.spawn {
            await self.handler(socket)
            socket.closeNow()
            self.state.withLock { $0.sockets[id] = nil }
        }
        let late = state.withLock { state in
            state.sockets[id]?.task = task
            return state.stopped
        }
        if late { task.cancel() }
    }
}
