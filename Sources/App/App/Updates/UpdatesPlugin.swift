// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreBridge
import NacreCore
import NacrePlugins
import NacreUpdates

/// Backs `nacre.updates`; bundles do not call it by name. A page asks, holds and confirms; which release, from where and
/// whose it is are nothing that it could say (UP-4, UP-6, UP-7).
struct UpdatesPlugin: BridgePlugin {
    static let pluginName = "NacreUpdates"
    static let changeEvent = "change"
    private static let longestHold = 600.0

    let name = UpdatesPlugin.pluginName
    let methods = ["check", "apply", "hold", "release", "confirm", "report"].map { BridgeMethod($0) }
    let updates: AppUpdates

    func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        switch method {
        case "check": return await updates.check().json
        case "apply": try await updates.apply()
        case "hold": return ["id": .string(try await hold(options, call.pageLoad))]
        case "release":
            guard let id = options["id"]?.string else { throw Self.invalid("release needs the id that hold gave.") }
            await updates.release(id)
        case "confirm": await updates.confirm(call.pageLoad)
        default: return await updates.report()
        }
        return .null
    }

    private func hold(_ options: JSONValue, _ load: UInt64) async throws -> String {
        let seconds = options["seconds"].map { $0.real } ?? Self.longestHold
        guard let seconds, seconds > 0 else { throw Self.invalid("hold takes a number of seconds, 600 at most.") }
        let reason = options["reason"]?.string ?? "the page"
        let duration = Duration.seconds(min(seconds, Self.longestHold))
        return try await updates.hold(for: duration, reason: String(reason.prefix(80)), load: load)
    }

    func currentValue(of event: String) async -> JSONValue? {
        event == Self.changeEvent ? await updates.status.json : nil
    }

    private static func invalid(_ message: String) -> BridgeRejection {
        BridgeRejection(code: "INVALID", message: message)
    }
}

extension UpdateCheck {
    /// What `nacre.updates.check()` resolves to.
    var json: JSONValue {
        switch self {
        case .off: ["outcome": "off"]
        case .early: ["outcome": "early"]
        case .current: ["outcome": "current"]
        case .staged(let version): ["outcome": "staged", "version": .string(version)]
        case .refused(let reason): ["outcome": "refused", "reason": .string(reason)]
        case .failed(let code, let message):
            ["outcome": "failed", "code": .string(code), "message": .string(message)]
        }
    }
}
