// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreBridge
package import NacreCore

/// Capacitor's `Keyboard` over what the system tells of the one on the screen. Nothing here can raise it.
package struct KeyboardPlugin: BridgePlugin {
    static let pluginName = "Keyboard"

    package let name = KeyboardPlugin.pluginName
    package let methods = [
        "hide", "setAccessoryBarVisible", "setScroll", "setStyle", "setResizeMode", "getResizeMode",
    ].map { BridgeMethod($0) }
    private let surface: PageSurface

    package init(surface: PageSurface) { self.surface = surface }

    package func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        let options = Options("Keyboard.\(method)", options)
        switch method {
        case "hide": await surface.hideKeyboard()
        case "setResizeMode":
            let word = try options.word("mode", of: KeyboardResize.allCases.map(\.rawValue))
            await surface.setResize(KeyboardResize(rawValue: word) ?? .native)
        case "getResizeMode": return ["mode": .string(await surface.resize.rawValue)]
        // There is no bar above the keyboard and no scrolling of the page by the system here.
        case "setAccessoryBarVisible": _ = try options.flag("isVisible")
        case "setScroll": _ = try options.flag("isDisabled")
        default: _ = try options.word("style", of: ["DARK", "LIGHT", "DEFAULT"])
        }
        return .null
    }
}
