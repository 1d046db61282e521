// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting
import NacreSessions
import Synchronization

/// WebSockets and event streams that are open: counted per session (or client network), closed when their session ends or
/// when the server stops, and asked about at the moments at which a request would be (HO-13).
package final class LiveConnections: Sendable {
    /// Why a connection is closed when it is not its session's end.
    static let stopping = "stopping"
    static let idle = "idle"

    private struct State {
        var counts: [String: Int] = [:]
        var open: [ObjectIdentifier: LiveConnection] = [:]
        /// The sessions of those that are open.
        var sessions: [String: Watched] = [:]
    }

    /// What is known of a session that has connections open.
    private struct Watched {
        let presentation: SessionPresentation
        var connections: Set<ObjectIdentifier>
        /// When it ends, used or not.
        let expiresAt: Instant
        /// When it has to be looked at again.
        var dueAt: Instant
    }

    private let events: SessionEvents
    private let limit: Int
    /// How long after a look that told nothing new the next one follows.
    private let retry: Duration
    private let state = Mutex(State())

    init(events: SessionEvents, limit: Int, retry: Duration = .seconds(60)) {
        self.events = events
        self.limit = limit
        self.retry = retry
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
        let connection = LiveConnection { [weak self] in self?.ended($0, owner, session?.id) }
        state.withLock { state in
            let id = ObjectIdentifier(connection)
            state.open[id] = connection
            guard let session else { return }
            let new = Watched(
                presentation: session.presentation, connections: [], expiresAt: session.expiresAt,
                dueAt: Self.nextLook(at: session))
            state.sessions[session.id, default: new].connections.insert(id)
        }
        if let session {
            connection.keep(events.onEnd(of: session.id) { [weak connection] in connection?.close($0.reason) })
        }
        return connection
    }

    private func ended(_ id: ObjectIdentifier, _ owner: String, _ session: String?) {
        state.withLock { state in
            guard state.open.removeValue(forKey: id) != nil else { return }
            let count = state.counts[owner, default: 1] - 1
            state.counts[owner] = count > 0 ? count : nil
            guard let session else { return }
            state.sessions[session]?.connections.remove(id)
            if state.sessions[session]?.connections.isEmpty == true { state.sessions[session] = nil }
        }
    }

    // MARK: Looking again

    private static func nextLook(at session: Session) -> Instant {
        min(session.revalidateAt, session.idleExpiresAt, session.expiresAt)  // guard: live-due
    }

    /// Looks at the sessions that are due, as a request of theirs would, and closes what is open for those that are over.
    func look(
        now: Instant, _ check: @escaping @Sendable (String, SessionPresentation) async throws -> SessionCheck
    ) async {
        let due = state.withLock { $0.sessions.filter { $0.value.dueAt <= now } }
        guard !due.isEmpty else { return }
        await withTaskGroup(of: Void.self) { group in
            // A few at a time: after a night many are due at once, and each may ask the provider.
            for (number, (id, watched)) in due.enumerated() {
                if number >= 8 { await group.next() }
                group.addTask { await self.look(at: id, watched, now, check) }
            }
        }
    }

    private func look(
        at id: String, _ watched: Watched, _ now: Instant,
        _ check: @Sendable (String, SessionPresentation) async throws -> SessionCheck
    ) async {
        guard now < watched.expiresAt else { return close(id, "expired") }  // guard: live-absolute
        do {
            switch try await check(id, watched.presentation) {
            case .valid(let session, _):
                // While the provider cannot be asked, the moment has passed but the session lives (its grace).
                let next = Self.nextLook(at: session)
                postpone(id, next > now ? next : now + retry)
            case .absent: close(id, "expired")  // guard: live-absent
            case .ended(let reason): close(id, reason)
            }
        } catch {
            // A database that does not answer signs nobody out.
            postpone(id, now + retry)
        }
    }

    private func postpone(_ id: String, _ moment: Instant) { state.withLock { $0.sessions[id]?.dueAt = moment } }

    private func close(_ session: String, _ reason: String) {
        let due = state.withLock { state in
            (state.sessions[session]?.connections ?? []).compactMap { state.open[$0] }
        }
        for connection in due { connection.close(reason) }
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
