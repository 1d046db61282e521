// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreJOSE

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
///
/// When to ask again and who is asking stands in the row, so that several processes ask once as well.
package actor SessionKeeper {
    private let store: SessionStore
    private let methods: [String: any AuthenticationMethod]
    package nonisolated let time: any TimeSource
    private let log: Log
    private var running: [String: Task<SessionCheck, any Error>] = [:]
    /// Answers of a method that could not be stored: the old tokens in the row are spent, these must not be lost.
    private var unsaved: [String: (claim: SessionClaim, authentication: Authentication)] = [:]
    private var saving: Task<Void, Never>?
    /// How often storing them is tried again, also when nobody asks for the session.
    private static let saveInterval: Duration = .seconds(2)

    package init(store: SessionStore, methods: [any AuthenticationMethod], time: any TimeSource, log: Log) {
        self.store = store
        self.methods = Dictionary(uniqueKeysWithValues: methods.map { ($0.name, $0) })
        self.time = time
        self.log = log
    }

    /// What this handle is worth now.
    package nonisolated func check(
        _ handle: String, as presentation: SessionPresentation = .cookie
    ) async throws -> SessionCheck {
        guard let session = try await store.find(handle: handle, as: presentation) else { return .absent }
        return try await check(session)
    }

    /// What the session of this identifier is worth now, for a caller who has verified a token that names it.
    package nonisolated func check(id: String, as presentation: SessionPresentation) async throws -> SessionCheck {
        guard let session = try await store.find(id: id), session.presentation == presentation else {
            return .absent
        }
        return try await check(session)
    }

    private nonisolated func check(_ session: Session) async throws -> SessionCheck {
        let now = time.now
        if now >= session.revalidateAt { return try await revalidated(session) }
        guard now - session.lastSeenAt >= store.policy.touchInterval else {
            return .valid(session, renewsCookie: false)
        }
        do {
            try await store.touch(session.id)
        } catch let error as NacreError where error.code.rawValue.hasPrefix("database.") {
            // A database that is full, locked or read-only signs nobody out: the window slides at a later use.
            log.warning("session.not_touched", ["session": .string(session.id), "error": .string(error.description)])
            return .valid(session, renewsCookie: false)
        }
        return .valid(session, renewsCookie: true)
    }

    private func revalidated(_ session: Session) async throws -> SessionCheck {
        guard session.parent != nil else { return try await attempt(session) }
        guard let root = try await store.root(of: session) else {
            try await store.end(session.id, reason: "parent_ended")
            return .absent
        }
        // The root's tokens speak for all that were derived from it.
        var renewed = root
        if time.now >= root.revalidateAt {
            switch try await attempt(root) {
            case .valid(let session, _): renewed = session
            case .absent: return .absent
            case .ended(let reason): return .ended(reason: reason)
            }
        }
        guard time.now < renewed.revalidateAt else { return .valid(session, renewsCookie: false) }
        try await store.follow(session.id, root: renewed)
        try await store.touch(session.id)
        guard let followed = try await store.find(id: session.id) else { return .absent }
        return .valid(followed, renewsCookie: true)
    }

    /// Every caller of one session waits for the same attempt, so that a rotated refresh token is used once.
    private func attempt(_ session: Session) async throws -> SessionCheck {
        if let task = running[session.id] { return try await task.value }
        if let retry = session.retryAt, time.now < retry { return try await withinGrace(session) }
        let task = Task { try await self.revalidate(session.id) }
        running[session.id] = task
        defer { running[session.id] = nil }
        return try await task.value
    }

    private func revalidate(_ id: String) async throws -> SessionCheck {
        if let kept = unsaved[id] { return try await save(kept.claim, kept.authentication) }
        guard let claim = try await store.claim(id) else {
            // Another attempt just renewed it, or another process is at it: the session is let be for that long.
            return try await present(id)
        }
        let session = claim.session
        guard let method = methods[session.method] else {
            try await store.end(id, reason: "method_removed")
            return .ended(reason: "method_removed")
        }
        switch await method.revalidate(session) {
        case .renewed(let authentication):
            guard areIdentical(authentication.issuer, session.issuer),
                areIdentical(authentication.subject, session.subject)
            else {
                try await store.end(id, reason: "other_person")
                log.warning("session.other_person", ["session": .string(id)])
                return .ended(reason: "other_person")
            }
            return try await save(claim, authentication)
        case .refused(let reason):
            if claim.followsLostOne, reason == "invalid_grant" {  // guard: session-lost-claim
                // Perhaps the token was spent by whoever claimed before, and lives to store the new one; once it waits.
                log.warning("session.refusal_doubted", ["session": .string(id)])
                try await store.postpone(claim, by: store.policy.claimInterval)
                return try await withinGrace(session)
            }
            guard try await store.end(claim, reason: reason) > 0 else { return try await present(id) }
            log.notice("session.refused", ["session": .string(id), "reason": .string(reason)])
            return .ended(reason: reason)
        case .unreachable(let error):
            log.warning(
                "session.not_revalidated",
                [
                    "session": .string(id), "error": .string(error.description),
                    "grace_until": JSONValue((session.revalidateAt + store.policy.grace).milliseconds),
                ])
            try await store.postpone(claim, by: store.policy.retryInterval)
            return try await withinGrace(session)
        }
    }

    /// The session as it stands in the database now.
    private func present(_ id: String) async throws -> SessionCheck {
        guard let session = try await store.find(id: id) else { return .absent }
        return .valid(session, renewsCookie: false)
    }

    private func save(_ claim: SessionClaim, _ authentication: Authentication) async throws -> SessionCheck {
        let id = claim.session.id
        do {
            let isStored = try await store.renew(claim, authentication)
            unsaved[id] = nil
            // It has ended, or is renewed already: by another process, or by this one when it could not know.
            guard isStored else { return try await present(id) }
        } catch {
            // Kept until the database takes it; the caller is told that the server can store nothing.
            if unsaved[id] == nil {
                log.error("session.not_stored", ["session": .string(id), "error": .string("\(error)")])
            }
            if unsaved.count < 10_000 { unsaved[id] = (claim, authentication) }  // guard: session-unsaved
            saveLater()
            throw error
        }
        try await store.touch(id)
        guard let renewed = try await store.find(id: id) else { return .absent }
        log.info("session.revalidated", ["session": .string(id)])
        return .valid(renewed, renewsCookie: true)
    }

    /// Tries on by itself: a process that waits for the next request may be stopped before it comes, and other processes
    /// have only the spent token.
    private func saveLater() {
        guard saving == nil else { return }
        saving = Task {
            while !unsaved.isEmpty {
                do { try await time.sleep(for: Self.saveInterval) } catch { break }
                await saveKept()
            }
            saving = nil
        }
    }

    /// Stores what could not be stored before; call it also before the process stops.
    package func saveKept() async {
        for id in unsaved.keys {
            // Through the same door as the requests of that session, one at a time.
            guard let kept = unsaved[id], running[id] == nil else { continue }
            let task = Task { try await self.save(kept.claim, kept.authentication) }
            running[id] = task
            _ = await task.result
            running[id] = nil
        }
    }

    private func withinGrace(_ session: Session) async throws -> SessionCheck {
        guard time.now < session.revalidateAt + store.policy.grace else {  // guard: session-grace
            try await store.end(session.id, reason: "grace_over")
            return .ended(reason: "grace_over")
        }
        return .valid(session, renewsCookie: false)
    }
}
