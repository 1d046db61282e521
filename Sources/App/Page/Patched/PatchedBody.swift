// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Synchronization

/// The body of an answer on its way to the page: it can be ended from outside, and tells when nobody holds it any more.
final class PatchedBody: Sendable {
    private struct State {
        var next: Task<[UInt8]?, any Error>?
        var isClosed = false
    }

    private let source: ByteStream
    private let ended: @Sendable () -> Void
    private let state = Mutex(State())

    init(_ source: ByteStream, ended: @escaping @Sendable () -> Void) {
        self.source = source
        self.ended = ended
    }

    deinit { ended() }

    /// Ends it for whoever reads.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.next.take()?.cancel()
        }
    }

    var stream: ByteStream { ByteStream { try await self.read() } }

    private func read() async throws -> [UInt8]? {
        let source = source
        let task = Task { try await source.next() }
        let isOpen = state.withLock { state in
            if !state.isClosed { state.next = task }
            return !state.isClosed
        }
        guard isOpen else {
            task.cancel()
            throw NacreError("page.closed", "The request was ended.")
        }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}

/// Does not hold what it names.
struct Weak<Value: AnyObject & Sendable>: Sendable {
    private(set) weak var value: Value?
    init(_ value: Value) { self.value = value }
}
