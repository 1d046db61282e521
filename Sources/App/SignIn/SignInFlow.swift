// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreCrypto
package import NacreHTTP
package import NacrePorts

/// How an attempt ended, for whoever waits for it.
package struct AttemptResult: Sendable {
    package let end: AttemptEnd
    /// Why it failed; beside a success, what could not be stored (SE-2).
    package var fault: NacreError?
    /// After a sign-out: the provider's session in the browser may still be there (HO-15).
    package var sharedSessionMayLiveOn = false
    /// What a borrowed browser came back with.
    package var link: String?
}

/// What the flow works with.
package struct SignInParts: Sendable {
    package let session: AppSession
    package let store: any AttemptStore
    package let secrets: any SecretStore
    package let transport: any HTTPTransport
    package let browser: any SystemBrowser
    package let links: any LinkCapture
    package let hold: any UpdateHold
    package let time: any TimeSource
    package let random: any RandomSource
    package let log: Log
    /// Whether the provider is to ask the person who they are, whoever they are in the browser: where the app has several
    /// accounts.
    package let asksWho: @Sendable () -> Bool

    package init(
        session: AppSession, store: any AttemptStore, secrets: any SecretStore, transport: any HTTPTransport,
        browser: any SystemBrowser, links: any LinkCapture, hold: any UpdateHold, time: any TimeSource,
        random: any RandomSource, log: Log, asksWho: @escaping @Sendable () -> Bool = { false }
    ) {
        self.session = session
        self.store = store
        self.secrets = secrets
        self.transport = transport
        self.browser = browser
        self.links = links
        self.hold = hold
        self.time = time
        self.random = random
        self.log = log
        self.asksWho = asksWho
    }
}

/// Signs in and out through the system browser (HO-8 to HO-12, HO-15): one attempt at a time, every step on disk before
/// it is acted on, so that it survives the page, the process and the machine.
package actor SignInFlow {
    static let patience: Duration = .seconds(15 * 60)
    /// A sign-out's round trip asks the person nothing: after this it ends here without the browser.
    static let leavingPatience: Duration = .seconds(20)
    static let grace: Duration = .seconds(1)
    static let revocationPatience: Duration = .seconds(3)

    struct Current {
        var record: AttemptRecord
        /// What `record.sealed` holds.
        var secret: JSONValue
        let url: String
        var capture: LinkCaptureHandle?
        var timers: [Task<Void, Never>] = []
        var waiters: [CheckedContinuation<AttemptResult, Never>] = []
        var fault: NacreError?
        var leftInBrowser = false
        var link: String?
        var mustKeepRevocation = false
    }

    let parts: SignInParts
    let scheme: String
    let endpoints: SessionEndpoints
    let client: HandoffClient
    var current: Current?
    var sealer: AttemptSealer?
    /// Attempts of an earlier process whose key is still locked up.
    var isResumeDue = false
    var isRetrying = false
    var isRetryDue = false
    /// The attempt that ended last, for a caller who comes to wait a moment too late.
    var ended: (id: String, result: AttemptResult)?
    private var turn: Task<Void, Never>?

    /// - Parameter scheme: the hand-off scheme, as registered with the system.
    package init(scheme: String, endpoints: SessionEndpoints, parts: SignInParts) {
        self.scheme = scheme
        self.endpoints = endpoints
        self.parts = parts
        client = HandoffClient(endpoints: endpoints, transport: parts.transport, time: parts.time)
    }

    /// `prompt` of a sign-in (OpenID Connect Core section 3.1.2.1).
    var prompt: String? { parts.asksWho() ? "select_account" : nil }

    /// The phase of the attempt under way, for tests and for the version report.
    package var phase: AttemptPhase? { current?.record.phase }

    // MARK: What the page asks for

    /// Signs in; a second call joins the attempt under way and shows its browser page again.
    package func signIn() async -> AttemptResult {
        if let result = await joined() { return result }
        do throws(NacreError) {
            let id = try await inOrder { flow throws(NacreError) in try await flow.beginSignIn() }
            await openBrowser(id)
            return await waitForEnd(of: id)
        } catch {
            if error.code == "sign_in.joined" { return await joined() ?? AttemptResult(end: .failed, fault: error) }
            await parts.session.endSigningIn(.failed, error)
            return AttemptResult(end: .failed, fault: error)
        }
    }

    /// Ends the attempt under way, unless a success arrives within a second (HO-11).
    package func cancel() async {
        guard let id = current?.record.id else { return }
        await handle(.cancel, for: id)
    }

    /// Shows the attempt's browser page again.
    package func reopenBrowser() async throws(NacreError) {
        guard let current, [.waiting, .leaving].contains(current.record.phase) else { return }
        try await parts.browser.open(current.url)
    }

    /// Signs out in the order of HO-15. The local part never waits for the network.
    package func signOut() async -> AttemptResult {
        if current != nil { await cancelAtOnce() }
        do throws(NacreError) {
            guard let id = try await inOrder({ flow throws(NacreError) in try await flow.beginSignOut() }) else {
                return AttemptResult(end: .signedOut)
            }
            await openBrowser(id)
            return await waitForEnd(of: id)
        } catch {
            // SE-5: nothing keeps a person signed in who wants to leave.
            let credentials = await parts.session.credentials()
            await parts.session.end(.signedOut, notice: Self.sharedNotice)
            if let credentials { _ = await client.revoke(credentials, patience: Self.revocationPatience) }
            return AttemptResult(end: .signedOut, fault: error, sharedSessionMayLiveOn: true)
        }
    }

    static let sharedNotice = """
        You are signed out of this app. Your browser may still be signed in at the identity provider; \
        close its session there to switch accounts.
        """

    private func joined() async -> AttemptResult? {
        guard let current else { return nil }
        switch current.record.phase {
        case .waiting, .cancelling:
            try? await parts.browser.open(current.url)
            return await waitForEnd(of: current.record.id)
        case .exchanging, .exchangingCancelled: return await waitForEnd(of: current.record.id)
        case .leaving, .revoking, .borrowed:
            return AttemptResult(
                end: .failed,
                fault: NacreError(
                    "sign_in.busy", "Another sign-in or sign-out is under way; finish or cancel it first."))
        }
    }

    func openBrowser(_ id: String) async {
        guard let current, current.record.id == id else { return }
        do throws(NacreError) {
            try await parts.browser.open(current.url)
        } catch {
            await handle(.browserFailed, for: id, fault: error)
        }
    }

    private func cancelAtOnce() async {
        guard let id = current?.record.id else { return }
        await handle(.cancel, for: id)
        await handle(.graceOver, for: id)
    }

    // MARK: One step after the other

    /// Runs `work` after what is already under way.
    func inOrder<Value: Sendable>(
        _ work: @escaping @Sendable (SignInFlow) async throws(NacreError) -> Value
    ) async throws(NacreError) -> Value {
        let previous = turn
        let task = Task { [self] () -> Result<Value, NacreError> in
            await previous?.value
            do throws(NacreError) { return .success(try await work(self)) } catch { return .failure(error) }
        }
        turn = Task { _ = await task.value }
        return try await task.value.get()
    }

    /// Takes one event; returns whether it changed anything.
    @discardableResult
    func handle(
        _ event: AttemptEvent, for id: String, token: String? = nil, fault: NacreError? = nil,
        session: (fields: HTTPFields, csrf: String)? = nil, link: String? = nil
    ) async -> Bool {
        let taken = try? await inOrder { flow throws(NacreError) in
            await flow.apply(event, for: id, token: token, fault: fault, session: session, link: link)
        }
        return taken ?? false
    }
}
