// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreCrypto
package import NacreDatabase
package import NacreHTTP
import NacreLimits
package import NacreRouting
package import NacreSessions

/// The gateway: sign-in through the system browser, sessions, and the way to the upstream.
package struct Gateway: HTTPResponder {
    /// What the gateway needs from outside.
    package struct Parts: Sendable {
        package var database: Database
        /// Seals tokens at rest.
        package var sealing: SealingKey
        /// The first key that signs identities (ES256), where the database holds none yet.
        package var identityKey: PrivateKey
        /// To the identity provider.
        package var providerTransport: any HTTPTransport
        /// To the upstream; the time limits are its own.
        package var upstreamTransport: any HTTPTransport
        /// The web bundle, where one is served.
        package var bundle: StaticBundle?
        /// Where people with a password are recognised (JW-1); without one `/api/token/obtain/` is not there.
        package var credentials: (any CredentialMethod)?
        /// False while the server stops, so that no new work is sent here.
        package var isAccepting: @Sendable () -> Bool = { true }
        package var time: any TimeSource
        package var random: any RandomSource
        package var log: Log

        package init(
            database: Database, sealing: SealingKey, identityKey: PrivateKey, providerTransport: any HTTPTransport,
            upstreamTransport: any HTTPTransport, bundle: StaticBundle? = nil, time: any TimeSource,
            random: any RandomSource, log: Log
        ) {
            self.database = database
            self.sealing = sealing
            self.identityKey = identityKey
            self.providerTransport = providerTransport
            self.upstreamTransport = upstreamTransport
            self.bundle = bundle
            self.time = time
            self.random = random
            self.log = log
        }
    }

    /// The gateway's own routes.
    package var routes: [(method: HTTPMethod, pattern: String)] { core.router.routes }

    private let core: GatewayCore
    private let chain: any HTTPResponder

    package init(_ configuration: GatewayConfiguration, _ parts: Parts) {
        let core = GatewayCore(configuration, parts)
        self.core = core
        let logged = RequestLogMiddleware(log: parts.log, time: parts.time).wrapping(core.router)
        chain = ClientAddressMiddleware(trustedProxies: Set(configuration.trustedProxies)).wrapping(logged)
    }

    /// Brings the tables up to date; call it once before the first request.
    package func prepare() async throws {
        try await core.sessions.prepare()
        if core.hasTokens { try await core.sessionTokens.prepare() }
        try await core.limiter.prepare()
        try await core.parts.database.migrate(PendingStore.component, PendingStore.migrations)
        try await core.identityKeys.prepare(first: core.parts.identityKey)
    }

    /// The keys under the identity tokens.
    package var identityKeys: IdentityKeys { core.identityKeys }

    /// Whether clients may have tokens whose keys `rotateTokenKeys` follows by new ones.
    package var hasTokens: Bool { core.hasTokens }

    /// Follows the key under session tokens by a new one; `stolen` makes what older keys signed worthless at once.
    package func rotateTokenKeys(stolen: Bool) async throws { try await core.sessionTokens.rotateKeys(stolen: stolen) }

    /// Stores what could not be stored so far; call it before the process ends.
    package func settle() async { await core.gate.keeper.saveKept() }

    /// Closes WebSockets and event streams; without that a stop waits for them.
    package func closeLiveConnections() { core.live.closeAll(LiveConnections.stopping) }

    /// How many WebSockets and event streams are open.
    package var liveConnectionCount: Int { core.live.count }

    /// Hears of sessions that end, in this process or another one while `followSessions` runs.
    package var events: SessionEvents { core.sessions.events }

    /// Brings the ends of sessions from other processes to `events`, and looks at the sessions of open connections when it
    /// is time (HO-13), until the task is cancelled.
    package func followSessions() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await core.feed.run() }
            group.addTask {
                while !Task.isCancelled {
                    await lookAtLiveConnections()
                    do { try await core.parts.time.sleep(for: .seconds(1)) } catch { return }
                }
            }
        }
    }

    /// Looks at the sessions of open WebSockets and event streams that are due to be asked about, and closes those whose
    /// session is over.
    package func lookAtLiveConnections() async {
        let keeper = core.gate.keeper
        await core.live.look(now: core.parts.time.now) { try await keeper.check(id: $0, as: $1) }
    }

    /// Removes what has expired, in batches; call it every few minutes, in one process at a time.
    ///
    /// - Returns: how many rows went, by table.
    @discardableResult
    package func sweep() async throws -> [String: Int] {
        let now = core.parts.time.now
        let database = core.parts.database
        var removed = ["sessions": try await core.sessions.removeExpired()]
        removed["gateway_handoff"] = try await database.remove(
            RetentionRule("gateway_handoff", key: "token", where: "expires_at < $1"), now)
        removed["gateway_logout_seen"] = try await database.remove(
            RetentionRule("gateway_logout_seen", key: "token_id", where: "expires_at < $1"), now)
        removed["gateway_pending"] = try await database.remove(
            RetentionRule("gateway_pending", key: "row_id", where: "created_at < $1"), now - PendingStore.lifetime)
        try await core.identityKeys.maintain()
        if core.hasTokens { try await core.sessionTokens.maintainKeys() }
        if let count = removed["sessions"], count > 0 {
            core.parts.log.info("sessions.expired", ["count": JSONValue(count)])
        }
        return removed
    }

    package func respond(to request: HTTPRequest, context: RequestContext) async throws -> HTTPResponse {
        try await chain.respond(to: request, context: context)
    }
}
