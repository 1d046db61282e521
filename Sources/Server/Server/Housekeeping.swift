// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreGateway
import NacreProvider

/// Removes what has expired, every few minutes, in whichever process holds the lease.
struct Housekeeping: Sendable {
    static let interval: Duration = .seconds(300)
    /// Longer than the interval, so that the holder keeps it; so long after its death another process takes over.
    static let lease: Duration = .seconds(900)

    let gateway: Gateway
    let provider: EmbeddedProvider?
    let lease: Lease
    let metrics: ServerMetrics
    let time: any TimeSource
    let log: Log

    /// Until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            do { _ = try await sweep() } catch is CancellationError { return } catch {
                log.error("server.sweep_failed", ["error": .string("\(error)")])
            }
            do { try await time.sleep(for: Self.interval) } catch { return }
        }
    }

    /// One round; false when another process does it.
    func sweep() async throws -> Bool {
        guard try await lease.take(for: Self.lease) else { return false }
        var removed = try await gateway.sweep()
        if let provider { removed.merge(try await provider.sweep()) { $0 + $1 } }
        for (table, count) in removed { metrics.retention.add(Double(count), table) }
        let total = removed.values.reduce(0, +)
        if total > 0 { log.info("retention.done", ["rows": JSONValue(total)]) }
        return true
    }
}
