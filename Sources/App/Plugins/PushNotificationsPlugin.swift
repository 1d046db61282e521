// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreBridge
package import NacreCore

/// Capacitor's `PushNotifications` where no push service is: the permission is denied, a registration ends in
/// `registrationError`, and nothing keeps a page waiting.
package struct PushNotificationsPlugin: BridgePlugin {
    package let name = "PushNotifications"
    package let methods = [
        "register", "unregister", "checkPermissions", "requestPermissions", "getDeliveredNotifications",
        "removeDeliveredNotifications", "removeAllDeliveredNotifications", "listChannels",
    ].map { BridgeMethod($0) }
    package let retainedEvents: Set<String> = ["registrationError"]
    private let events: any BridgeEvents

    package init(events: any BridgeEvents) { self.events = events }

    package func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        switch method {
        case "register":
            let reason = "This app has no push service on this system."
            await events.emit(name, "registrationError", ["error": .string(reason)])
            return .null
        case "checkPermissions", "requestPermissions": return ["receive": "denied"]
        case "getDeliveredNotifications": return ["notifications": []]
        case "listChannels": return ["channels": []]
        case "removeDeliveredNotifications":
            guard options["notifications"]?.array != nil else {
                throw BridgeRejection.invalid("Must provide notifications array when removing notifications")
            }
            return .null
        default: return .null
        }
    }
}
