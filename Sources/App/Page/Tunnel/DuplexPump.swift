// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Synchronization

/// Copies bytes both ways until both sides have ended, one fails, or neither has sent anything for `idle`.
enum DuplexPump {
    /// Runs until then; both streams are closed afterwards.
    static func run(_ a: any DuplexStream, _ b: any DuplexStream, idle: Duration?, time: any TimeSource) async {
        let moved = Atomic<Int>(0)
        await withTaskCancellationHandler {
            await withTaskGroup(of: Bool.self) { group in
                group.addTask { await copy(from: a, to: b, counting: { moved.add(1, ordering: .relaxed) }) }
                group.addTask { await copy(from: b, to: a, counting: { moved.add(1, ordering: .relaxed) }) }
                if let idle {
                    group.addTask {
                        var last = -1
                        while last != moved.load(ordering: .relaxed) {
                            last = moved.load(ordering: .relaxed)
                            guard (try? await time.sleep(for: idle)) != nil else { return true }
                        }
                        return false
                    }
                }
                var ended = 0
                for await clean in group {
                    ended += 1
                    if !clean || ended == 2 { break }
                }
                await a.close()
                await b.close()
                group.cancelAll()
            }
        } onCancel: {
            Task {
                await a.close()
                await b.close()
            }
        }
    }

    /// Whether the half ended by itself; its end is passed on as a half-close.
    private static func copy(
        from source: any DuplexStream, to sink: any DuplexStream, counting: @Sendable () -> Void
    ) async -> Bool {
        do {
            while let bytes = try await source.read() {
                counting()
                try await sink.write(bytes)
            }
            try await sink.finishWriting()
            return true
        } catch {
            return false
        }
    }
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
