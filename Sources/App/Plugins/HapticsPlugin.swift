// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreBridge
package import NacreCore

/// Capacitor's `Haptics`: a computer has nothing to shake, so each call is checked, answers and does nothing.
package struct HapticsPlugin: BridgePlugin {
    package let name = "Haptics"
    package let methods = ["impact", "notification", "vibrate", "selectionStart", "selectionChanged", "selectionEnd"]
        .map { BridgeMethod($0) }

    package init() {}

    package func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        let options = Options("Haptics.\(method)", options)
        switch method {
        case "impact": _ = try options.word("style", of: ["HEAVY", "MEDIUM", "LIGHT"], fallback: "HEAVY")
        case "notification": _ = try options.word("type", of: ["SUCCESS", "WARNING", "ERROR"], fallback: "SUCCESS")
        case "vibrate":
            guard (options["duration"] ?? 300).real.map({ $0 >= 0 }) == true else {
                throw BridgeRejection.invalid("Haptics.vibrate: {duration} is a number of milliseconds.")
            }
        default: break
        }
        return .null
    }
}
