// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP

/// An endless answer that can be ended from outside: the reader then sees a clean end, and an `EventSource` comes back with
/// its next request, which is told that the session is over.
final class EventStream: Sendable {
    private let pipe = BytePipe(capacity: 64 * 1024)
    private let task: Task<Void, Never>
    private let holder: LiveConnectionHolder

    init(_ source: ByteStream, _ holder: LiveConnectionHolder) {
        self.holder = holder
        let pipe = pipe
        let connection = holder.connection
        task = Task {
            do {
                while let bytes = try await source.next() { try await pipe.write(bytes) }
                pipe.finish()
            } catch {
                pipe.finish(throwing: connection.reason == nil ? error : nil)
            }
        }
        let task = task
        connection.onClose { task.cancel() }
    }

    deinit { task.cancel() }

    /// The reading end; it keeps the rest alive.
    var stream: ByteStream { ByteStream { try await self.pipe.stream.next() } }
}
