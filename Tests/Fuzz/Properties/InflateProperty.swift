// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreReleases

/// A deflate stream gives the same bytes whole and in pieces, and the same as a second reading of RFC 1951.
enum InflateProperty {
    private static let most = 1 << 20

    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        guard !bytes.isEmpty else { return false }
        let whole = inflate([bytes])
        if bytes.count > 1 {
            let place = 1 + fingerprint(bytes) % (bytes.count - 1)
            let halves = inflate([Array(bytes[..<place]), Array(bytes[place...])])
            try demand(whole == halves, "another result in two pieces")
        }
        try demand(inflate([bytes, [0]]) == nil, "goes on behind its end")
        let second = InflateOracle.inflate(bytes, most: most)
        try demand(whole == second, "\(whole?.count ?? -1) bytes, and \(second?.count ?? -1) in a second reading")
        return whole != nil
    }

    /// What came out, or nil for a stream that is damaged, ends early, goes on behind its end or gives too much.
    private static func inflate(_ pieces: [[UInt8]]) -> [UInt8]? {
        var out: [UInt8] = []
        do throws(NacreError) {
            var inflater = try Inflater()
            for piece in pieces {
                try inflater.inflate(piece) { (some: [UInt8]) throws(NacreError) in
                    out += some
                    guard out.count <= most else { throw NacreError("fuzz.enough", "Enough.") }
                }
            }
            return inflater.isFinished ? out : nil
        } catch { return nil }
    }
}

/// A second reading of RFC 1951, bit by bit: slow, and with nothing in common with zlib.
struct InflateOracle {
    private struct Damaged: Error {}
    private let bytes: [UInt8]
    private let most: Int
    private var at = 0
    private var out: [UInt8] = []

    static func inflate(_ bytes: [UInt8], most: Int) -> [UInt8]? {
        var reader = InflateOracle(bytes: bytes, most: most)
        do {
            try reader.blocks()
            return (reader.at + 7) / 8 == bytes.count ? reader.out : nil
        } catch { return nil }
    }

    private init(bytes: [UInt8], most: Int) { (self.bytes, self.most) = (bytes, most) }

    private mutating func bits(_ count: Int) throws(Damaged) -> Int {
        guard at + count <= bytes.count * 8 else { throw Damaged() }
        var value = 0
        for index in 0..<count { value |= Int(bytes[(at + index) >> 3] >> UInt8((at + index) & 7) & 1) << index }
        at += count
        return value
    }

    private mutating func blocks() throws(Damaged) {
        var isLast = false
        while !isLast {
            isLast = try bits(1) == 1
            switch try bits(2) {
            case 0: try stored()
            case 1:
                let lengths = (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 }
                try codes(Code(lengths), Code([Int](repeating: 5, count: 30)))
            case 2: try dynamic()
            default: throw Damaged()
            }
        }
    }

    private mutating func stored() throws(Damaged) {
        at = (at + 7) / 8 * 8
        let length = try bits(16)
        guard try bits(16) == ~length & 0xFFFF else { throw Damaged() }
        for _ in 0..<length { try put(UInt8(try bits(8))) }
    }

    private mutating func put(_ byte: UInt8) throws(Damaged) {
        guard out.count < most else { throw Damaged() }
        out.append(byte)
    }

    /// Symbols by the length of their codes.
    private struct Code {
        var counts = [Int](repeating: 0, count: 16)
        var symbols: [Int] = []
        /// Codes that no symbol has; below zero where there are more symbols than codes.
        var left = 1

        init(_ lengths: [Int]) {
            for length in lengths { counts[length] += 1 }
            for length in 1...15 { symbols += lengths.indices.filter { lengths[$0] == length } }
            for length in 1...15 { left = left * 2 - counts[length] }
        }

        var isOverfull: Bool {
            var room = 1
            for length in 1...15 {
                room = room * 2 - counts[length]
                if room < 0 { return true }
            }
            return false
        }
        /// Codes are left over, which zlib allows where there is but one, of one bit.
        var isPartial: Bool { left > 0 && !(symbols.count <= 1 && counts[1] == symbols.count) }
    }

    private mutating func symbol(_ code: Code) throws(Damaged) -> Int {
        var (value, first, index) = (0, 0, 0)
        for length in 1...15 {
            value |= try bits(1)
            let count = code.counts[length]
            if value - count < first { return code.symbols[index + value - first] }
            index += count
            first = (first + count) << 1
            value <<= 1
        }
        throw Damaged()
    }

    private mutating func dynamic() throws(Damaged) {
        let (literals, distances, count) = (try bits(5) + 257, try bits(5) + 1, try bits(4) + 4)
        guard literals <= 286, distances <= 30 else { throw Damaged() }
        var lengths = [Int](repeating: 0, count: 19)
        for place in [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15].prefix(count) {
            lengths[place] = try bits(3)
        }
        let code = Code(lengths)
        guard code.left == 0, !code.isOverfull else { throw Damaged() }
        var all: [Int] = []
        while all.count < literals + distances {
            let next = try symbol(code)
            switch next {
            case 0..<16: all.append(next)
            case 16:
                guard let last = all.last else { throw Damaged() }
                all += [Int](repeating: last, count: 3 + (try bits(2)))
            case 17: all += [Int](repeating: 0, count: 3 + (try bits(3)))
            default: all += [Int](repeating: 0, count: 11 + (try bits(7)))
            }
        }
        guard all.count == literals + distances, all[256] > 0 else { throw Damaged() }
        let (one, two) = (Code(Array(all[..<literals])), Code(Array(all[literals...])))
        guard !one.isOverfull, !two.isOverfull, !one.isPartial, !two.isPartial else { throw Damaged() }
        try codes(one, two)
    }

    private static let lengthBase = [
        3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227,
        258,
    ]
    private static let lengthBits = [
        0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
    ]

    private mutating func codes(_ literals: Code, _ distances: Code) throws(Damaged) {
        while true {
            let next = try symbol(literals)
            if next == 256 { return }
            if next < 256 {
                try put(UInt8(next))
                continue
            }
            guard next - 257 < 29 else { throw Damaged() }
            let length = Self.lengthBase[next - 257] + (try bits(Self.lengthBits[next - 257]))
            let which = try symbol(distances)
            // The bases follow from the number of extra bits, two distances each.
            let extra = max(0, which / 2 - 1)
            let distance = (which < 4 ? which : (2 + which % 2) << extra) + 1 + (try bits(extra))
            guard distance <= out.count else { throw Damaged() }
            for _ in 0..<length { try put(out[out.count - distance]) }
        }
    }
}
