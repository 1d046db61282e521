// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacrePorts

extension SignInFlow {
    /// One event: the step is computed, written down, and only then acted on.
    func apply(
        _ event: AttemptEvent, for id: String, token: String?, fault: NacreError?,
        session: (fields: HTTPFields, csrf: String)?, link: String?
    ) async -> Bool {
        guard let now = current, now.record.id == id, let step = AttemptMachine.step(now.record.phase, event) else {
            if let session { revokeOrphan(session) }
            return false
        }
        parts.log.info(
            "sign_in.step",
            ["from": .string(now.record.phase.rawValue), "to": .string(step.phase?.rawValue ?? "ended")])
        if let fault { current?.fault = fault }
        if let link { current?.link = link }
        if case .loggedOut = event { current?.leftInBrowser = true }
        if let token, step.phase == .exchanging {
            current?.secret = ["verifier": now.secret["verifier"] ?? .null, "token": .string(token)]
        }
        if let session, step.effects.contains(.finish(.signedIn)) {
            // The session is on disk before its attempt is forgotten: a kill between the two finds both and knows why.
            let storing = await parts.session.adopt(
                session.fields, csrf: session.csrf, attempt: id, handoff: now.record.flow)
            current?.fault = storing
            await revokeReplaced()
        }
        if let phase = step.phase, phase != now.record.phase || token != nil, !(await persist(phase)) {
            await finish(.failed)
            return true
        }
        for effect in step.effects { await perform(effect, id) }
        return true
    }

    /// Writes the attempt with its new phase; what cannot be written ends it (SE-2).
    private func persist(_ phase: AttemptPhase) async -> Bool {
        guard var record = current?.record, let secret = current?.secret else { return false }
        record.phase = phase
        do {
            record.sealed = try await openSealer().seal(secret, attempt: record.id)
            try await parts.store.save(record)
            current?.record = record
            return true
        } catch {
            current?.fault = Self.storeFault(error)
            return false
        }
    }

    private func perform(_ effect: AttemptEffect, _ id: String) async {
        switch effect {
        case .exchange: startExchange(id)
        case .probe: break  // done by whoever brought the link
        case .startGrace: startTimer(Self.grace, .graceOver, for: id)
        case .abandonExchange: break  // it runs on; a success finds no attempt and is revoked
        case .revoke: startRevocation(id)
        case .finish(let end): await finish(end)
        }
    }

    private func startExchange(_ id: String) {
        guard let verifier = current?.secret["verifier"]?.string, let token = current?.secret["token"]?.string else {
            Task { await handle(.exchangeRefused, for: id) }
            return
        }
        Task { [client] in
            switch await client.exchange(token: token, verifier: verifier) {
            case .done(let fields, let csrf): await handle(.exchanged, for: id, session: (fields, csrf))
            case .refused(let fault): await handle(.exchangeRefused, for: id, fault: fault)
            case .failed(let fault): await handle(.exchangeFailed, for: id, fault: fault)
            }
        }
    }

    /// HO-15: the server's session with the old cookie, then everything here. Offline it still ends here at once.
    private func startRevocation(_ id: String) {
        let credentials = current.flatMap { SessionCredentials(json: $0.secret) }
        let isShared = current?.leftInBrowser == false
        Task { [client, parts] in
            let isTaken =
                if let credentials { await client.revoke(credentials, patience: Self.revocationPatience) } else { true }
            await parts.session.end(.signedOut, notice: isShared ? Self.sharedNotice : nil)
            noteRevocation(id, isTaken)
            await handle(.revoked, for: id)
            if !isTaken { await retryRevocations() }
        }
    }

    private func noteRevocation(_ id: String, _ isTaken: Bool) {
        guard current?.record.id == id else { return }
        current?.mustKeepRevocation = !isTaken
    }

    /// A session that came too late to be wanted does not stay behind on the server.
    private func revokeOrphan(_ session: (fields: HTTPFields, csrf: String)) {
        let jar = CookieJar()
        jar.store(session.fields, from: endpoints.exchange, now: parts.time.now)
        guard let cookies = jar.header(for: endpoints.revocation, now: parts.time.now) else { return }
        Task { [client] in
            _ = await client.revoke(
                SessionCredentials(cookies: cookies, csrf: session.csrf), patience: Self.revocationPatience)
        }
    }

    /// Every way out: the row, the capture, the hold and the timers go, whoever waits is told.
    private func finish(_ end: AttemptEnd) async {
        guard let done = current else { return }
        let revocation =
            done.mustKeepRevocation
            ? PendingRevocation(id: done.record.id, sealed: done.record.sealed, since: parts.time.now) : nil
        var fault = done.fault
        do {
            try await parts.store.remove(done.record.id, keeping: revocation)
        } catch {
            // The row ends with its 15 minutes; the person is told that the disk does not take writes.
            fault = fault ?? Self.storeFault(error)
        }
        let isSignIn = [.waiting, .exchanging, .cancelling, .exchangingCancelled].contains(done.record.phase)
        if end == .expired, fault == nil {
            fault = NacreError("sign_in.expired", "The sign-in took longer than 15 minutes; start it again.")
        }
        var result = AttemptResult(end: end, fault: end == .cancelled ? nil : fault)
        result.link = done.link
        result.sharedSessionMayLiveOn = end == .signedOut && !done.leftInBrowser
        current = nil
        ended = (done.record.id, result)
        if let capture = done.capture { await parts.links.release(capture) }
        await parts.hold.release(attempt: done.record.id)
        for timer in done.timers { timer.cancel() }
        if isSignIn {
            switch end {
            case .signedIn:
                await parts.session.settle(upTo: .seconds(3))
                await parts.session.endSigningIn(nil, nil)
            case .cancelled: await parts.session.endSigningIn(.cancelled)
            case .failed, .expired, .signedOut: await parts.session.endSigningIn(.failed, fault)
            }
        }
        for waiter in done.waiters { waiter.resume(returning: result) }
    }

    func waitForEnd(of id: String) async -> AttemptResult {
        await withCheckedContinuation { continuation in
            guard current?.record.id == id else {
                return continuation.resume(returning: ended?.id == id ? ended!.result : AttemptResult(end: .cancelled))
            }
            current?.waiters.append(continuation)
        }
    }
}
