// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP
package import NacrePorts
package import NacreWire

/// The one owner of the session on the device (SE-1 to SE-6): its cookies, its CSRF token, and what the page sees of it.
///
/// Every session has a generation. Credentials leave with the generation they came from, and an answer to an older one
/// leaves a newer session alone.
package actor AppSession: SessionAuthority {
    static let storeName = "session"

    let endpoints: SessionEndpoints
    let transport: any HTTPTransport
    let store: any SecretStore
    let mark: any SignOutMark
    let time: any TimeSource
    let log: Log

    /// What the restored or adopted session is; `signingIn` is laid over it.
    enum Phase { case unknown, locked, signedOut, signedIn }
    var phase = Phase.unknown
    var isSigningIn = false
    var generation: UInt64 = 1
    let jar = CookieJar()
    var csrf: String?
    var profile: UserProfile? {
        didSet { remember(profile) }
    }
    /// Everybody who has been signed in since the start, the last of them last: a problem report must not name them.
    package private(set) var people: [UserProfile] = []
    var attempt: String?
    var handoff: String?
    var reason: SessionSnapshot.Reason?
    var error: SessionSnapshot.Fault?
    var notice: String?
    var server = Reachability.unknown
    /// The single flight of the background check, and the generation it looks at.
    var validation: (generation: UInt64, task: Task<Void, Never>)?
    /// What of the cookies was stored last; small moves of their expiry are not worth a write.
    var storedPrint = ""
    var isSaving = false
    /// The last write or removal; the next waits for it, so that the store ends with the last word.
    var storeWork: Task<Void, Never>?
    /// The person has signed out, and what is stored could not be removed yet.
    var isLeaving = false
    /// Sessions that have given way to another; the sign-in flow revokes them.
    private var replaced: [ReplacedSession] = []
    /// Sessions that are noted and whose successors are not stored yet: a kill now would find them in use.
    private var givingWay: [SessionCredentials] = []
    private var noting: (@Sendable (SessionCredentials) async -> Bool)?
    private var revoking: (@Sendable () async -> Void)?

    private var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    private var lastWaiter: UInt64 = 0
    private var observers: [AsyncStream<SessionSnapshot>.Continuation] = []
    private var lastTold: SessionSnapshot?

    package init(
        endpoints: SessionEndpoints, transport: any HTTPTransport, store: any SecretStore, mark: any SignOutMark,
        time: any TimeSource, log: Log
    ) {
        self.endpoints = endpoints
        self.transport = transport
        self.store = store
        self.mark = mark
        self.time = time
        self.log = log
    }

    package var snapshot: SessionSnapshot {
        let state: SessionSnapshot.State =
            switch phase {
            case .locked: .locked
            case .unknown where !isSigningIn: .unknown
            case .signedIn where !isSigningIn: .signedIn
            case .signedOut where !isSigningIn: .signedOut
            default: .signingIn
            }
        return SessionSnapshot(
            state: state, reason: reason, error: error, profile: profile, server: server, keptIn: store.kind,
            notice: notice ?? memoryNotice, generation: generation)
    }

    /// From now on each session that is about to give way is written down by `note` first, which tells whether it could;
    /// when it has given way, `revoke` is called.
    func noteReplaced(
        _ note: @escaping @Sendable (SessionCredentials) async -> Bool, revoke: @escaping @Sendable () async -> Void
    ) {
        noting = note
        revoking = revoke
    }

    /// Hands over, once, what is to be revoked.
    func takeReplaced() -> [ReplacedSession] {
        defer { replaced = [] }
        return replaced
    }

    /// Writes down what is about to be written over or removed, so that a kill after that loses none (SE-5).
    func note(_ credentials: SessionCredentials) async -> ReplacedSession {
        givingWay.append(credentials)
        let isNoted = await noting?(credentials) ?? false  // guard: replaced-noted-first
        return ReplacedSession(credentials: credentials, isNoted: isNoted)
    }

    /// Their successors have taken the place.
    func giveUp(_ sessions: [ReplacedSession]) {
        for session in sessions {
            if let place = givingWay.firstIndex(of: session.credentials) { givingWay.remove(at: place) }
        }
        replaced += sessions
        guard !sessions.isEmpty, let revoking else { return }
        Task { await revoking() }
    }

    /// Whether this session still counts here, although it is noted as one that gives way.
    func isInUse(_ credentials: SessionCredentials) -> Bool {
        givingWay.contains(credentials) || self.credentials().map(credentials.isSame) == true
    }

    private func remember(_ profile: UserProfile?) {
        guard let profile, !people.contains(profile) else { return }
        // A server that tells something else each time must not fill the memory.
        if people.count >= 64 { people.removeFirst() }  // guard: session-people
        people.append(profile)
    }

    /// SE-1: the app says when nothing of the session will be left after it closes.
    private var memoryNotice: String? {
        guard phase == .signedIn, store.kind == .memory else { return nil }
        return "This device has no keyring: you will have to sign in again after closing the app."
    }

    /// Every change from now on, the present state first.
    package func changes() -> AsyncStream<SessionSnapshot> {
        let (stream, continuation) = AsyncStream<SessionSnapshot>.makeStream()
        observers.append(continuation)
        continuation.yield(snapshot)
        return stream
    }

    /// Tells what has changed, once, and wakes the calls that waited for a decision.
    func changed() {
        if phase == .signedIn || phase == .signedOut {
            let ready = waiters.values
            waiters = [:]
            for waiter in ready { waiter.resume() }
        }
        let now = snapshot
        guard now != lastTold else { return }
        lastTold = now
        for observer in observers { observer.yield(now) }
    }

    // MARK: SessionAuthority

    package func authorize(_ request: HTTPRequest) async throws -> AuthorizedRequest {
        try await decided()
        var request = request
        let isOurs = request.scheme == endpoints.origin.scheme && request.authority == endpoints.origin.authority
        guard isOurs else { return AuthorizedRequest(request: request, generation: 0) }  // guard: session-own-origin
        request.fields.removeAll("Cookie")
        if request.method.isUnsafe { request.fields["Origin"] = endpoints.origin.description }
        guard !endpoints.isAnonymous(request.path) else {  // guard: session-anonymous-call
            return AuthorizedRequest(request: request, generation: 0)
        }
        let url = WebURL(origin: endpoints.origin, target: request.target)
        if let cookies = jar.header(for: url, now: time.now) { request.fields["Cookie"] = cookies }
        if request.method.isUnsafe, let csrf { request.fields["X-CSRFToken"] = csrf }
        return AuthorizedRequest(request: request, generation: generation)
    }

    package func observe(_ response: HTTPResponse, to authorized: AuthorizedRequest) async {
        let request = authorized.request
        if authorized.generation == 0 {
            // A bundle that runs the hand-off by itself: the session it was given is the session.
            if request.path == SessionEndpoints.exchangePath, request.authority == endpoints.origin.authority,
                response.status.isSuccess, !response.fields.values("Set-Cookie").isEmpty
            {
                _ = await adopt(response.fields, csrf: nil, attempt: nil)
            }
            return
        }
        guard authorized.generation == generation else { return }  // guard: session-older-generation
        if response.status.rawValue < 500, server != .reachable {
            server = .reachable
            changed()
        }
        let url = WebURL(origin: endpoints.origin, target: request.target)
        if jar.store(response.fields, from: url, now: time.now), phase == .signedIn { saveSoon() }
        if response.status == .unauthorized, phase == .signedIn { startValidation() }
    }

    /// Waits until it is known whether somebody is signed in: at the start, and while the store is locked.
    private func decided() async throws {
        while phase == .unknown || phase == .locked {
            try Task.checkCancellation()
            lastWaiter += 1
            let id = lastWaiter
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    if Task.isCancelled {
                        continuation.resume()
                    } else {
                        waiters[id] = continuation
                    }
                }
            } onCancel: {
                Task { await self.stopWaiting(id) }
            }
        }
        try Task.checkCancellation()
    }

    private func stopWaiting(_ id: UInt64) { waiters.removeValue(forKey: id)?.resume() }
}

/// A session that has given way, and whether its revocation is on disk.
struct ReplacedSession: Sendable {
    let credentials: SessionCredentials
    let isNoted: Bool
}
