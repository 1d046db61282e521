// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreBridge
import NacreCore
import NacreUpdates

/// Capacitor's `CapacitorUpdater`, as an app calls it that looks for its releases by itself (NB-9). Its words are kept,
/// its powers are not: whatever the page names, the app's own updater looks at the app's own channel, and what it has
/// verified is what there is.
struct UpdaterPlugin: BridgePlugin {
    static let pluginName = "CapacitorUpdater"
    static let readyEvent = "appReady"
    private static let builtIn = "builtin"

    let name = UpdaterPlugin.pluginName
    let methods = [
        "download", "next", "set", "reload", "reset", "current", "list", "delete", "notifyAppReady", "getFailedUpdate",
        "setMultiDelay", "cancelDelay",
    ].map { BridgeMethod($0) }
    /// A revert takes the page away that would listen.
    let retainedEvents: Set<String> = ["updateFailed"]
    let updates: AppUpdates
    /// The version of the app.
    let native: String
    private let delays = PageDelays()

    init(updates: AppUpdates, native: String) {
        self.updates = updates
        self.native = native
    }

    func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        switch method {
        case "download":
            guard options["url"]?.string != nil else { throw Self.invalid("download needs {url: string}.") }
            return try await offered(text("version", of: options, method))
        case "next": return try await known(text("id", of: options, method))
        case "set":
            let id = try text("id", of: options, method)
            _ = try await known(id)
            try await showStaged(reloading: id == Self.id(await updates.booted))
        case "reload": try await showStaged(reloading: await updates.status.staged == nil)
        case "reset": try await reset()
        case "current": return ["bundle": Self.info(await updates.booted), "native": .string(native)]
        case "list": return ["bundles": .array(await list())]
        case "delete":
            let id = try text("id", of: options, method)
            throw await list().contains { $0["id"]?.string == id }
                ? BridgeRejection(code: "update.in_use", message: "The bundle \(id) is in use and stays.")
                : Self.unknown(id)
        case "notifyAppReady":
            await updates.confirm(call.pageLoad)
            return ["bundle": Self.info(await updates.booted)]
        case "getFailedUpdate":
            guard let failed = await updates.status.failed else { return .null }
            return ["bundle": Self.info(failed, failed, "error")]
        case "setMultiDelay": try await delay(options, call.pageLoad)
        default: await delays.end(updates)
        }
        return .null
    }

    // MARK: What the page names, and what it gets

    /// The release that the page means, once our own check has staged it.
    private func offered(_ version: String) async throws -> JSONValue {
        // An asked check is not refused for being early.
        let outcome: UpdateCheck =
            await updates.status.staged == version ? .staged(version: version) : await updates.check()
        switch outcome {
        case .staged(version): return Self.info(version, version, "pending")
        case .staged(let other):
            throw BridgeRejection(
                code: "update.other", message: "The app's channel offers \(other), not \(version).")
        case .current, .early:
            let running = await updates.booted
            if running.version == version { return Self.info(running) }
            throw BridgeRejection(
                code: "update.none", message: "The app's channel offers nothing newer; \(version) was not taken.")
        case .off: throw BridgeRejection(code: "update.off", message: "The server names no channel to follow.")
        case .refused(let reason): throw BridgeRejection(code: "update.refused", message: reason)
        case .failed(let code, let message): throw BridgeRejection(code: code, message: message)
        }
    }

    /// The bundle of this id: what runs, or what is staged. Anything else that the channel may offer is asked for.
    private func known(_ id: String) async throws -> JSONValue {
        if let found = await list().first(where: { $0["id"]?.string == id }) { return found }
        return try await offered(id)
    }

    private func showStaged(reloading: Bool) async throws {
        guard !reloading else { return await updates.reload() }
        // The page that held it back is the one that asks.
        await delays.end(updates)
        try await updates.apply()
    }

    private func reset() async throws {
        guard await updates.booted.folder == nil else {  // guard: updater-reset
            throw BridgeRejection(
                code: "update.refused",
                message: "No page takes the app back to an older bundle; roll its channel back: nacre ota rollback.")
        }
        await updates.reload()
    }

    private func list() async -> [JSONValue] {
        let running = await updates.booted
        var found = [Self.info(running)]
        if let staged = await updates.status.staged { found.append(Self.info(staged, staged, "pending")) }
        return found
    }

    // MARK: Delays

    /// Conditions of Capacitor's that hold an update back do so for as long as a page may hold: there is no "background"
    /// on a desktop, and an end of the app shows the update in any case.
    private func delay(_ options: JSONValue, _ load: UInt64) async throws {
        guard let conditions = options["delayConditions"]?.array else {
            throw Self.invalid("setMultiDelay needs {delayConditions: [{kind, value}]}.")
        }
        let kinds = try conditions.map { condition -> String in
            guard let kind = condition["kind"]?.string, ["background", "kill", "nativeVersion", "date"].contains(kind)
            else { throw Self.invalid("setMultiDelay: {kind} is one of background, kill, nativeVersion, date.") }
            return kind
        }
        await delays.end(updates)
        if kinds.contains(where: { $0 != "background" }) { try await delays.begin(updates, load) }
    }

    // MARK: Shapes

    private func text(_ name: String, of options: JSONValue, _ method: String) throws -> String {
        guard let text = options[name]?.string, !text.isEmpty else {
            throw Self.invalid("\(method) needs {\(name): string}.")
        }
        return text
    }

    private static func invalid(_ message: String) -> BridgeRejection {
        BridgeRejection(code: "INVALID", message: message)
    }

    private static func unknown(_ id: String) -> BridgeRejection {
        BridgeRejection(code: "update.unknown", message: "There is no bundle \(id).")
    }

    private static func id(_ bundle: BootedBundle) -> String { bundle.folder == nil ? builtIn : bundle.version }

    private static func info(_ bundle: BootedBundle) -> JSONValue {
        info(id(bundle), bundle.version, bundle.isOnTrial ? "pending" : "success")
    }

    private static func info(_ id: String, _ version: String, _ status: String) -> JSONValue {
        [
            "id": .string(id), "version": .string(version), "downloaded": "1970-01-01T00:00:00.000Z", "checksum": "",
            "status": .string(status),
        ]
    }

    static func ready(_ running: BootedBundle) -> JSONValue {
        ["bundle": info(running), "status": "App is ready"]
    }

    /// Capacitor's events for a change of state.
    static func events(from last: UpdateStatus, to next: UpdateStatus) -> [(String, JSONValue)] {
        var found: [(String, JSONValue)] = []
        if next.phase == .downloading, next.size > 0, next.received != last.received {
            let percent = min(99, next.received * 100 / next.size)
            if last.phase != .downloading || percent != last.received * 100 / max(last.size, 1) {
                let bundle = info("", next.staged ?? "", "downloading")
                found.append(("download", ["percent": JSONValue(percent), "bundle": bundle]))
            }
        }
        if let staged = next.staged, next.phase == .staged, last.staged != staged || last.phase != .staged {
            let data: JSONValue = ["bundle": info(staged, staged, "pending")]
            found += [("updateAvailable", data), ("downloadComplete", data)]
        }
        if let failed = next.failed, failed != last.failed {
            found.append(("updateFailed", ["bundle": info(failed, failed, "error")]))
        }
        return found
    }
}

/// What `setMultiDelay` holds, until `cancelDelay`.
private actor PageDelays {
    private var holds: [String] = []

    func begin(_ updates: AppUpdates, _ load: UInt64) async throws {
        holds.append(try await updates.hold(for: .seconds(600), reason: "setMultiDelay", load: load))
    }

    func end(_ updates: AppUpdates) async {
        let old = holds
        holds = []
        for hold in old { await updates.release(hold) }
    }
}
