// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreLimits
import NacreRouting
import NacreSessions

/// The parts of the gateway, put together once; its routes are the extensions of this type.
struct GatewayCore: Sendable {
    let configuration: GatewayConfiguration
    let parts: Gateway.Parts
    let sessions: SessionStore
    let gate: SessionGate
    let party: RelyingParty
    let pending: PendingStore
    let tokens: HandOffTokens
    let limiter: SharedLimiter
    let limits: GatewayLimits
    let sessionTokens: SessionTokens
    let feed: SessionEventFeed
    let identity: IdentityIssuer
    let identityKeys: IdentityKeys
    let live: LiveConnections
    let proxy: ReverseProxy?
    private(set) var document: OpenAPIDocument?

    init(_ configuration: GatewayConfiguration, _ parts: Gateway.Parts) {
        self.configuration = configuration
        self.parts = parts
        let (time, random) = (parts.time, parts.random)
        sessions = SessionStore(
            database: parts.database, sealing: parts.sealing, policy: configuration.sessions, time: time,
            random: random)
        party = RelyingParty(
            configuration.oidc, redirectURI: configuration.redirectURI, transport: parts.providerTransport,
            time: time, random: random)
        let methods: [any AuthenticationMethod] = [OIDCMethod(party)] + [parts.credentials].compactMap { $0 }
        let keeper = SessionKeeper(
            store: sessions, methods: methods, time: time, log: parts.log.labelled("sessions"))
        sessionTokens = SessionTokens(
            store: sessions, keeper: keeper, policy: configuration.tokens,
            issuer: configuration.publicOrigin.description, log: parts.log.labelled("sessions"))
        feed = SessionEventFeed(sessions, log: parts.log.labelled("sessions"))
        gate = SessionGate(
            keeper: keeper, cookie: SessionCookie(secure: configuration.publicOrigin.scheme == "https"),
            window: configuration.sessions.idle, origins: [configuration.publicOrigin] + configuration.webOrigins,
            csrf: configuration.upstream?.csrf ?? .gateway,
            tokens: configuration.tokens.presentations.isEmpty ? nil : sessionTokens)
        pending = PendingStore(database: parts.database, sealing: parts.sealing, time: time, random: random)
        tokens = HandOffTokens(
            database: parts.database, time: time, random: random, lifetime: configuration.tokenLifetime)
        limiter = SharedLimiter(database: parts.database, time: time, log: parts.log.labelled("limits"))
        limits = GatewayLimits(configuration)
        identityKeys = IdentityKeys(
            database: parts.database, sealing: parts.sealing, age: configuration.identityKeyAge, time: time,
            random: random, log: parts.log.labelled("identity"))
        identity = IdentityIssuer(
            keys: identityKeys, issuer: configuration.publicOrigin.description, time: time, random: random)
        live = LiveConnections(
            events: sessions.events, limit: configuration.upstream?.liveLimit ?? 0,
            retry: configuration.sessions.retryInterval)
        let (gate, identity, live) = (gate, identity, live)
        proxy = configuration.upstream.map {
            ReverseProxy(
                upstream: $0, publicOrigin: configuration.publicOrigin, transport: parts.upstreamTransport,
                gate: gate, identity: identity, live: live, time: time, random: random,
                log: parts.log.labelled("upstream"))
        }
        document = nil
        // The routes are known once everything that answers them is there.
        document = OpenAPIDocument(configuration, routes: router.routes)
    }

    /// Whether clients may have tokens beside the cookie.
    var hasTokens: Bool { !configuration.tokens.presentations.isEmpty }

    /// Our own addresses, then the upstream's, then the web bundle's.
    var router: Router {
        Router { routes in
            routes.get("/api/v1.0/authenticate/") { try await authenticate($0, $1) }
            routes.get("/api/v1.0/callback/") { try await callback($0, $1) }
            routes.get("/api/v1.0/initiate-login/") { try await initiateLogin($0, $1) }
            routes.post("/api/v1.0/initiate-login/") { try await initiateLogin($0, $1) }
            routes.post("/api/v1.0/mobile/auth/exchange/") { try await exchange($0, $1) }
            routes.get("/api/v1.0/logout/") { try await logout($0, $1) }
            routes.get("/api/v1.0/logout-callback/") { try await logoutReturn($0, $1) }
            routes.post("/api/v1.0/mobile/auth/logout/") { try await mobileLogout($0, $1) }
            routes.post("/api/v1.0/backchannel-logout/") { try await backchannelLogout($0, $1) }
            routes.get("/api/v1.0/csrf/") { try await csrf($0, $1) }
            routes.get("/api/v1.0/config/") { request, _ in config() }
            routes.get("/api/v1.0/openapi.json") { _, _ in description }
            routes.get("/api/v1.0/users/me/") { try await me($0, $1) }
            addSessions(&routes)
            addTokens(&routes)
            routes.get("/healthz") { _, _ in .json(["status": "alive"]) }
            routes.get("/readyz") { _, _ in await ready() }
            routes.get("/.well-known/jwks.json") { _, _ in await keys() }
            addClaimedLinks(&routes)
            routes.fallback = { try await elsewhere($0, $1) }
        }
    }

    private var description: HTTPResponse {
        document?.response ?? .failure(.notFound, code: "not_found", message: "There is nothing at this address.")
    }

    private func elsewhere(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        if let proxy, proxy.serves(request.path) { return try await proxy.respond(to: request, context: context) }
        if let bundle = parts.bundle { return await bundle.respond(to: request) }
        return .failure(.notFound, code: "not_found", message: "There is nothing at this address.")
    }
}
