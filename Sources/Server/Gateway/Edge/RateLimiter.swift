// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreRouting
import Synchronization

/// Lets each client do something a number of times per minute: a bucket that refills steadily.
final class RateLimiter: Sendable {
    private struct Bucket {
        var tokens: Double
        var updated: Instant
    }

    private static let maximumClients = 100_000

    private let perMinute: Double
    private let time: any TimeSource
    private let buckets = Mutex<[String: Bucket]>([:])

    init(perMinute: Int, time: any TimeSource) {
        self.perMinute = Double(perMinute)
        self.time = time
    }

    /// Nil when the client may go on, else after how many seconds it may try again.
    func wait(for address: String) -> Int? {
        let client = ClientNetwork.name(of: address)  // guard: rate-network
        let now = time.now
        let perMillisecond = perMinute / 60_000
        return buckets.withLock { buckets in
            if buckets.count >= Self.maximumClients { Self.forget(&buckets, now) }
            var bucket = buckets[client] ?? Bucket(tokens: perMinute, updated: now)
            let passed = Double(max(0, (now - bucket.updated).inMilliseconds))
            bucket.tokens = min(perMinute, bucket.tokens + passed * perMillisecond)
            bucket.updated = now
            guard bucket.tokens >= 1 else {
                buckets[client] = bucket
                return max(1, Int(((1 - bucket.tokens) / perMillisecond / 1000).rounded(.up)))
            }
            bucket.tokens -= 1
            buckets[client] = bucket
            return nil
        }
    }

    /// A full bucket says nothing: forgetting it changes no answer. When that frees too little, all are forgotten, so that
    /// a flood of clients costs neither memory without end nor a look at every bucket with each request.
    private static func forget(_ buckets: inout [String: Bucket], _ now: Instant) {
        buckets = buckets.filter { now - $0.value.updated < .seconds(60) }
        if buckets.count > maximumClients / 2 { buckets = [:] }
    }
}
