// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting
import NacreSessions
import Synchronization

/// WebSockets and event streams that are open: counted per session (or client network), closed when their session ends or
/// when the server stops.
package final class LiveConnections: Sendable {
    private struct State {
        var counts: [String: Int] = [:]
        var open: [ObjectIdentifier: LiveConnection] = [:]
    }

    private let events: SessionEvents
    private let limit: Int
    private let state = Mutex(State())

    init(events: SessionEvents, limit: Int) {
        self.events = events
        self.limit = limit
    }

    /// One more; nil when there are as many as there may be. `session` is the one whose end closes it.
    func begin(owner: String, session: Session?) -> LiveConnection? {
        let fits = state.withLock { state in
            let count = state.counts[owner, default: 0]
            guard count < limit else { return false }  // guard: live-limit
            state.counts[owner] = count + 1
            return true
        }
        guard fits else { return nil }
        let connection = LiveConnection { [weak self] in self?.ended($0, owner) }
        state.withLock { $0.open[ObjectIdentifier(connection)] = connection }
        if let session {
            connection.keep(events.onEnd(of: session.id) { [weak connection] in connection?.close($0.reason) })
        }
        return connection
    }

    private func ended(_ id: ObjectIdentifier, _ owner: String) {
        state.withLock { state in
            guard state.open.removeValue(forKey: id) != nil else { return }
            let count = state.counts[owner, default: 1] - 1
            state.counts[owner] = count > 0 ? count : nil
        }
    }

    /// How many are open.
    package var count: Int { state.withLock { $0.open.count } }

    /// Closes all of them.
    package func closeAll(_ reason: String) {
        let all = state.withLock { Array($0.open.values) }
        for connection in all { connection.close(reason) }
    }

    /// The answer to one too many.
    static var refusal: HTTPResponse {
        var response = HTTPResponse.failure(
            .tooManyRequests, code: "live.too_many",
            message: "There are too many open WebSockets and event streams of this session; close some first.")
        response.fields["Retry-After"] = "10"
        return response
    }
}

/// One open connection: what closes it, and its end.
final class LiveConnection: Sendable {
    private struct State {
        var watch: SessionWatch?
        var close: (@Sendable () -> Void)?
        var reason: String?
        var hasEnded = false
    }

    private let state = Mutex(State())
    private let ended: @Sendable (ObjectIdentifier) -> Void

    init(ended: @escaping @Sendable (ObjectIdentifier) -> Void) { self.ended = ended }

    func keep(_ watch: SessionWatch) { state.withLock { $0.watch = watch } }

    /// Calls `action` when it is to be closed, at once when it is so already. It must not wait.
    func onClose(_ action: @escaping @Sendable () -> Void) {
        let late = state.withLock { state in
            guard state.reason == nil else { return true }
            state.close = action
            return false
        }
        if late { action() }
    }

    func close(_ reason: String) {
        let action = state.withLock { state in
            if state.reason == nil { state.reason = reason }
            return state.close.take()
        }
        action?()
    }

    /// Why it was closed from this side.
    var reason: String? { state.withLock { $0.reason } }

    /// It is over, whoever ended it. Harmless when repeated.
    func end() {
        let watch = state.withLock { state -> SessionWatch? in
            state.hasEnded = true
            state.close = nil
            return state.watch.take()
        }
        watch?.cancel()
        ended(ObjectIdentifier(self))
    }
}

/// Ends its connection when the last reference goes: whoever drops an answer unread ends it too.
final class LiveConnectionHolder: Sendable {
    let connection: LiveConnection
    init(_ connection: LiveConnection) { self.connection = connection }
    deinit { connection.end() }
}
