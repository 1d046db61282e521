// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreBridge
import NacreCore
import NacreHTTP
import NacreLinks
package import NacrePage
import NacrePlugins
import NacrePorts
import NacreSQLite
import NacreSecrets
package import NacreSignIn
import NacreUpdates
import Synchronization

/// The app half, put together: everything behind one window and its page.
package final class NacreApplication: Sendable {
    /// The name of the message handler in the isolated world.
    package static let bridgeHandler = "nacre"
    /// The function there that takes events.
    package static let eventReceiver = "nacreReceive"
    /// The variable there that names the document.
    package static let documentIdentity = eventReceiver + "Identity"

    package let configuration: AppConfiguration
    package let session: AppSession
    package let signIn: SignInFlow
    package let holds: AttemptHolds
    /// Where the page's requests arrive, for the web view.
    package let endpoint: PageChannelEndpoint
    /// What the page downloads (NB-5).
    package let downloads: Downloads

    private let platform: AppPlatform
    private let links: LinkDispatcher
    private let bridge: Bridge
    private let plugins: StandardPlugins
    private let everyPlugin: [any BridgePlugin]
    private let server: ServerPlugin?
    /// The accounts, where a person may have several.
    package let accounts: AccountKeeper?
    private let updates: AppUpdates?
    private let surface: PageSurface
    /// The text of a problem report: for a person to read, to keep and to send.
    package let problemReport: @Sendable () async -> String
    private let channel: PageChannel
    private let played = Atomic(false)

    /// Builds and starts everything; the session is restored before this returns, so that the first paint is right.
    ///
    /// - Parameters:
    ///   - folder: where `nacre.json` and the bundle are.
    ///   - seat: where a choice of a server is kept, for an app whose server a person chooses (`api.choose`).
    ///   - accounts: where the accounts are kept, for an app that a person may use with several (`accounts`).
    /// - Throws: `bundle.missing`, `sqlite.*`, `page.*`, `listener.*`, each a sentence that says what to do.
    package static func start(
        configuration: AppConfiguration, folder: String, folders: AppFolders, platform: AppPlatform, window: AppWindow,
        seat: ServerSeat? = nil, accounts: AccountSeat? = nil
    ) async throws -> NacreApplication {
        let parts = try await AppParts.make(configuration, folders, platform, window, seat, accounts, folder: folder)
        let bundle: any BundleSource =
            if let updates = parts.updates { updates.bundle } else { try Self.bundle(of: configuration, in: folder) }
        let channel = try PageChannel(
            configuration: PageChannelConfiguration(
                page: configuration.origin, api: configuration.needsServer ? nil : configuration.api,
                media: configuration.media,
                serviceWorkers: configuration.serviceWorker,
                devServer: configuration.needsServer ? nil : configuration.devServer,
                files: parts.files.folders, allowsCleartext: configuration.isDevelopment),
            bundle: bundle, authority: parts.session,
            transport: platform.transport,
            patch: parts.pageFetch.map { _ in Self.patch(configuration).text }, proxy: platform.proxy,
            trust: platform.trust, time: platform.time, random: platform.random, log: platform.log.labelled("page"))
        parts.api.connect { try await channel.exchange($0) }
        if let patched = channel.patched { parts.pageFetch?.connect(patched) }
        let endpoint = try await channel.start()
        await parts.session.restore()
        await parts.signIn.resume()
        await parts.links.start()
        let downloads = Downloads(
            folder: folders.cache + "/downloads", page: configuration.origin, isNative: { channel.isAPI($0) },
            time: platform.time, random: platform.random, log: platform.log.labelled("downloads")
        ) { try await channel.fetch($0) }
        await Self.removeLeftovers(folders.cache + "/downloads")
        let application = NacreApplication(configuration, platform, parts, channel, endpoint, downloads)
        await application.follow(window)
        return application
    }

    /// What an earlier run has left of downloads is nobody's any more.
    private static func removeLeftovers(_ folder: String) async {
        try? await WorkThreads(limit: 1).run { try FileManager.default.removeItem(atPath: folder) }
    }

    /// The app's files; none are looked for where a development server takes their place (SH-2).
    ///
    /// - Throws: `bundle.missing`.
    static func bundle(of configuration: AppConfiguration, in folder: String) throws(NacreError) -> any BundleSource {
        if configuration.needsServer { return ServerPage(stamp: configuration.stamp) }
        if configuration.devServer != nil { return AbsentBundle(stamp: configuration.stamp) }
        return try FolderBundle(folder + "/" + configuration.bundlePath, stamp: configuration.stamp)
    }

    private init(
        _ configuration: AppConfiguration, _ platform: AppPlatform, _ parts: AppParts, _ channel: PageChannel,
        _ endpoint: PageChannelEndpoint, _ downloads: Downloads
    ) {
        self.configuration = configuration
        self.platform = platform
        self.channel = channel
        self.endpoint = endpoint
        self.downloads = downloads
        session = parts.session
        signIn = parts.signIn
        holds = parts.holds
        links = parts.links
        bridge = parts.bridge
        plugins = parts.plugins
        everyPlugin = parts.everyPlugin
        server = parts.server
        accounts = parts.accounts
        updates = parts.updates
        surface = parts.surface
        problemReport = parts.report
    }

    /// Tells the page of every change of the session, and ends what must not outlive it.
    private func follow(_ window: AppWindow) async {
        let changes = await session.changes()
        let clear: @Sendable () async -> Void = { [updates] in
            await window.clearWebData()
            await updates?.webDataCleared()
        }
        let follower = SessionFollower(
            tell: { [bridge] in await bridge.emit("Nacre", NacrePlugin.sessionEvent, $0) },
            closeStreams: { [channel] in await channel.closeAPIConnections() },
            revokeReplaced: { [signIn] in await signIn.revokeReplaced() },
            clearWebData: configuration.clearsWebData ? clear : nil)
        Task { await follower.follow(changes) }
        Task { [plugins] in await plugins.network.follow() }
        guard let accounts else { return }
        let listed = await accounts.changes()
        Task { [bridge] in
            for await book in listed {
                await bridge.emit(AccountsPlugin.pluginName, AccountsPlugin.changeEvent, book.json)
            }
        }
        let sessions = await session.changes()
        let server = configuration.needsServer ? nil : configuration.api.description
        Task { for await snapshot in sessions { await accounts.note(snapshot, server: server) } }
        Task { await accounts.sweep() }
    }

    /// Called with fresh scripts whenever the session or the screen has changed: the next document of the page starts
    /// with them.
    package func onScripts(_ use: @escaping @Sendable (BridgeScriptPair) async -> Void) async {
        let changes = await session.changes()
        let turns = await surface.changes()
        await updates?.onScripts { [self] in await use(scripts()) }
        Task { [self] in
            for await _ in changes { await use(scripts()) }
        }
        Task { [self] in
            for await _ in turns { await use(scripts()) }
        }
        guard let listed = await accounts?.changes() else { return }
        Task { [self] in
            for await _ in listed { await use(scripts()) }
        }
    }

    /// The scripts for a document that starts now.
    package func scripts() async -> BridgeScriptPair {
        let snapshot = await session.snapshot
        let surface = await surface.value
        let running = await updates?.running
        let updates = await updates?.status.json ?? .null
        let page = BridgePageConfiguration(
            platform: platform.device.platform, origin: configuration.origin.description,
            apiOrigin: configuration.needsServer ? "" : configuration.visibleAPI.description,
            capabilities: [
                "signIn", "deepLinks", "preferences", "device", "browser", "http", "cookies", "network", "files",
                "share",
                "clipboard",
            ] + (server == nil ? [] : ["chooseServer"]) + (accounts == nil ? [] : ["accounts"])
                + (updates.isNull ? [] : ["updates"]) + platform.capabilities,
            version: configuration.versionReport(platform: platform.device.platform, running: running),
            session: snapshot.json, surface: surface, server: server?.facts ?? .null,
            accounts: accounts?.book.json ?? .null, updates: updates, touch: platform.profile?.touch,
            debug: configuration.isDevelopment)
        let scripts = BridgeScripts(
            page, plugins: everyPlugin, handler: Self.bridgeHandler, receiver: Self.eventReceiver)
        guard platform.pageChannel == .patched else {
            return BridgeScriptPair(page: scripts.page, isolated: scripts.isolated, frames: nil)
        }
        let patch = Self.patch(configuration).text
        return BridgeScriptPair(page: scripts.page + "\n" + patch, isolated: scripts.isolated, frames: patch)
    }

    private static func patch(_ configuration: AppConfiguration) -> PatchScript {
        PatchScript(apiOrigin: configuration.visibleAPI.description, origin: configuration.origin.description)
    }
}

/// A bundle that is not built yet.
private struct AbsentBundle: BundleSource {
    let stamp: String
    func file(at path: String) async throws -> BundleFile? { nil }
}

/// The bridge's scripts: one for the page's world, one for the isolated world; with the patched channel one more for
/// the page's own frames.
package struct BridgeScriptPair: Sendable {
    package let page: String
    package let isolated: String
    package let frames: String?
}

// MARK: What the shell tells

extension NacreApplication {
    package func bridgeMessage(_ text: String, pageLoad: UInt64) async -> String {
        await bridge.receive(text, pageLoad: pageLoad)
    }

    package func pageLoadStarted(_ pageLoad: UInt64) async {
        await bridge.pageLoadStarted(pageLoad)
        await updates?.pageLoadStarted(pageLoad)
        await links.pageStarted()
    }

    package func pageReady() async {
        await links.pageReady()
        guard let profile = platform.profile, played.exchange(true, ordering: .relaxed) == false else { return }
        Task { [surface, time = platform.time] in try? await surface.play(profile, time: time) }
    }

    package func openLinks(_ urls: [String]) async {
        for url in urls { await links.receive(url) }
    }

    /// The page's process has died; the window shows a page that says so.
    package func pageCrashed(_ reason: String) async {
        platform.log.error("page.crashed", ["reason": .string(reason)])
        await updates?.pageCrashed()
    }

    /// The page cannot be loaded; the window shows a page that says so.
    package func pageFailed(_ reason: String) async {
        platform.log.error("page.failed", ["reason": .string(reason)])
        await updates?.pageCrashed()
    }

    /// The page wants out of `app.origin`.
    package func openExternally(_ url: String) async {
        do throws(NacreError) {
            try await platform.browser.open(url)
        } catch {
            platform.log.warning("browser.failed", ["code": .string(error.code.rawValue)])
        }
    }

    /// A person wants another server, where they may choose one (`api.choose`).
    package func changeServer() async {
        do {
            try await server?.ask()
        } catch {
            platform.log.warning("server.failed", ["reason": .string("\(error)")])
        }
    }

    /// A person wants another account, where they may have several (`accounts`).
    package func change(_ change: @Sendable (AccountKeeper) async throws -> Void) async {
        guard let accounts else { return }
        do {
            try await change(accounts)
        } catch {
            platform.log.warning("accounts.failed", ["reason": .string("\(error)")])
        }
    }

    package func becomes(active: Bool) async {
        await plugins.app.becomes(active: active)
        guard active else { return }
        await updates?.becomesActive()
        await session.recheckLock()
        await signIn.resumeAfterUnlock()
        await accounts?.sweep()
    }

    package func backRequested(canGoBack: Bool) async -> Bool { await plugins.app.back(canGoBack: canGoBack) }

    /// Writes down what is only in memory, then closes every connection.
    package func stop() async {
        await updates?.closing()
        await session.flush()
        await channel.stop()
    }
}
