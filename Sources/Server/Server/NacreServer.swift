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
    private let parts: [Part]
    private let log: Log
    private let time: any TimeSource
    private let accepting: AcceptingFlag
    /// Those of the gateway's listener, so that a request and its way to the upstream stay on one thread.
    private let loops: EventLoops
    private let upstream: LoopTransport
    private let sweeper = Mutex<Task<Void, Never>?>(nil)
    private let follower = Mutex<Task<Void, Never>?>(nil)

    /// Opens the data folder, brings databases up to date and puts everything together; nothing listens yet.
    ///
    /// - Throws: `NacreError` with a sentence that says which setting to change.
    public init(
        _ configuration: ServerConfiguration, log: Log, time: any TimeSource = SystemTime(),
        random: any RandomSource = SystemRandom()
    ) async throws {
        self.configuration = configuration
        self.log = log
        self.time = time
        let accepting = AcceptingFlag()
        self.accepting = accepting
        let folder = try DataFolder(configuration.data)
        let keys = try ServerKeys(folder, random: random)
        let database = try Database.sqlite(path: folder.file("gateway.sqlite"), time: time)
        let outbound = CurlTransport()
        let listening = try configuration.listener()
        loops = try EventLoops(count: listening.loops)
        upstream = LoopTransport(configuration: configuration.upstreamTransport, loops: loops)
        var gatewayConfiguration = configuration.gateway
        var provider: EmbeddedProvider?
        var providerTransport: any HTTPTransport = outbound
        if configuration.provider.enabled {
            let made = try await EmbeddedProvider(
                configuration: configuration.embedded(keys),
                database: .sqlite(path: folder.file("provider.sqlite"), time: time),
                time: time, random: random, log: log)
            provider = made
            gatewayConfiguration.oidc.clientID = ServerConfiguration.embeddedClientID
            gatewayConfiguration.oidc.clientSecret = keys.embeddedClientSecret
            // Same process: no socket, no name to resolve, and no order in which the two must start.
            providerTransport = InProcessClient(made.responder)
        }
        var gatewayParts = Gateway.Parts(
            database: database, sealing: keys.sealing, identityKey: keys.identity,
            providerTransport: providerTransport, upstreamTransport: upstream,
            bundle: try configuration.webPath.map { path throws(NacreError) in try StaticBundle(path: path) },
            time: time,
            random: random, log: log.labelled("gateway"))
        gatewayParts.isAccepting = { accepting.value }
        gateway = Gateway(gatewayConfiguration, gatewayParts)
        try await gateway.prepare()
        var parts = [
            Part(
                name: "gateway", option: "listen.port", url: configuration.origin.description,
                listener: HTTPListener(
                    configuration: listening, responder: gateway, log: log.labelled("listener"), loops: loops))
        ]
        if let provider {
            let place = configuration.provider.listen
            parts.append(
                Part(
                    name: "provider", option: "provider.listen.port", url: configuration.provider.issuer,
                    listener: HTTPListener(
                        configuration: ListenerConfiguration(host: place.host, port: place.port),
                        // The same proxy stands before both: without its word all people would share one limit.
                        responder: ClientAddressMiddleware(trustedProxies: Set(configuration.trustedProxies))
                            .wrapping(provider.responder), log: log.labelled("listener"))))
        }
        self.parts = parts
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
        let (gateway, time, log) = (gateway, time, log)
        follower.withLock { $0 = Task { await gateway.followSessions() } }
        sweeper.withLock { sweeper in
            sweeper = Task {
                while !Task.isCancelled {
                    do { try await gateway.sweep() } catch {
                        log.error("server.sweep_failed", ["error": .string("\(error)")])
                    }
                    do { try await time.sleep(for: .seconds(600)) } catch { return }
                }
            }
        }
        for place in places { log.notice("server.listening", ["part": .string(place.name), "at": .string(place.url)]) }
        return places
    }

    /// Says that it is not ready any more, lets running requests finish within the grace, and closes everything.
    public func stop() async {
        accepting.value = false
        sweeper.withLock { $0.take() }?.cancel()
        follower.withLock { $0.take() }?.cancel()
        log.notice("server.stopping")
        gateway.closeLiveConnections()
        await withTaskGroup(of: Void.self) { group in
            for part in parts {
                group.addTask { [configuration] in await part.listener.stop(grace: configuration.stopGrace) }
            }
        }
        upstream.closeIdle()
        loops.stop()
        log.notice("server.stopped")
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
