// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreBridge
package import NacreCore
package import NacrePorts

/// Capacitor's `Network` over the system's own idea of it.
package struct NetworkPlugin: BridgePlugin {
    package let name = "Network"
    package let methods = [BridgeMethod("getStatus")]
    private let monitor: any NetworkMonitor
    private let events: any BridgeEvents

    package init(monitor: any NetworkMonitor, events: any BridgeEvents) {
        self.monitor = monitor
        self.events = events
    }

    package func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        Self.json(await monitor.status())
    }

    /// Tells the page of every change until the task is cancelled.
    package func follow() async {
        var last = await monitor.status()
        for await status in await monitor.changes() where status != last {
            last = status
            await events.emit(name, "networkStatusChange", Self.json(status))
        }
    }

    private static func json(_ status: NetworkStatus) -> JSONValue {
        ["connected": .bool(status.isConnected), "connectionType": .string(status.kind.rawValue)]
    }
}
