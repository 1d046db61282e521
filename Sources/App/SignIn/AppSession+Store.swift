// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP
import NacrePorts
import NacreWire

extension AppSession {
    /// Reads the session from the store, at launch and after an unlock; the page is opened meanwhile (SE-3).
    package func restore() async {
        guard phase == .unknown || phase == .locked else { return }
        if await mark.isSet() { return await leave() }
        do throws(NacreError) {
            let bytes = try await store.read(Self.storeName)
            guard phase == .unknown || phase == .locked else { return }
            guard let bytes else {
                phase = .signedOut
                return changed()
            }
            guard let record = SessionRecord(parsing: bytes) else {
                throw NacreError("secrets.damaged", "Your stored sign-in cannot be read; please sign in again.")
            }
            guard record.origin == endpoints.origin.description else {
                phase = .signedOut
                return changed()
            }
            jar.restore(record.cookies)
            csrf = record.csrf
            profile = record.profile
            attempt = record.attempt
            handoff = record.handoff
            storedPrint = fingerprint
            phase = .signedIn
            changed()
            startValidation()
        } catch {
            if error.code == "secrets.locked" {
                phase = .locked
            } else {
                phase = .signedOut
                report(error)
            }
            changed()
        }
    }

    /// Signed out while nothing could be removed: nobody is signed in, whatever the store still holds. What it holds is
    /// revoked and removed as soon as it can be read (SE-5).
    private func leave() async {
        isLeaving = true
        if phase == .unknown || phase == .locked {
            phase = .signedOut
            changed()
        }
        let began = generation
        do throws(NacreError) {
            if let bytes = try await store.read(Self.storeName), let record = SessionRecord(parsing: bytes),
                record.origin == endpoints.origin.description
            {
                let old = CookieJar()
                old.restore(record.cookies)
                guard began == generation else { return }
                if let cookies = old.header(for: endpoints.revocation, now: time.now) {
                    let left = SessionCredentials(cookies: cookies, csrf: record.csrf, attempt: record.attempt)
                    giveUp([await note(left)])
                    guard began == generation else { return }
                }
            }
        } catch {
            guard error.code == "secrets.damaged" else { return }
        }
        if await inOrder({ await $0.removeNow() }) == nil { await left() }
    }

    private func left() async {
        isLeaving = false
        await mark.clear()
    }

    /// Asks the person to unlock the store, then restores. Returns whether it is decided now who is signed in.
    package func unlock() async -> Bool {
        guard phase == .locked || phase == .unknown || isLeaving else { return true }
        guard await store.unlock() else { return false }
        if isLeaving { await leave() }
        await restore()
        return phase != .locked
    }

    /// Restores when somebody has unlocked the store elsewhere, without asking.
    package func recheckLock() async {
        guard phase == .locked || isLeaving, await store.availability() == .available else { return }
        if isLeaving { await leave() }
        await restore()
    }

    /// Takes over a new session; an older one is forgotten, whatever of it is still under way (fixation, SE-4), and given up
    /// to be revoked. That is noted before the new one is stored.
    ///
    /// Returns what went wrong with storing it, if anything: the session then lasts until the app closes, and the person
    /// is told (SE-2).
    package func adopt(
        _ fields: HTTPFields, csrf token: String?, attempt id: String?, handoff flow: String? = nil
    ) async -> NacreError? {
        let older = await noteOlder()  // guard: adopt-revokes-older
        generation += 1
        jar.removeAll()
        jar.store(fields, from: endpoints.exchange, now: time.now)
        csrf = token
        profile = nil
        attempt = id
        handoff = flow
        reason = nil
        error = nil
        notice = nil
        server = .reachable
        phase = .signedIn
        let fault = await save()
        giveUp(older)
        // What the older sign-out could not remove has been written over.
        if fault == nil, isLeaving { await left() }
        changed()
        startValidation()
        return fault
    }

    private func noteOlder() async -> [ReplacedSession] {
        var older: [ReplacedSession] = []
        var seen: UInt64 = 0
        // Another session may have come while the one before it was noted.
        while seen != generation, let present = credentials() {
            seen = generation
            older.append(await note(present))
        }
        return older
    }

    /// Ends the session here: cookies, token and profile are gone; nothing waits for the network (SE-5).
    package func end(_ why: SessionSnapshot.Reason, notice text: String? = nil) async {
        generation += 1
        jar.removeAll()
        csrf = nil
        profile = nil
        attempt = nil
        handoff = nil
        storedPrint = ""
        reason = why
        error = nil
        notice = text
        phase = .signedOut
        changed()
        let ended = generation
        guard let fault = await inOrder({ await $0.removeNow() }) else {
            if isLeaving { await left() }
            return
        }
        // What could not be removed would sign somebody in again at the next start: note it, and say it (SE-2).
        guard ended == generation else { return }
        isLeaving = true
        await mark.set()  // guard: sign-out-mark
        report(fault)
        changed()
    }

    /// What a revocation needs after the session has been forgotten here.
    package func credentials() -> SessionCredentials? {
        guard phase == .signedIn, let cookies = jar.header(for: endpoints.revocation, now: time.now) else {
            return nil
        }
        return SessionCredentials(cookies: cookies, csrf: csrf, attempt: attempt)
    }

    /// The sign-in the present session came from.
    package var adoptedAttempt: String? { phase == .signedIn ? attempt : nil }

    /// The `flow` of that sign-in; nil where it is not known.
    package var adoptedHandoff: String? { phase == .signedIn ? handoff : nil }

    /// Writes what has changed since the last write; call it before the process ends.
    package func flush() async {
        guard phase == .signedIn, fingerprint != storedPrint else { return }
        _ = await save()
    }

    /// Stores the session as it is now. A failure is kept in the snapshot as well as returned.
    func save() async -> NacreError? {
        let saving = generation
        let fault = await inOrder { await $0.writeNow() }
        if let fault {
            log.error("session.store", ["code": .string(fault.code.rawValue)])
            if saving == generation { report(fault) }
        }
        return fault
    }

    private func inOrder(_ work: @escaping @Sendable (AppSession) async -> NacreError?) async -> NacreError? {
        let previous = storeWork
        let task = Task { [self] () -> NacreError? in
            await previous?.value
            return await work(self)
        }
        storeWork = Task { _ = await task.value }
        return await task.value
    }

    private func writeNow() async -> NacreError? {
        guard phase == .signedIn else { return nil }
        let record = SessionRecord(
            origin: endpoints.origin.description, cookies: jar.archive, csrf: csrf, profile: profile, attempt: attempt,
            handoff: handoff)
        let (saved, saving) = (fingerprint, generation)
        do throws(NacreError) {
            try await store.write(Self.storeName, record.bytes)
            if saving == generation { storedPrint = saved }
            return nil
        } catch {
            return error
        }
    }

    private func removeNow() async -> NacreError? {
        guard phase != .signedIn else { return nil }
        do throws(NacreError) {
            try await store.remove(Self.storeName)
            return nil
        } catch {
            return error
        }
    }

    /// Cookies change with many answers; writes are gathered.
    func saveSoon() {
        guard !isSaving, fingerprint != storedPrint else { return }
        isSaving = true
        Task {
            try? await time.sleep(for: .seconds(2))
            isSaving = false
            await flush()
            changed()
        }
    }

    func report(_ fault: NacreError) {
        error = SessionSnapshot.Fault(fault)
        notice = fault.message
    }

    /// Names and values of the cookies, and the day they end: what is worth a write.
    var fingerprint: String {
        let cookies = (jar.archive.array ?? []).map { cookie -> String in
            let day = (cookie["expires"]?.integer ?? 0) / 86_400_000
            return "\(cookie["name"]?.string ?? "")=\(cookie["value"]?.string ?? "");\(day)"
        }
        return (cookies.sorted() + [csrf ?? "", profile?.json.text ?? "", attempt ?? ""]).joined(separator: "\n")
    }
}

/// The credentials of a session that is being ended.
package struct SessionCredentials: Sendable, Equatable {
    let cookies: String
    let csrf: String?
    /// The sign-in that the session came from, by which it is known whatever becomes of its cookies; nil where it is not known.
    let attempt: String?

    var json: JSONValue {
        ["cookies": .string(cookies), "csrf": JSONValue(csrf), "attempt": JSONValue(attempt)]
    }

    init(cookies: String, csrf: String?, attempt: String? = nil) {
        self.cookies = cookies
        self.csrf = csrf
        self.attempt = attempt
    }

    /// Whether they are of one session.
    func isSame(_ other: SessionCredentials) -> Bool {
        attempt != nil ? attempt == other.attempt : cookies == other.cookies
    }

    init?(json: JSONValue) {
        guard let cookies = json["cookies"]?.string else { return nil }
        self.cookies = cookies
        csrf = json["csrf"]?.string
        attempt = json["attempt"]?.string
    }
}
