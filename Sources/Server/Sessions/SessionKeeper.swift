// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// What a presented handle is worth.
package enum SessionCheck: Sendable {
    /// A session; `renewsCookie` when the window slid and the cookie's age should follow.
    case valid(Session, renewsCookie: Bool)
    /// No session of that handle: never was, expired, or ended.
    case absent
    /// The session ended just now, for this reason, such as `invalid_grant`.
    case ended(reason: String)
}

/// Checks handles: slides the window, and asks the method again when it is time, once at a time per session (HO-13).
package actor SessionKeeper {
    private let store: SessionStore
    private let methods: [String: any AuthenticationMethod]
    private let time: any TimeSource
    private let log: Log
    private var running: [String: Task<SessionCheck, any Error>] = [:]
    private var failedAt: [String: Instant] = [:]

    package init(store: SessionStore, methods: [any AuthenticationMethod], time: any TimeSource, log: Log) {
        self.store = store
        self.methods = Dictionary(uniqueKeysWithValues: methods.map { ($0.name, $0) })
        self.time = time
        self.log = log
    }

    /// What this handle is worth now.
    package nonisolated func check(_ handle: String) async throws -> SessionCheck {
        guard let session = try await store.find(handle: handle) else { return .absent }
        let now = time.now
        if now >= session.revalidateAt { return try await revalidated(session, handle: handle) }
        guard now - session.lastSeenAt >= store.policy.touchInterval else {
            return .valid(session, renewsCookie: false)
        }
        try await store.touch(session.id)
        return .valid(session, renewsCookie: true)
    }

    /// Every caller of one session waits for the same attempt, so that a rotated refresh token is used once.
    private func revalidated(_ session: Session, handle: String) async throws -> SessionCheck {
        if let task = running[session.id] { return try await task.value }
        if let failed = failedAt[session.id], time.now - failed < store.policy.retryInterval {
            return try await withinGrace(session)
        }
        let task = Task { try await self.revalidate(session.id, handle: handle) }
        running[session.id] = task
        defer { running[session.id] = nil }
        return try await task.value
    }

    private func revalidate(_ id: String, handle: String) async throws -> SessionCheck {
        // Read again: an attempt that just ended may have renewed it while this one waited for its turn.
        guard let session = try await store.find(handle: handle), session.id == id else { return .absent }
        guard time.now >= session.revalidateAt else { return .valid(session, renewsCookie: false) }
        guard let method = methods[session.method] else {
            try await store.end(id)
            return .ended(reason: "method_removed")
        }
        switch await method.revalidate(session) {
        case .renewed(let authentication):
            failedAt[id] = nil
            guard authentication.issuer == session.issuer, authentication.subject == session.subject else {
                try await store.end(id)
                log.warning("session.other_person", ["session": .string(id)])
                return .ended(reason: "other_person")
            }
            guard try await store.renew(id, authentication), let renewed = try await store.find(handle: handle) else {
                return .absent
            }
            try await store.touch(id)
            log.info("session.revalidated", ["session": .string(id)])
            return .valid(renewed, renewsCookie: true)
        case .refused(let reason):
            failedAt[id] = nil
            try await store.end(id)
            log.notice("session.refused", ["session": .string(id), "reason": .string(reason)])
            return .ended(reason: reason)
        case .unreachable(let error):
            // Sessions that ended otherwise leave their entry behind; nobody asks for it any more.
            if failedAt.count > 10_000 {
                failedAt = failedAt.filter { time.now - $0.value < store.policy.retryInterval }
            }
            failedAt[id] = time.now
            log.warning(
                "session.not_revalidated",
                [
                    "session": .string(id), "error": .string(error.description),
                    "grace_until": JSONValue((session.revalidateAt + store.policy.grace).milliseconds),
                ])
            return try await withinGrace(session)
        }
    }

    private func withinGrace(_ session: Session) async throws -> SessionCheck {
        guard time.now < session.revalidateAt + store.policy.grace else {  // guard: session-grace
            failedAt[session.id] = nil
            try await store.end(session.id)
            return .ended(reason: "grace_over")
        }
        return .valid(session, renewsCookie: false)
    }
}
