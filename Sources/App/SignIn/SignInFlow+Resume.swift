// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacrePorts

extension SignInFlow {
    /// Takes up what an earlier process has left behind; call it once at launch, before links are handled.
    package func resume() async {
        _ = try? await inOrder { flow throws(NacreError) in await flow.resumeNow() }
        await revokeReplaced()
        Task { await retryRevocations() }
    }

    /// Tries again once the secret store has been unlocked.
    package func resumeAfterUnlock() async {
        guard isResumeDue else { return }
        await resume()
    }

    private func resumeNow() async {
        isResumeDue = false
        guard current == nil else { return }
        let rows: [AttemptRecord]
        do {
            rows = try await parts.store.attempts()
        } catch {
            parts.log.error("sign_in.store", ["reason": .string("\(error)")])
            return
        }
        guard let newest = rows.last else { return }
        let sealer: AttemptSealer
        do throws(NacreError) {
            sealer = try await openSealer()
        } catch {
            // The key is locked up with the session; the attempt's 15 minutes run on meanwhile.
            isResumeDue = error.code == "secrets.locked"
            return
        }
        for row in rows.dropLast() { await forget(row) }
        guard let secret = sealer.open(newest.sealed, attempt: newest.id) else { return await forget(newest) }
        if await parts.session.adoptedAttempt == newest.id { return await forget(newest) }
        let isLeaving = newest.phase == .leaving || newest.phase == .revoking
        let age = parts.time.now - newest.startedAt
        guard isLeaving || (age < Self.patience && age > .seconds(-60)) else {  // guard: attempt-expiry
            return await forget(newest)
        }
        await take(newest, secret)
    }

    private func take(_ row: AttemptRecord, _ secret: JSONValue) async {
        let url =
            switch row.phase {
            // Nobody is sent there any more: what is left to do needs no browser.
            case .leaving, .revoking: endpoints.logout(scheme: scheme, flow: row.flow, handoff: nil)
            default:
                endpoints.authenticate(
                    scheme: scheme, challenge: Self.challenge(of: secret["verifier"]?.string ?? ""), flow: row.flow,
                    prompt: prompt)
            }
        await adopt(row, secret: secret, url: url.description)
        if [.waiting, .exchanging].contains(row.phase) { await parts.session.beginSigningIn() }
        let id = row.id
        // Not through the queue: this already runs in its turn.
        _ = await apply(.resumed, for: id, token: nil, fault: nil, session: nil, link: nil)
    }

    /// From now on a session that gives way is noted down before its successor is stored, so that a kill between the two
    /// loses none; call it before the session is restored.
    package func noteReplaced() async {
        await parts.session.noteReplaced(
            { [weak self] in await self?.note($0) ?? false }, revoke: { [weak self] in await self?.revokeReplaced() })
    }

    /// Revokes sessions that have given way to another one, as soon as the server takes it (SE-5). Nobody waits for the
    /// network.
    package func revokeReplaced() async {
        let given = await parts.session.takeReplaced()
        guard !given.isEmpty else { return }
        for session in given where !session.isNoted {
            guard await !note(session.credentials) else { continue }
            // Not on disk, then at least now.
            Task { [client] in _ = await client.revoke(session.credentials, patience: .seconds(15)) }
        }
        Task { await retryRevocations() }
    }

    /// Writes down that a session's end is to be told. False where that cannot be kept.
    private func note(_ credentials: SessionCredentials) async -> Bool {
        let id = parts.random.identifier()
        do {
            let sealed = try await openSealer().seal(credentials.json, attempt: id)
            try await parts.store.keep(PendingRevocation(id: id, sealed: sealed, since: parts.time.now))
            return true
        } catch {
            parts.log.error("sign_in.store", ["reason": .string("\(error)")])
            return false
        }
    }

    private func forget(_ row: AttemptRecord) async {
        do {
            try await parts.store.remove(row.id, keeping: nil)
        } catch {
            parts.log.error("sign_in.store", ["reason": .string("\(error)")])
        }
    }

    /// Revocations the server has not taken yet: now, and again with growing waits while any remain (SE-5).
    package func retryRevocations() async {
        guard !isRetrying else {
            // What has been noted meanwhile is not in the list that is being gone through.
            isRetryDue = true  // guard: revocation-again
            return
        }
        isRetrying = true
        defer { isRetrying = false }
        let backoff = Backoff(first: .seconds(5), ceiling: .seconds(300))
        for attempt in 0..<200 {
            isRetryDue = false
            let left: Int
            do {
                left = try await revokeOnce()
            } catch {
                // What cannot be read is told when the keyring has been unlocked.
                let isLocked = (error as? NacreError)?.code == "secrets.locked"
                if isLocked { isResumeDue = true }  // guard: revocation-after-unlock
                return
            }
            guard left > 0 else {
                if isRetryDue { continue }
                return
            }
            do {
                try await parts.time.sleep(for: .seconds(1) + backoff.delay(attempt: attempt, random: parts.random))
            } catch { return }
        }
    }

    /// Returns how many remain.
    private func revokeOnce() async throws -> Int {
        let pending = try await parts.store.revocations()
        guard !pending.isEmpty else { return 0 }
        let sealer = try await openSealer()
        var left = 0
        for revocation in pending {
            let credentials = sealer.open(revocation.sealed, attempt: revocation.id).flatMap(
                SessionCredentials.init(json:))
            let isOld = parts.time.now - revocation.since > .seconds(30 * 24 * 3600)
            if let credentials, !isOld {
                // Its successor has not been stored, or not yet: it goes on, and is told of when it gives way.
                if await parts.session.isInUse(credentials) { continue }  // guard: revocation-in-use
                if !(await client.revoke(credentials, patience: .seconds(15))) {
                    left += 1
                    continue
                }
            }
            try await parts.store.removeRevocation(revocation.id)
        }
        return left
    }
}
