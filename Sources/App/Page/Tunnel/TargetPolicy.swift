// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Which addresses a raw tunnel may reach: public ones only, so that no page or mail scans this machine or its network.
///
/// Checked on the resolved address, and that very address is connected to.
enum TargetPolicy {
    /// Whether the address (4 or 16 octets) is an ordinary public one (IANA special-purpose registries, RFC 6890).
    static func isPublic(_ octets: [UInt8]) -> Bool {
        switch octets.count {
        case 4: isPublicV4(octets)
        case 16: isPublicV6(octets)
        default: false
        }
    }

    private static func isPublicV4(_ a: [UInt8]) -> Bool {
        switch (a[0], a[1], a[2]) {
        case (0, _, _), (10, _, _), (127, _, _): false
        case (100, 64...127, _), (169, 254, _), (172, 16...31, _), (192, 168, _), (198, 18...19, _): false
        case (192, 0, 0), (192, 0, 2), (198, 51, 100), (203, 0, 113): false
        case (224..., _, _): false
        default: true
        }
    }

    private static func isPublicV6(_ a: [UInt8]) -> Bool {
        // Forms that carry an IPv4 address are judged by it: mapped, compatible, NAT64, 6to4.
        if a[0..<10].allSatisfy({ $0 == 0 }), (a[10] == 0xFF && a[11] == 0xFF) || (a[10] == 0 && a[11] == 0) {
            return isPublicV4(Array(a[12...]))
        }
        if a[0..<12].elementsEqual([0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]) {
            return isPublicV4(Array(a[12...]))
        }
        if a[0] == 0x20, a[1] == 0x02 { return isPublicV4(Array(a[2..<6])) }
        // Beside those only global unicast is public, without Teredo, ORCHID, benchmarking and documentation.
        guard a[0] & 0xE0 == 0x20 else { return false }
        if a[0] == 0x20, a[1] == 0x01, a[2] < 0x02 { return false }
        if a[0] == 0x20, a[1] == 0x01, a[2] == 0x0D, a[3] == 0xB8 { return false }
        return !(a[0] == 0x3F && a[1] == 0xFF && a[2] < 0x10)
    }

    /// Whether a name may be handed to a proxy, which resolves it out of our sight: literal addresses are judged, names
    /// of this machine refused.
    static func mayBeProxied(_ host: String, octets: [UInt8]?) -> Bool {
        if let octets { return isPublic(octets) }
        var host = host[...]
        // A dot at the end only says that the name is whole.
        while host.hasSuffix(".") { host.removeLast() }  // guard: tunnel-final-dot
        return host != "localhost" && !host.hasSuffix(".localhost") && host.contains(".") && !host.hasSuffix(".local")
    }
}
