// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreBridge
import NacreCore
import NacreHTTP
import NacrePage
import NacrePlugins
import NacrePorts
import NacreReleases
package import NacreUpdates

/// The updater among the app's other parts: what is served, when it is asked, and what the page hears of it.
package actor AppUpdates: UpdateHost {
    /// What the page's origin serves.
    nonisolated let bundle: SwitchableBundle
    private let builtIn: any BundleSource
    private let window: UpdateWindow
    private let events: any BridgeEvents
    private let log: Log

    private var updater: (any AppUpdater)?
    /// What is served now.
    private(set) var running: BootedBundle
    /// What the page was told last.
    private(set) var status: UpdateStatus
    /// Page loads below it were of a bundle before.
    private var firstLoad: UInt64 = 0
    private var toldLoad: UInt64 = 0
    private var telling: Task<Void, Never>?
    private var hasConfirmed = false
    /// What pages hold, by the updater's ids, and the page load of each.
    private var holds: [String: UInt64] = [:]
    private var useScripts: (@Sendable () async -> Void)?

    init(builtIn: any BundleSource, version: String, window: UpdateWindow, events: any BridgeEvents, log: Log) {
        self.builtIn = builtIn
        self.window = window
        self.events = events
        self.log = log
        bundle = SwitchableBundle(builtIn)
        running = BootedBundle(folder: nil, version: version, stamp: nil, isOnTrial: false)
        status = UpdateStatus(phase: .idle, running: version, isBuiltIn: true)
    }

    /// Starts the updater and serves what it has chosen.
    func start(_ make: @Sendable () async throws -> any AppUpdater) async throws {
        let updater = try await make()
        self.updater = updater
        let booted = await updater.running
        if !serve(booted) { await updater.cannotShow() }
        let changes = await updater.changes()
        Task { for await status in changes { await self.became(status) } }
    }

    /// Called whenever the next document must start with other scripts.
    func onScripts(_ use: @escaping @Sendable () async -> Void) { useScripts = use }

    // MARK: What is served

    package func show(_ next: BootedBundle) async {
        log.info("updates.shown", ["version": .string(next.version), "builtIn": .bool(next.folder == nil)])
        // Until the old page has gone, no page is one of this bundle's.
        firstLoad = .max
        await window.replacePage { last in await self.swap(to: next, after: last) }
    }

    package func restart() async { await window.restart() }

    private func swap(to next: BootedBundle, after last: UInt64) async {
        firstLoad = last + 1
        hasConfirmed = false
        let isThere = serve(next)
        await updater?.pageLeft(lastLoad: last)
        await useScripts?()
        // After this: what is shown next waits for this to end.
        if !isThere { Task { [updater] in await updater?.cannotShow() } }
    }

    /// False, and the bundle inside the app is served, when the update's folder is not there.
    private func serve(_ next: BootedBundle) -> Bool {
        running = next
        status.running = next.version
        status.isBuiltIn = next.folder == nil
        guard let folder = next.folder else {
            bundle.show(builtIn, identity: nil)
            return true
        }
        let identity = "\(folder)\n\(next.version)\n\(next.stamp ?? "")"
        do throws(NacreError) {
            bundle.show(try FolderBundle(folder, stamp: next.stamp ?? next.version), identity: identity)
            return true
        } catch {
            log.error("updates.missing", ["version": .string(next.version), "reason": .string(error.message)])
            bundle.show(builtIn, identity: nil)
            return false
        }
    }

    // MARK: What happens

    /// A new document of the app's is there.
    func pageLoadStarted(_ load: UInt64) async {
        // Whoever held is gone with its document; a call of the new one may have been here before this.
        let old = holds.filter { $0.value < load }.map(\.key)
        for hold in old { await release(hold) }  // guard: updates-hold-of-page
        await tell(load)
    }

    /// The updater hears of each page load once, and before it hears anything of that page.
    private func tell(_ load: UInt64) async {
        if load >= firstLoad, load > toldLoad {
            toldLoad = load
            telling = Task { [telling, updater] in
                await telling?.value
                await updater?.pageLoadStarted(load)
            }
        }
        await telling?.value
    }

    /// The page of this load has started (UP-7). What a page of a bundle before says is nothing about this one.
    func confirm(_ load: UInt64) async {
        guard load >= firstLoad else { return }  // guard: updates-old-page
        await tell(load)
        await updater?.confirm(pageLoad: load)
        await events.emit(UpdaterPlugin.pluginName, UpdaterPlugin.readyEvent, UpdaterPlugin.ready(await booted))
        guard !hasConfirmed, load >= firstLoad else { return }
        hasConfirmed = true
        await checkUnasked()
    }

    /// The page's web storage was cleared, for somebody has left.
    func webDataCleared() async { await updater?.forgetStorage() }

    func pageCrashed() async { await updater?.pageCrashed() }

    func becomesActive() async { await checkUnasked() }

    /// UP-7: the confirm precedes any check.
    private func checkUnasked() async {
        guard hasConfirmed else { return }  // guard: updates-confirm-first
        Task { [updater] in _ = await updater?.check(isAsked: false) }
    }

    func closing() async { await updater?.closing() }

    // MARK: What the page asks

    func check() async -> UpdateCheck { await updater?.check(isAsked: true) ?? .off }

    func apply() async throws(NacreError) { try await updater?.apply() }

    func reload() async { await window.reload() }

    func hold(for duration: Duration, reason: String, load: UInt64) async throws(NacreError) -> String {
        guard let updater else { return "" }
        let id = try await updater.hold(for: duration, reason: reason)
        holds[id] = load
        return id
    }

    /// Ends a hold of a page's.
    func release(_ id: String) async {
        guard holds.removeValue(forKey: id) != nil else { return }
        await updater?.release(id)
    }

    func report() async -> JSONValue { await updater?.report() ?? .null }

    /// What is served, and whether it has confirmed its start, as the updater knows it.
    var booted: BootedBundle {
        get async { await updater?.running ?? running }
    }

    private func became(_ next: UpdateStatus) async {
        let last = status
        status = next
        await events.emit(UpdatesPlugin.pluginName, UpdatesPlugin.changeEvent, next.json)
        for (event, data) in UpdaterPlugin.events(from: last, to: next) {
            await events.emit(UpdaterPlugin.pluginName, event, data)
        }
        await useScripts?()
    }
}

extension AppUpdates {
    /// The updates of this app, started; nil where it has none (UP-13).
    ///
    /// An updater that cannot start takes nobody's app away: the bundle inside it is shown, and the log says why.
    /// - Throws: `bundle.missing`.
    static func make(
        _ configuration: AppConfiguration, _ folder: String, _ folders: AppFolders, _ platform: AppPlatform,
        _ window: AppWindow, _ holds: AttemptHolds, _ events: any BridgeEvents
    ) async throws -> AppUpdates? {
        guard let said = configuration.usesUpdates, let start = platform.updater, let window = window.updates else {
            return nil
        }
        let path = folder + "/" + configuration.bundlePath
        let log = platform.log.labelled("updates")
        let updates = AppUpdates(
            builtIn: try FolderBundle(path, stamp: configuration.stamp), version: configuration.bundleVersion,
            window: window, events: events, log: log)
        let channel = UpdateChannel(api: configuration.api, transport: platform.transport, time: platform.time)
        let settings = UpdateSettings(
            app: configuration.id, platform: platform.device.platform, native: try NativeVersion(configuration.version),
            build: configuration.build, archiveKey: said.archiveKey, roots: said.roots,
            builtInVersion: configuration.bundleVersion, builtInSequence: said.sequence,
            builtInStorageEpoch: said.storageEpoch, appReadyTimeout: said.appReadyTimeout,
            isDevelopment: configuration.isDevelopment, built: Self.written(folder + "/nacre.json"))
        let places = UpdateFolders(updates: folders.updates, builtIn: path, web: folders.web)
        let parts = UpdateParts(
            transport: platform.transport, source: { () async throws(NacreError) in try await channel.source() },
            isHeld: { holds.isHeld }, host: updates, time: platform.time, random: platform.random)
        do {
            try await updates.start { try await start(settings, places, parts, log) }
        } catch {
            log.error("updates.failed", ["reason": .string((error as? NacreError)?.message ?? "\(type(of: error))")])
            return nil
        }
        return updates
    }

    /// When the file was written: the package is no older, and a clock before it is wrong.
    private static func written(_ file: String) -> Instant {
        let facts = try? FileManager.default.attributesOfItem(atPath: file)
        let date = facts?[.modificationDate] as? Date
        return Instant(seconds: date.map { Int64($0.timeIntervalSince1970) } ?? 0)
    }

    /// What a page can call.
    nonisolated func plugins(native: String) -> [any BridgePlugin] {
        [UpdatesPlugin(updates: self), UpdaterPlugin(updates: self, native: native)]
    }
}
