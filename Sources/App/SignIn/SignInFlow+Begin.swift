// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreCrypto
import NacreHTTP
import NacrePorts

extension SignInFlow {
    /// Makes an attempt and writes it down; the browser opens after (HO-8).
    func beginSignIn() async throws(NacreError) -> String {
        guard current == nil else { throw NacreError("sign_in.joined", "A sign-in is under way.") }
        guard await parts.session.unlock() else {
            throw NacreError("secrets.locked", "Unlock your keyring, then sign in again.")
        }
        let id = parts.random.identifier()
        // RFC 7636 section 4.1: 256 random bits as 43 characters.
        let verifier = parts.random.token(bits: 256)
        let flow = parts.random.token(bits: 128)
        let url = endpoints.authenticate(
            scheme: scheme, challenge: Self.challenge(of: verifier), flow: flow, prompt: prompt)
        try await write(
            id: id, phase: .waiting, flow: flow, secret: ["verifier": .string(verifier)], url: url.description)
        await parts.session.beginSigningIn()
        return id
    }

    /// Nil when nobody is signed in.
    func beginSignOut() async throws(NacreError) -> String? {
        guard current == nil else { throw NacreError("sign_in.busy", "Another sign-in or sign-out is under way.") }
        guard await parts.session.unlock() else {
            throw NacreError("secrets.locked", "Unlock your keyring, then sign out again.")
        }
        await revokeReplaced()
        guard let credentials = await parts.session.credentials() else {
            await parts.session.end(.signedOut)
            return nil
        }
        let handoff = await parts.session.adoptedHandoff
        let id = parts.random.identifier()
        let flow = parts.random.token(bits: 128)
        try await write(
            id: id, phase: .leaving, flow: flow, secret: credentials.json,
            url: endpoints.logout(scheme: scheme, flow: flow, handoff: handoff).description)
        return id
    }

    /// Lends the browser to a page that runs the hand-off by itself (`WebAuthSession.start`), until a link of ours comes
    /// back. The page keeps its own verifier; what is kept here is that a link is waited for.
    ///
    /// - Returns: the link, or nil when the person has cancelled.
    package func borrow(_ url: String) async throws(NacreError) -> String? {
        let target = try WebURL(url)
        guard target.origin == endpoints.origin else {  // guard: borrow-own-origin
            throw NacreError("web_auth.origin", "A sign-in page must be on \(endpoints.origin).")
        }
        let id = try await inOrder { flow throws(NacreError) -> String in
            guard await flow.current == nil else {
                throw NacreError("sign_in.busy", "Another sign-in or sign-out is under way; finish or cancel it first.")
            }
            let id = flow.parts.random.identifier()
            let sent = target.query.flatMap { FormFields(decoding: $0)?["flow"] } ?? ""
            try await flow.write(id: id, phase: .borrowed, flow: sent, secret: [:], url: url)
            return id
        }
        await openBrowser(id)
        let result = await waitForEnd(of: id)
        if result.end == .cancelled { return nil }
        guard let link = result.link else {
            throw result.fault ?? NacreError("sign_in.expired", "The sign-in took too long; start it again.")
        }
        return link
    }

    /// Writes an attempt down and makes it the one under way.
    func write(
        id: String, phase: AttemptPhase, flow: String, secret: JSONValue, url: String
    ) async throws(NacreError) {
        let sealer = try await openSealer()
        let record = AttemptRecord(
            id: id, phase: phase, flow: flow, startedAt: parts.time.now,
            sealed: try sealer.seal(secret, attempt: id))
        do {
            try await parts.store.save(record)
        } catch {
            throw Self.storeFault(error)
        }
        await adopt(record, secret: secret, url: url)
    }

    /// Makes a written attempt the one under way: links, update hold and the end of its time.
    func adopt(_ record: AttemptRecord, secret: JSONValue, url: String) async {
        current = Current(record: record, secret: secret, url: url)
        let id = record.id
        await parts.hold.hold(attempt: id)
        let handle = await parts.links.capture { [weak self] link in await self?.offer(link) ?? false }
        current?.capture = handle
        let limit = record.phase == .leaving ? Self.leavingPatience : Self.patience
        let rest = record.startedAt + limit - parts.time.now
        startTimer(rest, .expired, for: id)
    }

    func startTimer(_ wait: Duration, _ event: AttemptEvent, for id: String) {
        let time = parts.time
        let timer = Task { [weak self] in
            do { try await time.sleep(for: wait) } catch { return }
            await self?.handle(event, for: id)
        }
        current?.timers.append(timer)
    }

    func openSealer() async throws(NacreError) -> AttemptSealer {
        if let sealer { return sealer }
        let opened = try await AttemptSealer.open(parts.secrets, random: parts.random)
        sealer = opened
        return opened
    }

    /// RFC 7636 section 4.2.
    static func challenge(of verifier: String) -> String { Base64URL.encode(SHA256.hash(verifier)) }

    static func storeFault(_ error: any Error) -> NacreError {
        let detail = (error as? NacreError)?.message ?? ""
        return NacreError("sign_in.store", "The sign-in could not be written to this device. \(detail)", cause: error)
    }
}
