// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Glibc

/// What the system says of this machine, for the `Device` plugin and the version report. Nothing that names the person.
package struct LinuxDevice: Sendable, Equatable {
    /// Host name.
    package var name: String
    package var manufacturer: String
    package var model: String
    /// Such as "Debian GNU/Linux".
    package var systemName: String
    /// Such as "12".
    package var systemVersion: String
    package var isVirtual: Bool
    /// Such as `fr-FR`; `en` where the environment names none.
    package var languageTag: String

    /// This machine. Absent files leave "unknown".
    package static func current() -> LinuxDevice {
        var host = [CChar](repeating: 0, count: 256)
        gethostname(&host, host.count - 1)
        let release = release(LinuxFiles.text("/etc/os-release") ?? "")
        return LinuxDevice(
            name: host.withUnsafeBufferPointer { String(cString: $0.baseAddress!) },
            manufacturer: LinuxFiles.firstLine("/sys/class/dmi/id/sys_vendor") ?? "unknown",
            model: LinuxFiles.firstLine("/sys/class/dmi/id/product_name") ?? "unknown",
            systemName: release["NAME"] ?? "Linux", systemVersion: release["VERSION_ID"] ?? "unknown",
            isVirtual: (LinuxFiles.text("/proc/cpuinfo") ?? "").contains(" hypervisor"),
            languageTag: languageTag(locale()))
    }

    /// The locale of messages, by the order of setlocale(3).
    private static func locale() -> String {
        let names: [String] = ["LC_ALL", "LC_MESSAGES", "LANG"]
        for name in names {
            if let value = getenv(name), value.pointee != 0 { return String(cString: value) }
        }
        return ""
    }

    /// `KEY=value` lines of os-release(5), quotes taken off.
    static func release(_ text: String) -> [String: String] {
        var values: [String: String] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let parts = line.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            var value = parts[1]
            if let quote = value.first, quote == "\"" || quote == "'", value.last == quote, value.count > 1 {
                value = value.dropFirst().dropLast()
            }
            values[String(parts[0])] = String(value)
        }
        return values
    }

    /// A POSIX locale such as `fr_FR.UTF-8@euro` as a language tag.
    static func languageTag(_ locale: String) -> String {
        let name = locale.prefix { $0 != "." && $0 != "@" }
        if name.isEmpty || name == "C" || name == "POSIX" { return "en" }
        return name.split(separator: "_").joined(separator: "-")
    }
}
