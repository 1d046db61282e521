// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreListener
import Synchronization

/// Joins two streams until both sides have ended, one breaks, or neither has sent anything for `idle`.
enum TunnelPump {
    /// Runs until then; both streams are closed afterwards.
    static func run(_ a: any DuplexStream, _ b: any DuplexStream, idle: Duration, time: any TimeSource) async {
        let watched = WatchedStream(a)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await DuplexCopy.bothWays(watched, b) }
            group.addTask {
                var seen = -1
                while watched.moved != seen {
                    seen = watched.moved
                    guard (try? await time.sleep(for: idle)) != nil else { return }
                }
                await watched.close()
                await b.close()
            }
            await group.next()
            group.cancelAll()
        }
    }
}

/// Counts what passes.
private final class WatchedStream: DuplexStream, Sendable {
    private let base: any DuplexStream
    private let count = Atomic<Int>(0)

    init(_ base: any DuplexStream) { self.base = base }

    var moved: Int { count.load(ordering: .relaxed) }

    func read() async throws -> [UInt8]? {
        let bytes = try await base.read()
        count.add(1, ordering: .relaxed)
        return bytes
    }
    func write(_ bytes: [UInt8]) async throws {
        try await base.write(bytes)
        count.add(1, ordering: .relaxed)
    }
    func finishWriting() async throws { try await base.finishWriting() }
    func close() async { await base.close() }
}

/// A stream with bytes that were read ahead of it.
final class PrefixedStream: DuplexStream, Sendable {
    private let prefix: Mutex<[UInt8]>
    private let base: any DuplexStream

    init(_ prefix: [UInt8], then base: any DuplexStream) {
        self.prefix = Mutex(prefix)
        self.base = base
    }

    func read() async throws -> [UInt8]? {
        let first = prefix.withLock { bytes in
            defer { bytes = [] }
            return bytes
        }
        return first.isEmpty ? try await base.read() : first
    }
    func write(_ bytes: [UInt8]) async throws { try await base.write(bytes) }
    func finishWriting() async throws { try await base.finishWriting() }
    func close() async { await base.close() }
}
