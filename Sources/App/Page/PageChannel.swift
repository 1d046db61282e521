// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreCrypto
package import NacreHTTP
import NacreListener
package import NacrePorts
package import NacreRouting
import Synchronization

/// The one place where every request of the page arrives (design section 4): a proxy on loopback that ends TLS for the
/// page's host and the API host and tunnels the rest.
package final class PageChannel: Sendable {
    private struct State {
        var acceptor: SocketAcceptor?
        var page: HTTPListener?
        var api: HTTPListener?
        var stopped = false
    }

    private let configuration: PageChannelConfiguration
    private let certificate: PageCertificate
    private let identity: TLSServerIdentity
    private let secret: ConnectSecret
    private let loops: EventLoops
    private let dialer: Dialer
    private let pageResponder: any HTTPResponder
    private let apiResponder: APIResponder?
    private let outside: any HTTPTransport
    private let files: @Sendable (HTTPRequest) async throws -> HTTPResponse
    private let time: any TimeSource
    private let log: Log
    private let state = Mutex(State())
    /// Takes the page's requests from its script, where the channel is the patched one.
    package let patched: PatchedFetch?

    /// A channel that is not listening yet.
    ///
    /// - Parameters:
    ///   - certificate: for `PageChannelConfiguration.certificateHosts`; one is made for this launch where it is nil.
    ///   - bridge: answers the page below `/_nacre_/`.
    ///   - patch: the script that patches the page's workers. With it the channel is the patched one: the API's host is
    ///     not served, as on a system whose web view takes no proxy, and the page's script brings its requests.
    ///   - proxy: the platform's proxy settings; direct where there are none.
    /// - Throws: `page.configuration`, `page.cleartext`, `tls.identity`, `listener.*`.
    package init(
        configuration: PageChannelConfiguration, certificate: PageCertificate? = nil, bundle: any BundleSource,
        authority: any SessionAuthority, transport: any HTTPTransport, interceptors: [any PageInterceptor] = [],
        bridge: (any HTTPResponder)? = nil, patch: String? = nil, proxy: @escaping ProxyResolver = { _ in .direct },
        trust: TLSTrust? = nil,
        time: any TimeSource = SystemTime(), random: any RandomSource = SystemRandom(), log: Log
    ) throws(NacreError) {
        try configuration.validate()
        self.configuration = configuration
        let certificate =
            if let certificate {
                certificate
            } else {
                try PageCertificate(hosts: configuration.certificateHosts, time: time, random: random)
            }
        self.certificate = certificate
        self.time = time
        self.log = log
        identity = try TLSServerIdentity(
            certificatePEM: certificate.certificatePEM, privateKeyPEM: certificate.privateKeyPEM)
        secret = ConnectSecret(random.token())
        let trust = if let trust { trust } else { try TLSTrust() }
        loops = try EventLoops(count: 1)
        dialer = Dialer(
            loops: loops, proxy: proxy, trust: trust, privateTargets: configuration.privateTargets,
            limit: configuration.limits.connectTime, time: time)
        let sockets = UpgradeRelay(dialer: dialer, idle: .seconds(3600))
        let visible = configuration.visibleAPI
        let policy = PageAccessPolicy(
            page: configuration.page,
            sameSite: visible.map { PublicSuffix.isSameSite(configuration.page, $0) } ?? false,
            media: configuration.media, serviceWorkers: configuration.serviceWorkers)
        let files: @Sendable (HTTPRequest) async throws -> HTTPResponse
        if let server = configuration.devServer {
            let responder = DevServerResponder(
                server: server, page: configuration.page, transport: transport, sockets: sockets, log: log)
            files = { try await responder.respond(to: $0) }
        } else {
            let responder = BundleResponder(bundle, api: visible)
            files = { try await responder.respond(to: $0) }
        }
        self.files = files
        outside = transport
        var media: MediaProxyResponder?
        if let api = configuration.api, let visible {
            let responder = APIResponder(
                policy: policy, fields: APIFields(page: configuration.page, api: api, visible: visible),
                authority: authority, transport: transport, interceptors: interceptors, sockets: sockets, log: log)
            apiResponder = responder
            media = MediaProxyResponder(
                policy: policy, page: configuration.page, origins: [visible, api], api: responder, log: log)
        } else {
            apiResponder = nil
        }
        var below = bridge
        if let patch, let api = configuration.api, let visible, let apiResponder {
            let patched = PatchedFetch(
                isAPI: { $0 == api || $0 == visible }, time: time, random: random, log: log,
                send: { try await apiResponder.answerPatched($0, session: $1) })
            self.patched = patched
            below = PatchedResponder(patched: patched, script: patch)
        } else {
            patched = nil
        }
        pageResponder = PageHostResponder(
            policy: policy, files: files, bridge: below, media: media,
            appFiles: AppFilesResponder(folders: configuration.files), log: log, isPatched: patched != nil)
    }

    deinit { loops.stop() }

    // MARK: Life

    /// Listens on a free loopback port.
    ///
    /// - Throws: `listener.bind`.
    package func start() async throws(NacreError) -> PageChannelEndpoint {
        let acceptor = SocketAcceptor(loops: loops, limit: configuration.limits.connections, handler: endpoint().serve)
        state.withLock { state in
            state.acceptor = acceptor
            // While requests wait for a free connection, WebKitGTK looks at every idle one again and again, those of
            // other hosts too: the six that loaded the page must not stand about while the page calls the API.
            state.page = makeListener(pageResponder, idle: .seconds(10))
            state.api = apiResponder.map { makeListener($0, idle: .seconds(300)) }
        }
        let port = try await acceptor.start()
        log.info("page.started", ["port": JSONValue(port), "page": .string("\(configuration.page)")])
        return PageChannelEndpoint(
            port: port, user: ConnectSecret.user, secret: secret.value, certificatePEM: certificate.certificatePEM,
            hosts: configuration.certificateHosts)
    }

    /// Stops listening, gives running requests `grace` to end, then closes everything.
    package func stop(grace: Duration = .seconds(1)) async {
        let (acceptor, listeners) = state.withLock { state in
            state.stopped = true
            return (state.acceptor.take(), [state.page.take(), state.api.take()].compactMap { $0 })
        }
        acceptor?.stop()
        await withTaskGroup(of: Void.self) { group in
            for listener in listeners { group.addTask { await listener.stop(grace: grace) } }
        }
    }

    /// Closes every connection of the page to the API at once: streams, sockets and requests end (NB-13, at sign-out).
    /// New ones are served as before.
    package func closeAPIConnections() async {
        await patched?.cancelAll()
        guard let apiResponder else { return }
        let fresh = makeListener(apiResponder, idle: .seconds(300))
        let old = state.withLock { state -> HTTPListener? in
            guard !state.stopped else { return nil }
            let old = state.api
            state.api = fresh
            return old
        }
        await old?.stop(grace: .zero)
    }

    // MARK: Native requests

    /// Whether `origin` is the API's, as it is called or as the page sees it.
    package func isAPI(_ origin: Origin) -> Bool { origin == configuration.api || origin == configuration.visibleAPI }

    /// Sends a request of the app itself, a download say, the way the page's own would go: the bundle's files from the
    /// bundle, the API's answers through the interceptors with the session, anything else without either.
    ///
    /// Redirects are answers. The media proxy's addresses are unwrapped.
    /// - Throws: `page.cleartext`, `transport.*`, `session.*`, what an interceptor throws.
    package func fetch(_ request: HTTPRequest) async throws -> HTTPResponse {
        var request = request
        let url = try WebURL(MediaProxyURL.unwrap(request.url, page: configuration.page))
        (request.scheme, request.authority, request.target) = (url.origin.scheme, url.origin.authority, url.target)
        if url.origin == configuration.page { return try await files(request) }
        if let apiResponder, isAPI(url.origin) { return try await apiResponder.fetch(request) }
        guard url.origin.scheme == "https" || configuration.allowsCleartext else {  // guard: fetch-cleartext
            throw NacreError(
                "page.cleartext", "\(url.origin) is a cleartext http address, which is not used; use https.")
        }
        // Credentials are the API's alone, whoever put them there.
        let credentials = ["cookie", "authorization", "x-csrftoken"]  // guard: fetch-credentials
        request.fields.removeAll { credentials.contains($0) }
        return try await outside.send(request)
    }

    /// The API's answer to a plugin's request, through the interceptors with the session, with every field it has. The
    /// plugin keeps from the page what is not the page's.
    ///
    /// - Throws: `page.configuration` where there is no API, `transport.*`, `session.*`, what an interceptor throws.
    package func exchange(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let apiResponder else { throw NacreError("page.configuration", "This app has no API; set api.origin.") }
        return try await apiResponder.exchange(request)
    }

    // MARK: Ways

    private func makeListener(_ responder: any HTTPResponder, idle: Duration) -> HTTPListener {
        var settings = ListenerConfiguration(host: "127.0.0.1", port: nil)
        // The web view writes a body to its end before it reads: an early "too large" is to be read all the same (NB-6).
        settings.linger = (256 * 1024 * 1024, .seconds(30))  // guard: page-early-refusal
        settings.connections = configuration.limits.connections
        // The client is the page: a paused film may stand still for long, and there is nobody to protect from it.
        settings.idleTime = idle
        // The engine opens connections ahead of need.
        settings.headTime = .seconds(60)
        settings.writeStall = .seconds(3600 * 12)
        settings.bodyStall = .seconds(3600)
        settings.time = time
        return HTTPListener(configuration: settings, responder: responder, log: log, loops: loops)
    }

    private func endpoint() -> ConnectEndpoint {
        let page = ConnectTarget(configuration.page)
        let api = patched == nil ? configuration.visibleAPI.map(ConnectTarget.init) : nil
        return ConnectEndpoint(
            secret: secret, limits: configuration.limits, dialer: dialer,
            tunnels: TunnelCount(limit: configuration.limits.rawTunnels), time: time, log: log,
            way: { [weak self] target in
                guard target == page || target == api else { return .outside }
                return .inside { descriptor in self?.adopt(descriptor, for: target, isPage: target == page) }
            })
    }

    private func adopt(_ descriptor: Int32, for target: ConnectTarget, isPage: Bool) {
        // Under the lock, so that no connection is handed to a listener that has just been replaced.
        state.withLock { state in
            let listener = isPage ? state.page : state.api
            listener?.adopt(
                descriptor: descriptor, tls: identity,
                attributes: ConnectionAttributes(host: target.host, port: target.port))
        }
    }
}

/// The certificate the page's host and the API host show to the web view, made for one launch.
package struct PageCertificate: Sendable, CustomStringConvertible {
    /// The public half, which the web view is told to accept.
    package let certificatePEM: String
    let privateKeyPEM: String

    /// A new one for these hosts, its key in memory only.
    ///
    /// - Throws: `crypto.certificate`.
    package init(
        hosts: [String], time: any TimeSource = SystemTime(), random: any RandomSource = SystemRandom()
    ) throws(NacreError) {
        let made = try SelfSignedCertificate(names: hosts, now: time.now, random: random)
        certificatePEM = made.certificatePEM
        privateKeyPEM = made.privateKeyPEM
    }

    /// A certificate with its unencrypted key, both PEM.
    package init(certificatePEM: String, privateKeyPEM: String) {
        self.certificatePEM = certificatePEM
        self.privateKeyPEM = privateKeyPEM
    }

    /// Never shows the key.
    package var description: String { "PageCertificate" }
}

/// What the shell tells the web view.
package struct PageChannelEndpoint: Sendable, CustomStringConvertible {
    /// The proxy's port on 127.0.0.1.
    package let port: Int
    /// The proxy's user name.
    package let user: String
    /// The proxy's password, of this launch.
    package let secret: String
    /// The certificate to accept, for `hosts` only.
    package let certificatePEM: String
    /// The hosts, without ports.
    package let hosts: [String]

    /// Never shows the secret.
    package var description: String { "PageChannelEndpoint(port: \(port), hosts: \(hosts))" }
}

extension PageChannelConfiguration {
    /// The names the certificate must hold: the page's host and the API's.
    package var certificateHosts: [String] {
        [page.host] + (visibleAPI.map { $0.host == page.host ? [] : [$0.host] } ?? [])
    }
}
