// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Where randomness comes from. Handed in everywhere, so that tests can repeat a run.
public protocol RandomSource: Sendable {
    /// `count` bytes fit for keys and tokens.
    func bytes(_ count: Int) -> [UInt8]
}

/// The operating system's generator.
public struct SystemRandom: RandomSource {
    /// The operating system's generator.
    public init() {}
    public func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        var result: [UInt8] = []
        result.reserveCapacity(count + 7)
        while result.count < count {
            withUnsafeBytes(of: generator.next()) { result.append(contentsOf: $0) }
        }
        return Array(result.prefix(count))
    }
}

extension RandomSource {
    /// A random token of `bits` bits (a multiple of 8) as base64url text without padding.
    public func token(bits: Int = 256) -> String { Base64URL.encode(bytes(bits / 8)) }

    /// A random identifier of 128 bits as 32 lower-case hexadecimal digits.
    public func identifier() -> String { Hex.encode(bytes(16)) }

    /// A number in `0 ..< 1`, for jitter.
    public func unit() -> Double {
        let word = bytes(8).reduce(UInt64(0)) { ($0 << 8) | UInt64($1) }
        return Double(word >> 11) * 0x1p-53
    }
}
