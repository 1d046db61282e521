// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Testing

@testable import NacreLimits

@Suite("Counts in memory") struct LocalLimiterTests {
    private let limit = Limit("test", 2, per: .seconds(60))

    private func fill(_ limiter: LocalLimiter) {
        for number in 0..<100_000 {
            let id = (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
            _ = limiter.take([(id, limit)], now: 0)
        }
        #expect(limiter.count == 100_000)
    }

    @Test("A flood of clients has a limit of memory: what is empty is forgotten, and at last all")
    func memory() {
        let limiter = LocalLimiter()
        fill(limiter)
        #expect(limiter.take([([255, 255, 255, 255, 1], limit)], now: 1) == 0)
        #expect(limiter.count == 1, "nothing was empty, so all are forgotten")
        _ = limiter.take([([1], limit)], now: 1)
        #expect(limiter.count == 2)
    }
}
