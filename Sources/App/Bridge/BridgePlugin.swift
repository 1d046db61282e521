// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import Synchronization

/// One method of a plugin, as its header tells the page.
package struct BridgeMethod: Sendable {
    /// What the page gets from a call.
    package enum Returns: String, Sendable {
        /// A promise of one result.
        case promise
        /// A callback that may be called often.
        case callback
        /// Nothing.
        case none
    }

    package let name: String
    package let returns: Returns

    package init(_ name: String, _ returns: Returns = .promise) {
        self.name = name
        self.returns = returns
    }
}

/// A plugin: native powers under one name, called from the page.
package protocol BridgePlugin: Sendable {
    var name: String { get }
    /// Without the listener methods, which every plugin has.
    var methods: [BridgeMethod] { get }
    /// Events that wait for their first listener when there is none.
    var retainedEvents: Set<String> { get }
    /// Answers a call. What it throws rejects the page's promise with code and message. The task is cancelled when the
    /// page goes.
    func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue
    /// The present value of an event that has one, delivered to each new listener at once.
    func currentValue(of event: String) async -> JSONValue?
}

extension BridgePlugin {
    package var retainedEvents: Set<String> { [] }
    package func currentValue(of event: String) async -> JSONValue? { nil }

    /// The header the page's script reads once, before the first script of the page.
    package var header: JSONValue {
        let own = methods.map { method -> JSONValue in
            method.returns == .none
                ? ["name": .string(method.name)]
                : ["name": .string(method.name), "rtype": .string(method.returns.rawValue)]
        }
        let listeners: [JSONValue] = [
            ["name": "addListener"], ["name": "removeListener"],
            ["name": "removeAllListeners", "rtype": "promise"], ["name": "checkPermissions", "rtype": "promise"],
            ["name": "requestPermissions", "rtype": "promise"],
        ]
        return ["name": .string(name), "methods": .array(own + listeners)]
    }
}

/// What a plugin may do with a call beside returning one value.
package struct BridgeCallContext: Sendable {
    /// The page load the call came from.
    package let pageLoad: UInt64
    /// Sends one more value to a `callback` method's callback.
    package let send: @Sendable (JSONValue) async -> Void

    package init(pageLoad: UInt64, send: @escaping @Sendable (JSONValue) async -> Void) {
        self.pageLoad = pageLoad
        self.send = send
    }
}

/// Where plugins raise their events.
package protocol BridgeEvents: Sendable {
    func emit(_ plugin: String, _ event: String, _ data: JSONValue) async
    /// Takes the oldest event that still waits for a listener, so that nobody gets it twice.
    func takeRetained(_ plugin: String, _ event: String) async -> JSONValue?
    /// Whether the page listens to it now.
    func hasListener(_ plugin: String, _ event: String) async -> Bool
}

/// Plugins are made before the bridge that carries their events; this joins the two.
package final class BridgeEventsRelay: BridgeEvents {
    private let bridge = Mutex<(any BridgeEvents)?>(nil)

    package init() {}

    /// From now on events go to `bridge`.
    package func connect(_ bridge: any BridgeEvents) { self.bridge.withLock { $0 = bridge } }

    private var connected: (any BridgeEvents)? { bridge.withLock { $0 } }

    package func emit(_ plugin: String, _ event: String, _ data: JSONValue) async {
        await connected?.emit(plugin, event, data)
    }
    package func takeRetained(_ plugin: String, _ event: String) async -> JSONValue? {
        await connected?.takeRetained(plugin, event)
    }
    package func hasListener(_ plugin: String, _ event: String) async -> Bool {
        await connected?.hasListener(plugin, event) ?? false
    }
}
