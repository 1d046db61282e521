// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Whom a limit counts: an IPv4 address by itself, an IPv6 address by its network of 64 bits, since one household has such
/// a network and may use any address in it.
public enum ClientNetwork {
    /// The name under which `address` is counted. Every spelling of one address has one name; a port and a zone do not
    /// count; a text that is no address stands for itself.
    public static func name(of address: String) -> String {
        let bare = withoutPort(address)
        guard bare.contains(":") else { return String(bare) }
        guard let groups = groups(of: bare) else { return address }
        if groups[..<5].allSatisfy({ $0 == 0 }), groups[5] == 0xFFFF {
            return "\(groups[6] >> 8).\(groups[6] & 255).\(groups[7] >> 8).\(groups[7] & 255)"
        }
        return groups[..<4].map { String($0, radix: 16) }.joined(separator: ":") + "::/64"
    }

    /// The one spelling of an address, without port and zone; nil when the text is no address.
    public static func canonical(_ address: String) -> String? {
        let bare = withoutPort(address)
        guard bare.contains(":") else {
            let octets = bare.split(separator: ".", omittingEmptySubsequences: false)
            guard octets.count == 4, octets.allSatisfy({ UInt8($0).map { String($0) } == String($0) }) else {
                return nil
            }
            return String(bare)
        }
        guard let groups = groups(of: bare) else { return nil }
        if groups[..<5].allSatisfy({ $0 == 0 }), groups[5] == 0xFFFF { return name(of: address) }
        return groups.map { String($0, radix: 16) }.joined(separator: ":")
    }

    /// `1.2.3.4:80`, `[::1]:80` and `fe80::1%eth0` without what stands beside the address.
    private static func withoutPort(_ address: String) -> Substring {
        var rest = address[...]
        if rest.first == "[", let end = rest.firstIndex(of: "]") {
            rest = rest[rest.index(after: rest.startIndex)..<end]
        } else if rest.contains("."), let colon = rest.firstIndex(of: ":"), colon == rest.lastIndex(of: ":") {
            rest = rest[..<colon]
        }
        return rest.prefix { $0 != "%" }
    }

    /// The eight groups of an IPv6 address (RFC 4291 section 2.2), or nil.
    private static func groups(of text: Substring) -> [UInt16]? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (3...9).contains(parts.count) else { return nil }
        var groups: [UInt16] = []
        var gap: Int?
        for (index, part) in parts.enumerated() {
            guard part.isEmpty else {
                guard let read = read(part, isLast: index == parts.count - 1) else { return nil }
                groups += read
                continue
            }
            // The colons at the ends of "::1" and "1::" make an empty part more.
            if index == 0 || index == parts.count - 1 { continue }
            guard gap == nil else { return nil }
            gap = groups.count
        }
        guard let gap else { return groups.count == 8 ? groups : nil }
        guard groups.count < 8 else { return nil }
        groups.insert(contentsOf: repeatElement(0, count: 8 - groups.count), at: gap)
        return groups
    }

    /// One group, or the two of an IPv4 address at the end.
    private static func read(_ part: Substring, isLast: Bool) -> [UInt16]? {
        if isLast, part.contains(".") {
            let octets = part.split(separator: ".", omittingEmptySubsequences: false).compactMap { UInt8($0) }
            guard octets.count == 4 else { return nil }
            return [UInt16(octets[0]) << 8 | UInt16(octets[1]), UInt16(octets[2]) << 8 | UInt16(octets[3])]
        }
        guard part.utf8.count <= 4, part.allSatisfy(\.isHexDigit) else { return nil }
        return UInt16(part, radix: 16).map { [$0] }
    }
}
