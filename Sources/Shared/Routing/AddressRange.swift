// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// An address, or all addresses that begin with the same bits, as `10.0.0.0/8` or `2001:db8::/32` writes them.
public struct AddressRange: Sendable, Hashable {
    private let bytes: [UInt8]
    private let bits: Int

    /// The range that `text` writes; nil when it is none, or when bits are set behind its prefix.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let bytes = Self.bytes(of: String(parts[0])) else { return nil }
        var bits = bytes.count * 8
        if parts.count == 2 {
            guard let number = Int(parts[1]), (0...bits).contains(number), String(number) == parts[1] else {
                return nil
            }
            bits = number
        }
        self.bytes = bytes
        self.bits = bits
        // "10.1.2.3/8" is a slip: whoever writes it may mean 10.1.2.3 alone.
        for place in bits..<(bytes.count * 8) where Self.bit(place, of: bytes) { return nil }
    }

    /// Whether `address`, in any spelling, is one of them.
    public func contains(_ address: String) -> Bool {
        guard let other = Self.bytes(of: address) else { return false }
        return contains(octets: other)
    }

    /// The same for an address as 4 or 16 bytes, IPv4 inside IPv6 as 4.
    package func contains(octets other: [UInt8]) -> Bool {
        guard other.count == bytes.count else { return false }
        return (0..<bits).allSatisfy { Self.bit($0, of: other) == Self.bit($0, of: bytes) }
    }

    private static func bit(_ place: Int, of bytes: [UInt8]) -> Bool {
        let mask = UInt8(0x80) >> UInt8(place % 8)
        return bytes[place / 8] & mask != 0
    }

    /// 4 or 16 bytes; IPv4 inside IPv6 as 4.
    private static func bytes(of address: String) -> [UInt8]? {
        guard let text = ClientNetwork.canonical(address) else { return nil }
        if text.contains(":") {
            return text.split(separator: ":").flatMap { group -> [UInt8] in
                let value = UInt16(group, radix: 16) ?? 0
                return [UInt8(value >> 8), UInt8(value & 255)]
            }
        }
        return text.split(separator: ".").compactMap { UInt8($0) }
    }
}
