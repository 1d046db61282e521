// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
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
    func wait(for client: String) -> Int? {
        let now = time.now
        let perMillisecond = perMinute / 60_000
        return buckets.withLock { buckets in
            // A full bucket says nothing: forgetting it changes no answer.
            if buckets.count >= Self.maximumClients {
                buckets = buckets.filter { now - $0.value.updated < .seconds(60) }
            }
            var bucket = buckets[Self.key(client)] ?? Bucket(tokens: perMinute, updated: now)
            let passed = Double(max(0, (now - bucket.updated).inMilliseconds))
            bucket.tokens = min(perMinute, bucket.tokens + passed * perMillisecond)
            bucket.updated = now
            guard bucket.tokens >= 1 else {
                buckets[Self.key(client)] = bucket
                return max(1, Int(((1 - bucket.tokens) / perMillisecond / 1000).rounded(.up)))
            }
            bucket.tokens -= 1
            buckets[Self.key(client)] = bucket
            return nil
        }
    }

    /// One household has one IPv6 network of 64 bits and may use any address in it.
    private static func key(_ client: String) -> String {
        let parts = client.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count > 4, !client.contains("::") else { return client }
        return parts.prefix(4).joined(separator: ":")
    }
}
