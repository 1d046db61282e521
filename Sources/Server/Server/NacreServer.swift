// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
import NacreCrypto
import NacreCurl
import NacreDatabase
import NacreGateway
import NacreHTTP
import NacreListener
import NacreProvider
import NacreRouting
import Synchronization

/// The server half in one process: the gateway, and the embedded provider where it is on.
///
/// ```swift
/// let server = try await NacreServer(configuration, log: log)
/// let addresses = try await server.start()
/// await server.stop()
/// ```
public final class NacreServer: Sendable {
    /// One thing that listens.
    public struct ListeningPlace: Sendable {
        /// What it is, such as `gateway`.
        public let name: String
        /// Where it is reached.
        public let url: String
        /// The port that was bound.
        public let port: Int
    }

    private struct Part: Sendable {
        let name: String
        let option: String
        let url: String
        let listener: HTTPListener
    }

    private let configuration: ServerConfiguration
    private let gateway: Gateway
    private let housekeeping: Housekeeping
    private let freshness: FreshnessFile?
    private let time: any TimeSource
    private let parts: [Part]
    private let log: Log
    private let accepting: AcceptingFlag
    /// Those of the gateway's listener, so that a request and its way to the upstream stay on one thread.
    private let loops: EventLoops
    private let upstream: LoopTransport
    private let provider: EmbeddedProvider?
    private let logoutTransport: any HTTPTransport
    private let background = Mutex<[Task<Void, Never>]>([])
    /// What it counts.
    let metrics: ServerMetrics
    /// Says that the data folder is in use.
    private let lock: FolderLock

    /// Opens the data folder, brings databases up to date and puts everything together; nothing listens yet.
    ///
    /// `manager` hands over sockets that are bound already.
    /// - Throws: `NacreError` with a sentence that says which setting to change.
    public init(
        _ configuration: ServerConfiguration, log: Log, time: any TimeSource = SystemTime(),
        random: any RandomSource = SystemRandom(), manager: ServiceManager = ServiceManager()
    ) async throws {
        self.configuration = configuration
        self.time = time
        let metrics = ServerMetrics(version: ServerConfiguration.version, time: time)
        self.metrics = metrics
        let log = log.observed(by: metrics.observer)
        self.log = log
        let accepting = AcceptingFlag()
        self.accepting = accepting
        let folder = try DataFolder(configuration.data)
        lock = try FolderLock.take(folder, exclusive: false)
        let stores = try await ServerStores(configuration, folder, time: time, random: random)
        let keys = stores.keys
        let database = stores.gateway.measured("gateway", metrics, time: time)
        let outbound = CurlTransport()
        let listening = try configuration.listener()
        loops = try EventLoops(count: listening.loops)
        upstream = LoopTransport(configuration: configuration.upstreamTransport, loops: loops)
        var gatewayConfiguration = configuration.gateway
        let freshness = configuration.freshnessFile.map { FreshnessFile($0, log: log.labelled("updates")) }
        if let freshness { gatewayConfiguration.freshness = { freshness.value } }
        self.freshness = freshness
        var provider: EmbeddedProvider?
        var providerTransport: any HTTPTransport = outbound
        if configuration.provider.enabled {
            let made = try await EmbeddedProvider(
                configuration: configuration.embedded(keys),
                database: try stores.provider().measured("provider", metrics, time: time),
                time: time, random: random, log: log)
            provider = made
            gatewayConfiguration.oidc.clientID = ServerConfiguration.embeddedClientID
            gatewayConfiguration.oidc.clientSecret = keys.embeddedClientSecret
            // Same process: no socket, no name to resolve, and no order in which the two must start.
            providerTransport = InProcessClient(made.responder)
        }
        var gatewayParts = Gateway.Parts(
            database: database, sealing: keys.sealing, identityKey: keys.identity,
            providerTransport: MeasuringTransport(
                transport: providerTransport, outcomes: metrics.idp, durations: metrics.idpSeconds, time: time),
            upstreamTransport: MeasuringTransport(
                transport: upstream, outcomes: metrics.upstream, durations: metrics.upstreamSeconds, time: time),
            bundle: try configuration.webPath.map { path throws(NacreError) in try StaticBundle(path: path) },
            time: time, random: random, log: log.labelled("gateway"))
        gatewayParts.isAccepting = { accepting.value }
        gateway = Gateway(gatewayConfiguration, gatewayParts)
        try await gateway.prepare()
        try await database.migrate(Lease.component, Lease.migrations)
        housekeeping = Housekeeping(
            gateway: gateway, provider: provider,
            lease: Lease(database: database, name: "retention", holder: random.identifier(), time: time),
            metrics: metrics, time: time, log: log)
        self.provider = provider
        parts = try Self.parts(
            configuration, gateway, provider, metrics, manager, (listening, loops), time: time, log: log)
        // What the provider has to tell our own gateway needs no socket either, and no name that resolves here.
        logoutTransport = OwnPlaceTransport(place: configuration.origin, responder: gateway, elsewhere: outbound)
    }

    private static func parts(
        _ configuration: ServerConfiguration, _ gateway: Gateway, _ provider: EmbeddedProvider?,
        _ metrics: ServerMetrics,
        _ manager: ServiceManager, _ gatewayListener: (configuration: ListenerConfiguration, loops: EventLoops),
        time: any TimeSource, log: Log
    ) throws -> [Part] {
        func part(
            _ name: String, _ option: String, _ url: String, _ listener: ListenerConfiguration,
            _ responder: any HTTPResponder, _ loops: EventLoops? = nil
        ) -> Part {
            var listener = listener
            listener.inherited = manager.sockets[name]
            let log = log.labelled("listener")
            return Part(
                name: name, option: option, url: url,
                listener: loops.map { HTTPListener(configuration: listener, responder: responder, log: log, loops: $0) }
                    ?? HTTPListener(configuration: listener, responder: responder, log: log))
        }
        let prefixes = configuration.upstream?.prefixes ?? []
        let rest = configuration.webPath == nil ? "none" : "bundle"
        let counted = MeasuringMiddleware(
            metrics: metrics, part: "gateway",
            elsewhere: { path in prefixes.contains { path.hasPrefix($0) } ? "upstream" : rest }, time: time)
        var parts = [
            part(
                "gateway", "listen.port", configuration.origin.description, gatewayListener.configuration,
                counted.wrapping(gateway), gatewayListener.loops)
        ]
        if let provider {
            let counted = MeasuringMiddleware(
                metrics: metrics, part: "provider", elsewhere: { _ in "none" }, time: time)
            // The same proxy stands before both: without its word all people would share one limit.
            let edge = ClientAddressMiddleware(trustedProxies: Set(configuration.trustedProxies))
            let logged = RequestLogMiddleware(log: log.labelled("provider"), time: time).wrapping(provider.responder)
            parts.append(
                part(
                    "provider", "provider.listen.port", configuration.provider.issuer,
                    configuration.publicListener(configuration.provider.listen),
                    counted.wrapping(edge.wrapping(logged))))
        }
        if let place = configuration.metrics {
            parts.append(
                part(
                    "metrics", "metrics.listen.port", "http://\(place.host):\(place.port)/metrics",
                    ListenerConfiguration(host: place.host, port: place.port), MetricsPage(metrics: metrics).router))
        }
        return parts
    }

    deinit { loops.stop() }

    /// Begins to listen, everywhere or nowhere.
    ///
    /// - Throws: `server.listen` that names the port taken and the option that changes it.
    public func start() async throws -> [ListeningPlace] {
        var places: [ListeningPlace] = []
        for part in parts {
            do {
                let port = try await part.listener.start()
                places.append(ListeningPlace(name: part.name, url: part.url, port: port))
            } catch let error as NacreError {
                for part in parts { await part.listener.stop(grace: .zero) }
                throw NacreError(
                    "server.listen",
                    "The \(part.name) cannot listen: \(error.message) The option is \"\(part.option)\".", cause: error)
            }
        }
        accepting.value = true
        var tasks = [
            Task { [gateway] in await gateway.followSessions() },
            Task { [housekeeping] in await housekeeping.run() },
        ]
        if let freshness { tasks.append(Task { [time] in await freshness.run(time) }) }
        if let provider {
            tasks.append(Task { [logoutTransport] in await provider.run(sendingThrough: logoutTransport) })
        }
        background.withLock { [tasks] in $0 = tasks }
        for place in places { log.notice("server.listening", ["part": .string(place.name), "at": .string(place.url)]) }
        return places
    }

    /// Says that it is not ready any more, lets running requests finish within the grace, and closes everything.
    public func stop() async {
        accepting.value = false
        let tasks = background.withLock { tasks in
            defer { tasks = [] }
            return tasks
        }
        for task in tasks { task.cancel() }
        log.notice("server.stopping")
        gateway.closeLiveConnections()
        await withTaskGroup(of: Void.self) { group in
            for part in parts {
                group.addTask { [configuration] in await part.listener.stop(grace: configuration.stopGrace) }
            }
        }
        await gateway.settle()
        upstream.closeIdle()
        loops.stop()
        log.notice("server.stopped")
    }

    /// Follows the key under the identity tokens by a new one, in every process of the database.
    ///
    /// `stolen` withdraws the old ones at once, here and in the two below.
    func rotateIdentityKey(stolen: Bool) async throws { try await gateway.identityKeys.rotate(stolen: stolen) }

    /// Whether clients may have tokens, and so keys of those.
    var hasTokens: Bool { gateway.hasTokens }

    /// The same for the keys under session tokens.
    func rotateTokenKeys(stolen: Bool) async throws { try await gateway.rotateTokenKeys(stolen: stolen) }

    /// The same for the embedded provider's keys, where it is on.
    func rotateProviderKeys(stolen: Bool) async throws {
        try await provider?.rotateKeys(stolen ? .compromised : .planned)
    }
}

/// Requests to our own origin go to the responder in this process, all others out.
private struct OwnPlaceTransport: HTTPTransport {
    let place: Origin
    let responder: InProcessClient
    let elsewhere: any HTTPTransport

    init(place: Origin, responder: any HTTPResponder, elsewhere: any HTTPTransport) {
        self.place = place
        self.responder = InProcessClient(responder)
        self.elsewhere = elsewhere
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let isOurs = request.scheme == place.scheme && request.authority == place.authority
        return isOurs ? try await responder.send(request) : try await elsewhere.send(request)
    }
}

/// Whether new work is taken.
private final class AcceptingFlag: Sendable {
    private let state = Mutex(false)
    var value: Bool {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
