// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// What the rest of the app sees of the updater. A page may ask, hold and confirm; it never chooses an address, a version, a
/// key or a channel (UP-4, UP-6, UP-7).
package protocol AppUpdater: Sendable {
    /// What is served now.
    var running: BootedBundle { get async }
    /// State for the page, now and after each change; begins with the present one. See `UpdateStatus.json`.
    func changes() async -> AsyncStream<UpdateStatus>
    /// A new document of the app's is there. The first one of a bundle on trial starts its clock.
    func pageLoadStarted(_ pageLoad: UInt64) async
    /// The page of this load says that it has started. Of a page that was loaded before the running bundle was shown it
    /// says nothing, and nothing happens.
    func confirm(pageLoad: UInt64) async
    /// The page of the bundle before has gone; this was the last of its loads. The next one is of the bundle that runs.
    func pageLeft(lastLoad: UInt64) async
    /// The files of the running bundle are not there: the one before takes its place.
    func cannotShow() async
    /// What the web view has stored was cleared, or belongs to nobody any more: copies of it go as well.
    func forgetStorage() async
    /// The page's process died, or the window's page cannot be loaded.
    func pageCrashed() async
    /// The app is being closed as a person closes it: a trial that was cut short by that does not count.
    func closing() async
    /// Looks for a new release: at the start, at each return to the foreground (at most every 30 minutes), or when a person
    /// asks (`isAsked`). One check at a time; another one waits for it and has its result.
    @discardableResult func check(isAsked: Bool) async -> UpdateCheck
    /// Shows the staged bundle now.
    ///
    /// - Throws: `update.none` when nothing is staged, `update.held` while something holds.
    func apply() async throws(NacreError)
    /// Holds the staged bundle back, until `release` or after `duration`, 10 minutes at most.
    ///
    /// - Returns: what `release` wants.
    /// - Throws: `update.holds` when so many hold already that one more would hold nothing.
    func hold(for duration: Duration, reason: String) async throws(NacreError) -> String
    func release(_ hold: String) async
    /// Why this bundle, why not that one: for the page, and for a problem report.
    func report() async -> JSONValue
}

/// How a check ended.
package enum UpdateCheck: Sendable, Equatable {
    /// The server names no manifest, or updates are off.
    case off
    /// Asked too soon after the last one.
    case early
    /// What runs is the newest.
    case current
    case staged(version: String)
    /// A guard said no; the reason as `guard: sentence`.
    case refused(String)
    /// Network, disk and the like; the next check tries again.
    case failed(code: String, message: String)
}

/// What a page is told of updates.
package struct UpdateStatus: Sendable, Equatable {
    package enum Phase: String, Sendable {
        case idle, checking, downloading, staged
    }

    package var phase: Phase
    package var running: String
    package var isBuiltIn: Bool
    /// The version that waits to be shown.
    package var staged: String?
    /// Bytes that have come, and bytes in all, while one is downloading.
    package var received: Int
    package var size: Int
    /// The version that was tried last and did not start; nil when none was or a newer one did.
    package var failed: String?
    /// Whether something holds the staged one back.
    package var isHeld: Bool

    package init(
        phase: Phase, running: String, isBuiltIn: Bool, staged: String? = nil, received: Int = 0, size: Int = 0,
        failed: String? = nil, isHeld: Bool = false
    ) {
        (self.phase, self.running, self.isBuiltIn, self.staged) = (phase, running, isBuiltIn, staged)
        (self.received, self.size, self.failed, self.isHeld) = (received, size, failed, isHeld)
    }

    package var json: JSONValue {
        [
            "phase": .string(phase.rawValue), "running": .string(running), "builtIn": .bool(isBuiltIn),
            "staged": JSONValue(staged), "received": JSONValue(received), "size": JSONValue(size),
            "failed": JSONValue(failed), "held": .bool(isHeld),
        ]
    }
}
