// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreListener
import NacreTesting
import Testing

/// A small generator with a seed, so that a failure comes back the same.
private struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {  // splitmix64
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

@Suite("Bytes in any pieces")
struct SplittingTests {
    private static let good = [
        "GET /1 HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n",
        "\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
        "POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;q=1\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nT: u\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    ]

    @Test("Every split of every table entry gives the result of the whole")
    func everySplit() {
        for text in Self.good + (MalformedRequest.heads + MalformedRequest.chunks).map(\.text)
        where text.utf8.count < 2000 {
            let bytes = Array(text.utf8)
            let whole = parse(bytes, cutAt: [])
            for cut in 0..<bytes.count {
                let split = parse(bytes, cutAt: [cut])
                #expect(split == whole, "cut at \(cut) of \(text.debugDescription)")
                if split != whole { return }
            }
            #expect(parse(bytes, cutAt: Array(0..<bytes.count)) == whole, "byte by byte: \(text.debugDescription)")
        }
    }

    @Test("Limits do not depend on the pieces", arguments: [61, 1000, 4096, 32_767, 32_768, 32_769])
    func limits(_ size: Int) {
        for request in MalformedRequest.heads + MalformedRequest.chunks where request.text.utf8.count >= 2000 {
            let bytes = Array(request.text.utf8)
            let cuts = Array(stride(from: size, to: bytes.count, by: size))
            #expect(parse(bytes, cutAt: cuts) == parse(bytes, cutAt: []), "\(request.name)")
        }
    }

    @Test("Random damage never traps and never depends on the pieces", arguments: [1, 2, 3, 4] as [UInt64])
    func mutations(_ seed: UInt64) {
        var random = Seeded(state: seed)
        let alphabet: [UInt8] = [0, 9, 10, 13, 32, 35, 43, 44, 45, 48, 53, 58, 59, 65, 97, 127, 128, 255]
        let sources = Self.good + (MalformedRequest.heads + MalformedRequest.chunks).map(\.text)
        let short = sources.filter { $0.utf8.count < 400 }.map { Array($0.utf8) }
        for _ in 0..<1500 {
            var bytes = short.randomElement(using: &random)! + short.randomElement(using: &random)!
            for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = alphabet.randomElement(using: &random)!
                case 1: bytes.insert(alphabet.randomElement(using: &random)!, at: place)
                case 2: bytes.remove(at: place)
                default: bytes[place] = UInt8.random(in: 0...255, using: &random)
                }
            }
            let cuts = (0..<3).map { _ in Int.random(in: 0...bytes.count, using: &random) }
            let (whole, split) = (parse(bytes, cutAt: []), parse(bytes, cutAt: cuts))
            #expect(whole == split, "seed \(seed): \(bytes) cut at \(cuts)")
            if whole != split { return }
        }
    }
}
