// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreBridge
package import NacreCore

/// What the platform says of the machine.
package struct DeviceFacts: Sendable {
    package let platform: String
    package let name: String
    package let manufacturer: String
    package let model: String
    package let systemName: String
    package let systemVersion: String
    package let isVirtual: Bool
    /// A language tag such as `fr-FR`.
    package let language: String
    /// The charge from 0 to 1 and whether it is being charged; nil where there is no battery, or none that can be read.
    package let battery: @Sendable () async -> (level: Double, isCharging: Bool)?
    /// The version of the web engine, where it is known.
    package let webViewVersion: String?

    package init(
        platform: String, name: String, manufacturer: String, model: String, systemName: String,
        systemVersion: String, isVirtual: Bool, language: String,
        battery: @escaping @Sendable () async -> (level: Double, isCharging: Bool)? = { nil },
        webViewVersion: String? = nil
    ) {
        self.platform = platform
        self.name = name
        self.manufacturer = manufacturer
        self.model = model
        self.systemName = systemName
        self.systemVersion = systemVersion
        self.isVirtual = isVirtual
        self.language = language
        self.battery = battery
        self.webViewVersion = webViewVersion
    }
}

/// Capacitor's `Device`. What is not known is said not to be.
package struct DevicePlugin: BridgePlugin {
    private static let area = "nacre"
    private static let identifier = "device.id"

    package let name = "Device"
    package let methods = ["getId", "getInfo", "getBatteryInfo", "getLanguageCode", "getLanguageTag"].map {
        BridgeMethod($0)
    }
    private let facts: DeviceFacts
    private let preferences: PreferencesPlugin
    private let random: any RandomSource

    package init(facts: DeviceFacts, preferences: PreferencesPlugin, random: any RandomSource) {
        self.facts = facts
        self.preferences = preferences
        self.random = random
    }

    package func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        switch method {
        case "getId": return ["identifier": .string(try await identifier())]
        case "getInfo":
            var info: [String: JSONValue] = [
                "name": .string(facts.name), "model": .string(facts.model), "platform": .string(facts.platform),
                "operatingSystem": .string(facts.platform), "osVersion": .string(facts.systemVersion),
                "manufacturer": .string(facts.manufacturer), "isVirtual": .bool(facts.isVirtual),
                "systemName": .string(facts.systemName),
            ]
            if let version = facts.webViewVersion { info["webViewVersion"] = .string(version) }
            return .object(info)
        case "getBatteryInfo":
            guard let battery = await facts.battery() else {
                throw BridgeRejection(code: "UNAVAILABLE", message: "This device tells nothing of a battery.")
            }
            return ["batteryLevel": .number(battery.level), "isCharging": .bool(battery.isCharging)]
        case "getLanguageCode":
            return ["value": .string(String(facts.language.prefix { $0 != "-" }))]
        default: return ["value": .string(facts.language)]
        }
    }

    /// Random, of this app on this device alone; it names no person and no machine.
    private func identifier() async throws -> String {
        if let known = try await preferences.value(Self.identifier, in: Self.area) { return known }
        let made = random.identifier()
        try await preferences.set(Self.identifier, made, in: Self.area)
        return made
    }
}
