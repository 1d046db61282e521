// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreBridge
package import NacreCore

/// What `nacre.session` asks for.
package struct SessionActions: Sendable {
    package let signIn: @Sendable () async -> JSONValue
    package let cancel: @Sendable () async -> Void
    package let reopenBrowser: @Sendable () async throws -> Void
    package let signOut: @Sendable () async -> JSONValue
    /// Validates, unlocking the secret store first where it is locked; the snapshot after.
    package let validate: @Sendable () async -> JSONValue
    package let snapshot: @Sendable () async -> JSONValue

    package init(
        signIn: @escaping @Sendable () async -> JSONValue, cancel: @escaping @Sendable () async -> Void,
        reopenBrowser: @escaping @Sendable () async throws -> Void,
        signOut: @escaping @Sendable () async -> JSONValue, validate: @escaping @Sendable () async -> JSONValue,
        snapshot: @escaping @Sendable () async -> JSONValue
    ) {
        self.signIn = signIn
        self.cancel = cancel
        self.reopenBrowser = reopenBrowser
        self.signOut = signOut
        self.validate = validate
        self.snapshot = snapshot
    }
}

/// Backs `window.nacre`; bundles do not call it by name.
package struct NacrePlugin: BridgePlugin {
    static let pluginName = "Nacre"
    package static let sessionEvent = "session"
    /// What of the page the system covers (`PageSurface.value`).
    static let surfaceEvent = "surface"
    /// An event for `document` or `window`: `{name, target, data}`.
    static let triggerEvent = "trigger"

    package let name = NacrePlugin.pluginName
    package let methods = ["signIn", "cancelSignIn", "reopenBrowser", "signOut", "validate", "report"].map {
        BridgeMethod($0)
    }
    private let session: SessionActions
    private let surface: PageSurface
    private let report: @Sendable () async -> String

    package init(session: SessionActions, surface: PageSurface, report: @escaping @Sendable () async -> String) {
        self.session = session
        self.surface = surface
        self.report = report
    }

    package func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        switch method {
        case "signIn": return await session.signIn()
        case "cancelSignIn":
            await session.cancel()
            return .null
        case "reopenBrowser":
            try await session.reopenBrowser()
            return .null
        case "signOut": return await session.signOut()
        case "report": return ["text": .string(await report())]
        default: return await session.validate()
        }
    }

    package func currentValue(of event: String) async -> JSONValue? {
        switch event {
        case Self.sessionEvent: await session.snapshot()
        case Self.surfaceEvent: await surface.value
        default: nil
        }
    }
}
