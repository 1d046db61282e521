// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreBridge
package import NacreCore
import Synchronization

/// What the app says of itself.
package struct AppFacts: Sendable {
    package let id: String
    package let name: String
    package let version: String
    package let build: String
    /// A language tag such as `fr-FR`.
    package let language: String

    package init(id: String, name: String, version: String, build: String, language: String) {
        self.id = id
        self.name = name
        self.version = version
        self.build = build
        self.language = language
    }
}

/// What plugins may ask of the window.
package struct WindowActions: Sendable {
    /// Closes the window and ends the app, gracefully.
    package let close: @Sendable () async -> Void
    /// Brings the window to the front.
    package let present: @Sendable () async -> Void
    /// Takes the window out of the way.
    package let minimize: @Sendable () async -> Void

    package init(
        close: @escaping @Sendable () async -> Void, present: @escaping @Sendable () async -> Void,
        minimize: @escaping @Sendable () async -> Void
    ) {
        self.close = close
        self.present = present
        self.minimize = minimize
    }
}

/// Capacitor's `App`: identity, links, activity, the back button.
package final class AppPlugin: BridgePlugin {
    package let name = "App"
    package let methods = [
        BridgeMethod("getInfo"), BridgeMethod("getState"), BridgeMethod("getLaunchUrl"),
        BridgeMethod("getAppLanguage"), BridgeMethod("exitApp"), BridgeMethod("minimizeApp"),
        BridgeMethod("toggleBackButtonHandler"),
    ]
    package let retainedEvents: Set<String> = ["appUrlOpen"]

    private struct State {
        var isActive = true
        var handlesBack = true
    }

    private let facts: AppFacts
    private let window: WindowActions
    private let events: any BridgeEvents
    private let state = Mutex(State())

    package init(facts: AppFacts, window: WindowActions, events: any BridgeEvents) {
        self.facts = facts
        self.window = window
        self.events = events
    }

    package func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        switch method {
        case "getInfo":
            return [
                "id": .string(facts.id), "name": .string(facts.name), "version": .string(facts.version),
                "build": .string(facts.build),
            ]
        case "getState": return ["isActive": .bool(state.withLock { $0.isActive })]
        // HO-9: a link is delivered once, here or as an event, whichever the page asks for first.
        case "getLaunchUrl": return await events.takeRetained(name, "appUrlOpen") ?? [:]
        case "getAppLanguage": return ["value": .string(facts.language)]
        case "exitApp":
            await window.close()
            return .null
        case "minimizeApp":
            await window.minimize()
            return .null
        default:
            guard let enabled = options["enabled"]?.bool else {
                throw BridgeRejection(code: "INVALID", message: "toggleBackButtonHandler needs {enabled: true|false}.")
            }
            state.withLock { $0.handlesBack = enabled }
            return .null
        }
    }

    /// A link for the page.
    package func open(_ url: String) async { await Self.open(url, events) }

    package static func open(_ url: String, _ events: any BridgeEvents) async {
        await events.emit("App", "appUrlOpen", ["url": .string(url)])
    }

    /// The window has come to the front, or left it.
    package func becomes(active: Bool) async {
        let isNews = state.withLock { state in
            defer { state.isActive = active }
            return state.isActive != active
        }
        guard isNews else { return }
        await events.emit(name, "appStateChange", ["isActive": .bool(active)])
        await events.emit(name, active ? "resume" : "pause", [:])
        await events.trigger(active ? "resume" : "pause", on: "document")
    }

    /// SH-5. True when the page deals with it.
    package func back(canGoBack: Bool) async -> Bool {
        guard state.withLock({ $0.handlesBack }), await events.hasListener(name, "backButton") else { return false }
        await events.emit(name, "backButton", ["canGoBack": .bool(canGoBack)])
        return true
    }
}
