// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreRouting

/// Which addresses are on the public Internet: only there may a message send us.
enum PublicAddress {
    /// IPv4 blocks that are not global (IANA special-purpose registry).
    private static let special = ranges([
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
    ])
    /// The part of IPv6 that is given out, and what in it stands for something else: tunnels lead to IPv4 addresses.
    private static let global = ranges(["2000::/3"])
    private static let specialGlobal = ranges(["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"])

    private static func ranges(_ texts: [String]) -> [AddressRange] { texts.compactMap { AddressRange($0) } }

    static func contains(_ address: String) -> Bool {
        guard let text = ClientNetwork.canonical(address) else { return false }
        guard text.contains(":") else { return !special.contains { $0.contains(text) } }  // guard: remote-private
        return global.contains { $0.contains(text) } && !specialGlobal.contains { $0.contains(text) }
    }
}
