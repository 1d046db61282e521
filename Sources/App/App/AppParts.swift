// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreBridge
import NacreCore
import NacreCrypto
import NacreHTTP
import NacreLinks
import NacrePlugins
import NacrePorts
import NacreSQLite
import NacreSecrets
import NacreSignIn

/// The features of the app half, joined.
struct AppParts: Sendable {
    let session: AppSession
    let signIn: SignInFlow
    let links: LinkDispatcher
    let holds: AttemptHolds
    let bridge: Bridge
    let plugins: StandardPlugins
    /// Present where a person chooses the server.
    let server: ServerPlugin?
    /// Present where a person may have several accounts.
    let accounts: AccountKeeper?
    /// Present where the app has updates over the air (UP-13).
    let updates: AppUpdates?
    let surface: PageSurface
    let files: FileRoots
    /// Where the page's script hands its requests over; nil where the web view's own network brings them.
    let pageFetch: PageFetchPlugin?
    /// The way of a plugin's own requests to the API, which the page channel answers.
    let api: APITransportRelay
    /// Everything the page can call.
    let everyPlugin: [any BridgePlugin]
    /// The text of a problem report.
    let report: @Sendable () async -> String

    static func make(
        _ configuration: AppConfiguration, _ folders: AppFolders, _ platform: AppPlatform, _ window: AppWindow,
        _ seat: ServerSeat? = nil, _ accountSeat: AccountSeat? = nil, folder: String = "."
    ) async throws -> AppParts {
        let now = platform.time.now
        let note = folders.state + "/secrets-kind"
        let disk = WorkThreads(limit: 1)
        let usedBefore = try? await disk.run { SecretStoreKind(note: note) }
        let secrets = SecretStoreChain(
            platform.secrets + [MemoryStore()], usedBefore: usedBefore, time: platform.time,
            log: platform.log.labelled("secrets"))
        if await secrets.availability() != .absent {
            let kind = secrets.kind
            try? await disk.run { kind.keep(note: note) }
        }
        let endpoints = SessionEndpoints(origin: configuration.api)
        let attempts = try await SQLiteAttemptStore(SQLiteStore(path: folders.state + "/sign-in.sqlite"), now: now)
        let session = AppSession(
            endpoints: endpoints, transport: platform.transport, store: secrets, mark: attempts, time: platform.time,
            log: platform.log.labelled("session"))
        let relay = BridgeEventsRelay()
        let api = APITransportRelay()
        let surface = PageSurface(platform.profile?.first ?? SurfaceState(), box: window.box, events: relay)
        let files = FileRoots(files: folders.files, cache: folders.cache + "/files")
        try await disk.run { try files.make() }
        let holds = AttemptHolds(time: platform.time)
        let accounts = accountSeat.map { seat in
            AccountKeeper(
                seat: seat, scheme: configuration.scheme,
                removal: AccountRemoval(
                    id: configuration.id, seat: seat, isDevelopment: configuration.isDevelopment,
                    transport: platform.transport, time: platform.time, random: platform.random,
                    log: platform.log.labelled("accounts")),
                time: platform.time, random: platform.random, log: platform.log.labelled("accounts"))
        }
        let fallback = LinkFallbackRule(accounts)
        let links = LinkDispatcher(
            schemes: [configuration.scheme],
            journal: try await LinkJournal(SQLiteStore(path: folders.state + "/links.sqlite"), now: now),
            time: platform.time, random: platform.random, log: platform.log.labelled("links"),
            fallback: { incoming, link in await fallback.decide(incoming, link) },
            deliver: { await AppPlugin.open($0.url, relay) })
        let signIn = SignInFlow(
            scheme: configuration.scheme, endpoints: endpoints,
            parts: SignInParts(
                session: session, store: attempts, secrets: secrets, transport: platform.transport,
                browser: platform.browser, links: links, hold: holds, time: platform.time, random: platform.random,
                log: platform.log.labelled("sign-in"), asksWho: { accounts?.book.asksWho ?? false }))
        await signIn.noteReplaced()
        fallback.connect(signIn)
        await accounts?.onLeaving { await signIn.rest() }
        let preferences = try await PreferencesPlugin(
            SQLiteStore(path: folders.state + "/preferences.sqlite", options: SQLiteOptions(durability: .normal)),
            now: now)
        let actions = SessionActions(session: session, signIn: signIn, window: window.actions)
        holds.takeUp(try await attempts.attempts())  // guard: hold-at-start
        let updates = try await AppUpdates.make(configuration, folder, folders, platform, window, holds, relay)
        let report: @Sendable () async -> String = {
            let versions = configuration.versionReport(
                platform: platform.device.platform, running: await updates?.running)
            return ProblemReport(
                app: configuration.name, id: configuration.id, versions: versions["report"]?.string ?? "",
                device: platform.device, session: await session.snapshot, people: await session.people,
                faults: platform.tail?.faults ?? [], lines: platform.tail?.lines ?? [],
                updates: await updates?.report(), home: folders.home
            ).text
        }
        let plugins = StandardPlugins(
            PluginParts(
                app: AppFacts(
                    id: configuration.id, name: configuration.name, version: configuration.version,
                    build: configuration.build, language: platform.device.language),
                device: platform.device, window: window.actions, browser: platform.browser, network: platform.network,
                clipboard: platform.clipboard, share: platform.share, files: files, surface: surface,
                preferences: preferences, transport: platform.transport, api: api, cookies: session,
                address: APIAddress(
                    api: configuration.api, visible: configuration.visibleAPI, page: configuration.origin,
                    allowsCleartext: configuration.isDevelopment),
                session: actions,
                webAuth: WebAuthSessionPlugin(
                    scheme: configuration.scheme, window: window.actions, run: { try await signIn.borrow($0) },
                    signIn: { await actions.signIn() }, cancel: { await signIn.cancel() }), report: report,
                time: platform.time, random: platform.random, events: relay))
        let pageFetch = platform.pageChannel == .patched ? PageFetchPlugin() : nil
        let server = seat.flatMap { seat in
            configuration.choosesServer
                ? ServerPlugin(
                    configuration: configuration,
                    probe: ServerProbe(
                        transport: platform.transport, path: configuration.serverProbe, time: platform.time),
                    seat: seat) : nil
        }
        let everyPlugin: [any BridgePlugin] =
            plugins.all + (updates?.plugins(native: configuration.version) ?? []) + (server.map { [$0] } ?? [])
            + (accounts.map { [AccountsPlugin(keeper: $0)] } ?? []) + (pageFetch.map { [$0] } ?? [])
        let bridge = Bridge(
            gate: BridgeGate(origin: configuration.origin.description), platform: platform.device.platform,
            plugins: everyPlugin, log: platform.log.labelled("bridge"), shows: window.shows, deliver: window.deliver)
        relay.connect(bridge)
        return AppParts(
            session: session, signIn: signIn, links: links, holds: holds, bridge: bridge, plugins: plugins,
            server: server, accounts: accounts, updates: updates, surface: surface, files: files,
            pageFetch: pageFetch, api: api,
            everyPlugin: everyPlugin,
            report: report)
    }
}

extension SecretStoreKind {
    /// The kind noted at the last start. It is no secret, and a note that cannot be read is none.
    init?(note path: String) {
        guard let bytes = try? PrivateFile.read(path, upTo: 64) else { return nil }
        self.init(rawValue: String(decoding: bytes, as: UTF8.self))
    }

    /// Notes the kind for the next start; memory is nothing to wait for.
    func keep(note path: String) {
        guard self != .memory, SecretStoreKind(note: path) != self else { return }
        try? PrivateFile.replace(path, Array(rawValue.utf8))
    }
}
