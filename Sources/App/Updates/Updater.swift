// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP
import NacreReleases

/// Keeps the app's bundle up to date: looks for releases, stages what is verified, shows it when nobody is interrupted, and
/// goes back where it does not start (UP-1, UP-4 … UP-7, UP-10).
///
/// It has a thread of its own, on which its state is on the disk before anything is done about it.
package actor Updater: AppUpdater {
    package typealias Source = @Sendable () async throws(NacreError) -> UpdateSource?

    let settings: UpdateSettings
    let folders: UpdateFolders
    let parts: UpdateParts
    let shelf: BundleShelf
    let storage: WebStorage
    let log: Log
    /// Long work on the disk: one thing at a time, and not on the actor's thread.
    let work = WorkThreads(limit: 1)
    private let file: UpdateStateFile
    /// Nil where another process is the one who writes: this one shows what is confirmed, and changes nothing.
    private let lock: UpdateLock?
    private let thread: OwnThread

    private(set) var state: UpdateState
    /// Loads up to this one belong to the bundle before.
    private var mark: UInt64 = 0
    /// What this start could not try for want of room; another start may.
    private var waiting: TreeDigest?
    private var lastLoad: UInt64 = 0
    private var clock: Task<Void, Never>?
    /// Whether this start has still to remove what nobody needs any more; the first page does not wait for that.
    private var isUntidy = false
    private var tidying: Task<Void, Never>?
    private var holds: [String: Instant] = [:]
    private static let mostHolds = 64
    var checking: Task<UpdateCheck, Never>?
    var phase = UpdateStatus.Phase.idle
    var received = 0
    var size = 0
    private var listeners: [Int: AsyncStream<UpdateStatus>.Continuation] = [:]
    private var nextListener = 0

    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// Decides which bundle this start shows. Never fails: with a disk that takes nothing, the app starts with what is safe.
    package static func start(
        settings: UpdateSettings, folders: UpdateFolders, parts: UpdateParts, log: Log
    ) async -> Updater {
        let isHeld = await parts.isHeld()
        let updater = Updater(settings, folders, parts, log)
        await updater.load()
        // The web view of the start before may still be writing down what it has.
        if await updater.mayExchangeStorage { try? await parts.time.sleep(for: .seconds(1)) }
        await updater.boot(isHeld)
        return updater
    }

    private init(_ settings: UpdateSettings, _ folders: UpdateFolders, _ parts: UpdateParts, _ log: Log) {
        (self.settings, self.folders, self.parts, self.log) = (settings, folders, parts, log)
        thread = OwnThread()
        shelf = BundleShelf(folders.updates, parts.disk)
        storage = WebStorage(folders.web, parts.disk)
        file = UpdateStateFile(folders.updates, parts.disk)
        state = UpdateState()
        let made: Void? = try? shelf.make()
        lock = made == nil ? nil : UpdateLock(folders.updates)
    }

    deinit {
        clock?.cancel()
        tidying?.cancel()
        thread.stop()
    }

    private func load() { state = file.load() ?? UpdateState() }

    private var mayExchangeStorage: Bool {
        storage.isUnfinished
            || [state.running, state.staged, state.fallback].contains { bundle in
                bundle.map { storage.mustChange(for: $0.storageEpoch, from: settings.builtInStorageEpoch) } ?? false
            }
    }

    private func boot(_ isHeld: Bool) {
        if state.seed.isEmpty { state.seed = parts.random.identifier() }
        guard lock != nil else { return showSafe() }
        let before = state
        let boot = UpdateBoot(
            settings: settings, shelf: shelf, storage: storage, now: now, isHeld: isHeld,
            nonce: parts.random.identifier())
        let decision = boot.decide(&state)
        waiting = decision.waiting
        if state != before {
            do throws(NacreError) { try file.keep(state) } catch {
                log.error("update.state", ["code": .string(error.code.rawValue)])
                state = before
                // What the disk says is staged stays there for the next start.
                return showSafe()
            }
        }
        guard state.trial == nil else { return }
        // Where the step back is still to be made, the copy is what it is made from.
        if decision.isStorageReady { try? storage.settle() }  // guard: update-settle-ready
        isUntidy = true
    }

    /// Where an attempt cannot be counted, none is made.
    private func showSafe() {
        if let bundle = state.running, state.trial != nil {  // guard: update-uncounted
            state.leave(to: state.fallback)
            state.mayComeAgain(bundle)
        }
        if let running = state.running, !shelf.holds(running.tree) { state.leave(to: nil) }
        guard lock != nil else { return }
        let epoch = state.running?.storageEpoch ?? settings.builtInStorageEpoch
        _ = try? storage.prepare(
            for: epoch, from: settings.builtInStorageEpoch, mayEmpty: false, keepsCopy: false)
    }

    var now: Instant { max(parts.time.now, settings.built, state.newestIssued) }

    /// The state and every folder beside it are one process's.
    ///
    /// - Throws: `update.second` in another one.
    func mayWrite() throws(NacreError) {
        guard lock != nil else {
            throw NacreError("update.second", "Another window of this app looks after updates; use that one.")
        }
    }

    /// Keeps a change, or leaves everything as it is.
    func change(_ body: (inout UpdateState) -> Void) throws(NacreError) {
        try mayWrite()
        var next = state
        body(&next)
        guard next != state else { return }
        try file.keep(next)
        state = next
    }

    /// As `change`, where what is in memory must hold whatever the disk says.
    ///
    /// - Returns: whether it is on the disk.
    @discardableResult
    func insist(_ body: (inout UpdateState) -> Void) -> Bool {
        do throws(NacreError) { try change(body) } catch {
            body(&state)
            log.error("update.state", ["code": .string(error.code.rawValue)])
            return false
        }
        return true
    }

    private func tidy() {
        guard lock != nil, checking == nil else { return }
        isUntidy = false
        sweep(clearsDownloads: false)
    }

    /// The first page of this start is there, on trial or not.
    private func tidyOnce() {
        if isUntidy, state.trial == nil { tidy() }
    }

    func sweep(clearsDownloads: Bool) {
        let kept = Set([state.running, state.staged, state.fallback].compactMap { $0?.tree })
        do throws(NacreError) { try shelf.sweep(keeping: kept, clearsDownloads: clearsDownloads) } catch {
            log.notice("update.sweep", ["code": .string(error.code.rawValue)])
        }
    }

    // MARK: What is served

    package var running: BootedBundle {
        guard let bundle = state.running else {
            return BootedBundle(folder: nil, version: settings.builtInVersion, stamp: nil, isOnTrial: false)
        }
        return BootedBundle(
            folder: shelf.path(bundle.tree), version: bundle.version, stamp: bundle.stamp, isOnTrial: state.trial != nil
        )
    }

    package func pageLoadStarted(_ pageLoad: UInt64) {
        guard pageLoad > lastLoad else { return }
        lastLoad = pageLoad
        if isUntidy, tidying == nil {
            // A page that never says that it has started has had its time then.
            let (time, timeout) = (parts.time, settings.appReadyTimeout)
            tidying = Task { [weak self] in
                guard (try? await time.sleep(for: timeout)) != nil else { return }
                await self?.tidyOnce()
            }
        }
        // A page that loads itself again and again does not win time.
        guard let trial = state.trial, pageLoad > mark, clock == nil else { return }
        let (time, timeout) = (parts.time, settings.appReadyTimeout)
        clock = Task { [weak self] in
            guard (try? await time.sleep(for: timeout)) != nil else { return }
            await self?.timeIsUp(trial.nonce)
        }
    }

    package func confirm(pageLoad: UInt64) {
        if state.trial == nil, pageLoad > mark { return tidyOnce() }
        // guard: update-confirm-load
        guard state.trial != nil, pageLoad > mark, pageLoad == lastLoad else { return }
        stopClock()
        let isKept = insist { [now] state in
            guard let bundle = state.running else { return }
            state.trial = nil
            state.failed.removeAll { $0.identity == bundle.identity }
            state.decide("confirmed", bundle.version, "Its page has started.", at: now)
        }
        tell()
        // Where the confirm is not on the disk, a later start may still go back.
        guard isKept else { return }
        note { () throws(NacreError) in try storage.settle() }
        tidy()
    }

    private func timeIsUp(_ nonce: String) async {
        guard state.trial?.nonce == nonce else { return }
        await revert(.silent)
    }

    package func pageCrashed() async {
        guard state.trial != nil, lastLoad > mark else { return }
        await revert(.crashed)
    }

    package func cannotShow() async {
        guard state.running != nil else { return }
        await revert(.missing)
    }

    package func forgetStorage() {
        note { () throws(NacreError) in try storage.forget() }
    }

    private func note(_ body: () throws(NacreError) -> Void) {
        guard lock != nil else { return }
        do throws(NacreError) { try body() } catch {
            log.notice("update.storage", ["code": .string(error.code.rawValue)])
        }
    }

    private func revert(_ reason: FailedBundle.Reason) async {
        stopClock()
        log.warning(
            "update.reverted",
            ["version": .string(state.running?.version ?? ""), "reason": .string(reason.rawValue)])
        insist { [now] in $0.revert(reason, at: now) }
        if let bundle = state.running, !shelf.holds(bundle.tree) {
            insist { [now] in $0.revert(.missing, at: now) }
        }
        await present()
    }

    /// Shows what runs now: in place where the storage allows, else by a new start.
    private func present() async {
        // Until the old page has gone, whatever is loaded and confirmed is of the bundle before.
        mark = .max  // guard: update-confirm-outgoing
        let epoch = state.running?.storageEpoch ?? settings.builtInStorageEpoch
        let mustRestart = storage.mustChange(for: epoch, from: settings.builtInStorageEpoch)
        tell()
        if mustRestart { await parts.host.restart() } else { await parts.host.show(running) }
    }

    package func pageLeft(lastLoad last: UInt64) { mark = max(last, lastLoad) }

    package func closing() {
        stopClock()
        guard let trial = state.trial, trial.attempts > 0 else { return }
        insist { $0.trial?.attempts -= 1 }
    }

    private func stopClock() {
        clock?.cancel()
        clock = nil
    }

    package func apply() async throws(NacreError) {
        guard let next = state.staged, state.trial == nil, shelf.holds(next.tree) else {
            throw NacreError("update.none", "There is no new version to show.")
        }
        guard !(await isHeld) else {  // guard: update-hold
            throw NacreError("update.held", "The new version waits until what is under way has ended.")
        }
        // While that was asked, a check may have put another in its place.
        guard let next = state.staged, state.trial == nil else {
            throw NacreError("update.none", "There is no new version to show.")
        }
        if storage.mustChange(for: next.storageEpoch, from: settings.builtInStorageEpoch) {
            // A page that asks at every start must not start the app for ever.
            guard next.tree != waiting else {  // guard: update-waits
                throw NacreError("update.waits", "There is too little room to try the new version; free some.")
            }
            return await parts.host.restart()
        }
        let nonce = parts.random.identifier()
        try change { [now] state in
            state.activate(nonce: nonce, at: now)
            state.trial?.attempts = 1
        }
        await present()
    }

    // MARK: Holds

    package func hold(for duration: Duration, reason: String) throws(NacreError) -> String {
        let id = parts.random.identifier()
        let most = Duration.seconds(600)
        holds = holds.filter { $0.value > parts.time.now }
        guard holds.count < Self.mostHolds else {  // guard: update-holds
            throw NacreError(
                "update.holds",
                "\(Self.mostHolds) holds keep the new version back already; release one of them, or hold once for all.")
        }
        // A page that forgets to let go must not keep a person from updates for good.
        holds[id] = parts.time.now + max(.zero, min(duration, most))
        tell()
        return id
    }

    package func release(_ hold: String) {
        holds[hold] = nil
        tell()
    }

    private var holdsNow: Bool { holds.values.contains { $0 > parts.time.now } }  // guard: update-hold-end
    private var isHeld: Bool {
        get async {
            if holdsNow { return true }
            return await parts.isHeld()
        }
    }

    // MARK: What a page is told

    package var status: UpdateStatus {
        UpdateStatus(
            phase: phase == .idle && state.staged != nil ? .staged : phase, running: running.version,
            isBuiltIn: state.running == nil, staged: state.staged?.version, received: received, size: size,
            failed: lastFailure, isHeld: holdsNow)
    }

    /// What was tried last and did not start, until something newer does.
    private var lastFailure: String? {
        guard let last = state.failed.last, last.sequence > state.running?.sequence ?? 0 else { return nil }
        return last.version
    }

    package func changes() -> AsyncStream<UpdateStatus> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: UpdateStatus.self, bufferingPolicy: .bufferingNewest(8))
        nextListener += 1
        let id = nextListener
        listeners[id] = continuation
        continuation.onTermination = { [weak self] _ in Task { await self?.forget(id) } }
        continuation.yield(status)
        return stream
    }

    private func forget(_ id: Int) { listeners[id] = nil }

    func tell() { for listener in listeners.values { listener.yield(status) } }

    package func check(isAsked: Bool) async -> UpdateCheck {
        if let checking { return await checking.value }
        // The confirm precedes any check (UP-7).
        guard state.trial == nil else { return .early }
        let since = parts.time.now - state.checked
        // A clock that was set back is no reason to wait.
        guard isAsked || since < .zero || since >= .seconds(1800) else { return .early }
        let task = Task { await look() }
        checking = task
        let result = await task.value
        checking = nil
        phase = .idle
        (received, size) = (0, 0)
        tell()
        return result
    }
}

/// What the updater needs of the app around it.
package struct UpdateParts: Sendable {
    package var transport: any HTTPTransport
    package var source: Updater.Source
    /// Whether a sign-in or sign-out is under way (HO-10).
    package var isHeld: @Sendable () async -> Bool
    package var host: any UpdateHost
    package var disk: any UpdateDisk
    package var time: any TimeSource
    package var random: any RandomSource

    package init(
        transport: any HTTPTransport, source: @escaping Updater.Source,
        isHeld: @escaping @Sendable () async -> Bool = { false }, host: any UpdateHost,
        disk: any UpdateDisk = SystemDisk(), time: any TimeSource = SystemTime(),
        random: any RandomSource = SystemRandom()
    ) {
        (self.transport, self.source, self.isHeld, self.host) = (transport, source, isHeld, host)
        (self.disk, self.time, self.random) = (disk, time, random)
    }
}
