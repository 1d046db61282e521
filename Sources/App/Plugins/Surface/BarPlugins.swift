// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreBridge
package import NacreCore
import Synchronization

/// Capacitor's `StatusBar`: a window has none, so each call is checked, remembered, told of, and changes nothing else.
package final class StatusBarPlugin: BridgePlugin {
    package let name = "StatusBar"
    package let methods = ["setStyle", "setBackgroundColor", "show", "hide", "setOverlaysWebView", "getInfo"].map {
        BridgeMethod($0)
    }

    private struct State {
        var visible = true
        var style = "DEFAULT"
        var color = "#000000"
        var overlays = true
    }

    private let surface: PageSurface
    private let events: any BridgeEvents
    private let state = Mutex(State())

    package init(surface: PageSurface, events: any BridgeEvents) {
        self.surface = surface
        self.events = events
    }

    package func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        let options = Options("StatusBar.\(method)", options)
        switch method {
        case "getInfo": return await info()
        case "setStyle":
            let style = try options.word("style", of: ["DARK", "LIGHT", "DEFAULT"])
            state.withLock { $0.style = style }
        case "setBackgroundColor":
            let color = try options.text("color")
            let digits = color.utf8.dropFirst()
            guard color.hasPrefix("#"), [6, 8].contains(digits.count), Hex.decode(color.dropFirst()) != nil else {
                throw BridgeRejection.invalid("StatusBar.setBackgroundColor: {color} is #RRGGBB.")
            }
            state.withLock { $0.color = color }
        case "setOverlaysWebView":
            let overlays = try options.flag("overlay")
            if become(overlays: overlays) { await events.emit(name, "statusBarOverlayChanged", await info()) }
        default:
            _ = try options.word("animation", of: ["NONE", "SLIDE", "FADE"], fallback: "FADE")
            if become(visible: method == "show") {
                await events.emit(name, "statusBarVisibilityChanged", await info())
            }
        }
        return .null
    }

    private func become(visible: Bool? = nil, overlays: Bool? = nil) -> Bool {
        state.withLock { state in
            let before = (state.visible, state.overlays)
            state.visible = visible ?? before.0
            state.overlays = overlays ?? before.1
            return before != (state.visible, state.overlays)
        }
    }

    private func info() async -> JSONValue {
        let now = state.withLock { $0 }
        return [
            "visible": .bool(now.visible), "style": .string(now.style), "color": .string(now.color),
            "overlays": .bool(now.overlays), "height": .number(await surface.top),
        ]
    }
}

/// Capacitor's `SystemBars`: the window's bars are the desktop's, so each call is checked and changes nothing. The insets
/// that it stands for on a phone are the page's variables (SH-5).
package struct SystemBarsPlugin: BridgePlugin {
    package let name = "SystemBars"
    package let methods = ["setStyle", "show", "hide", "setAnimation"].map { BridgeMethod($0) }

    package init() {}

    package func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        let options = Options("SystemBars.\(method)", options)
        _ = try options.word("bar", of: ["StatusBar", "NavigationBar"], fallback: "StatusBar")
        switch method {
        case "setStyle": _ = try options.word("style", of: ["DARK", "LIGHT", "DEFAULT"])
        case "setAnimation": _ = try options.word("animation", of: ["FADE", "NONE"])
        default: _ = try options.word("animation", of: ["FADE", "NONE"], fallback: "FADE")
        }
        return .null
    }
}
