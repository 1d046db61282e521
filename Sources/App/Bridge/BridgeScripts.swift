// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// What the page's script knows from the start.
package struct BridgePageConfiguration: Sendable {
    /// `linux`, `macos`, `ios`, `android`.
    package var platform: String
    /// `app.origin`.
    package var origin: String
    /// The API's origin as the page must address it.
    package var apiOrigin: String
    /// Names for which `nacre.can(name)` is true.
    package var capabilities: [String]
    /// `nacre.version` (UP-11).
    package var version: JSONValue
    /// The session as it stands now, so that the first paint is right.
    package var session: JSONValue
    /// What of the page the system covers (SH-5); null where nobody tells.
    package var surface: JSONValue
    /// What `nacre.server` says, in apps whose server a person chooses; null in others.
    package var server: JSONValue
    /// What `nacre.accounts` says, in apps that a person may use with several; null in others.
    package var accounts: JSONValue
    /// What `nacre.updates` says now; null in apps without updates over the air.
    package var updates: JSONValue
    /// Whether the screen is one to touch; nil asks the web engine.
    package var touch: Bool?
    package var debug: Bool

    package init(
        platform: String, origin: String, apiOrigin: String, capabilities: [String], version: JSONValue,
        session: JSONValue, surface: JSONValue = .null, server: JSONValue = .null,
        accounts: JSONValue = .null, updates: JSONValue = .null, touch: Bool? = nil, debug: Bool
    ) {
        self.platform = platform
        self.origin = origin
        self.apiOrigin = apiOrigin
        self.capabilities = capabilities
        self.version = version
        self.session = session
        self.surface = surface
        self.server = server
        self.accounts = accounts
        self.updates = updates
        self.touch = touch
        self.debug = debug
    }
}

/// The two scripts of the bridge, ready to be injected at document start, top frame only.
package struct BridgeScripts: Sendable {
    /// For the page's own world.
    package let page: String
    /// For the isolated world that holds the message handler.
    package let isolated: String

    /// - Parameters:
    ///   - handler: the name of the message handler in the isolated world.
    ///   - receiver: the global function there that takes what the app sends.
    package init(
        _ configuration: BridgePageConfiguration, plugins: [any BridgePlugin], handler: String, receiver: String
    ) {
        let forPage: JSONValue = [
            "platform": .string(configuration.platform), "serverUrl": .string(configuration.origin),
            "apiOrigin": .string(configuration.apiOrigin), "debug": .bool(configuration.debug),
            "capabilities": .array(configuration.capabilities.map(JSONValue.string)),
            "version": configuration.version, "session": configuration.session,
            "surface": configuration.surface, "server": configuration.server,
            "accounts": configuration.accounts,
            "updates": configuration.updates,
            "touch": configuration.touch.map(JSONValue.bool) ?? .null,
            "largest": .integer(Int64(BridgeEnvelope.largest)), "pluginHeaders": .array(plugins.map(\.header)),
        ]
        page = Self.fill(PackageResources.bridge_js, with: forPage)
        isolated = Self.fill(
            PackageResources.isolated_js, with: ["handler": .string(handler), "receiver": .string(receiver)])
    }

    fileprivate static func fill(_ script: [UInt8], with configuration: JSONValue) -> String {
        let text = String(decoding: script, as: UTF8.self)
        let mark = "/*nacre:configuration*/ null"
        guard let place = text.firstRange(ofText: mark) else { preconditionFailure("the script has lost its mark") }
        return text[..<place.lowerBound] + configuration.text + text[place.upperBound...]
    }
}

/// The script of the patched page channel, for the top frame behind the bridge's script, for the page's own frames, and
/// for its workers.
package struct PatchScript: Sendable {
    package let text: String

    /// - Parameters:
    ///   - apiOrigin: the API's origin as the page addresses it.
    ///   - origin: the page's own.
    package init(apiOrigin: String, origin: String) {
        let core = BridgeScripts.fill(
            PackageResources.page_fetch_js, with: ["apiOrigin": .string(apiOrigin), "origin": .string(origin)])
        let parts = [PackageResources.page_streams_js, PackageResources.page_media_js].map { script in
            "if (kit) (" + String(decoding: script, as: UTF8.self) + ")(kit);\n"
        }
        text = "{\nconst kit = \(core);\n\(parts.joined())}\n"
    }
}
