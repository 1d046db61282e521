// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// The charge by /sys/class/power_supply.
package enum LinuxBattery {
    /// The first battery's charge from 0 to 1 and whether it is being charged; nil where there is none.
    package static func now() -> (level: Double, isCharging: Bool)? {
        for number in 0..<4 {
            let folder = "/sys/class/power_supply/BAT\(number)/"
            guard let capacity = LinuxFiles.firstLine(folder + "capacity") else { continue }
            return reading(capacity: capacity, status: LinuxFiles.firstLine(folder + "status") ?? "")
        }
        return nil
    }

    static func reading(capacity: String, status: String) -> (level: Double, isCharging: Bool)? {
        guard let percent = Double(capacity), (0...100).contains(percent) else { return nil }
        return (percent / 100, status == "Charging" || status == "Full")
    }
}
