// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Synchronization

/// A client's side of a WebSocket that knows when it last carried bytes.
final class WatchedStream: DuplexStream {
    private let inner: any DuplexStream
    private let time: any TimeSource
    private let lastUse: Mutex<Instant>

    init(_ inner: any DuplexStream, time: any TimeSource) {
        self.inner = inner
        self.time = time
        lastUse = Mutex(time.now)
    }

    func read() async throws -> [UInt8]? {
        let bytes = try await inner.read()
        touch()
        return bytes
    }

    func write(_ bytes: [UInt8]) async throws {
        try await inner.write(bytes)
        touch()
    }

    func finishWriting() async throws { try await inner.finishWriting() }
    func close() async { await inner.close() }

    private func touch() { lastUse.withLock { $0 = time.now } }

    /// Returns once nothing has passed either way for `limit`.
    func untilIdle(for limit: Duration) async throws {
        while true {
            let waited = time.now - lastUse.withLock { $0 }
            guard waited < limit else { return }
            // In short naps: a sleep that is cancelled keeps its timer until it would have ended.
            try await time.sleep(for: min(limit - waited, .seconds(30)))
        }
    }
}
