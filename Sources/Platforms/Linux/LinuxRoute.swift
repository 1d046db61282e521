// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacrePorts

/// By which kind of interface the machine reaches the rest of the world.
package enum LinuxRoute {
    /// Of the default route with the smallest metric.
    package static func kind() -> NetworkStatus.Kind {
        guard let interface = interface(LinuxFiles.text("/proc/net/route") ?? "") else { return .unknown }
        return kind(of: interface, isWireless: LinuxFiles.text("/sys/class/net/\(interface)/phy80211/name") != nil)
    }

    /// The interface of the default route in the words of /proc/net/route.
    static func interface(_ table: String) -> String? {
        let rows = table.split(separator: "\n").dropFirst().map {
            $0.split(whereSeparator: { $0 == " " || $0 == "\t" })
        }
        let defaults = rows.filter { $0.count > 7 && $0[1] == "00000000" && $0[7] == "00000000" }
        return defaults.min { (Int($0[6]) ?? .max) < (Int($1[6]) ?? .max) }.map { String($0[0]) }
    }

    /// By the names that the kernel and systemd give.
    static func kind(of interface: String, isWireless: Bool) -> NetworkStatus.Kind {
        if isWireless || interface.hasPrefix("wl") { return .wifi }
        if ["ww", "ppp", "rmnet"].contains(where: { interface.hasPrefix($0) }) { return .cellular }
        return .unknown
    }
}
