// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import Synchronization

/// A bounded pipe between one writing and one reading task: the writer waits while `capacity` bytes stand unread.
///
/// The reader may leave early (`cancel`); the writer then gets an error at its next write.
public final class BytePipe: Sendable {
    private struct State {
        var chunks: [[UInt8]] = []
        var size = 0
        var end: Result<Void, any Error>?
        var readerGone = false
        var reader: CheckedContinuation<Void, Never>?
        var writer: CheckedContinuation<Void, Never>?
    }

    private let capacity: Int
    private let state = Mutex(State())

    /// A pipe that holds about `capacity` bytes.
    public init(capacity: Int = 256 * 1024) { self.capacity = capacity }

    /// Puts bytes in, waiting for room.
    ///
    /// - Throws: `http.reader_gone` when nobody reads any more, `CancellationError` when cancelled.
    public func write(_ bytes: [UInt8]) async throws {
        while true {
            try Task.checkCancellation()
            let done = try state.withLock { state throws -> Bool in
                guard !state.readerGone else {
                    throw NacreError("http.reader_gone", "The reader has left; stop sending.")
                }
                guard state.size < capacity else { return false }
                state.chunks.append(bytes)
                state.size += bytes.count
                state.reader.take()?.resume()
                return true
            }
            if done { return }
            await waitForRoom()
        }
    }

    /// Ends the stream, with an error where there was one.
    public func finish(throwing error: (any Error)? = nil) {
        state.withLock { state in
            if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
            state.reader.take()?.resume()
        }
    }

    /// Says that nobody will read any more.
    public func cancel() {
        state.withLock { state in
            state.readerGone = true
            state.chunks = []
            state.size = 0
            state.writer.take()?.resume()
            state.reader.take()?.resume()
        }
    }

    /// The next bytes, or nil at the end.
    public func read() async throws -> [UInt8]? {
        while true {
            try Task.checkCancellation()
            let step = try state.withLock { state throws -> [UInt8]?? in
                if !state.chunks.isEmpty {
                    let chunk = state.chunks.removeFirst()
                    state.size -= chunk.count
                    state.writer.take()?.resume()
                    return .some(chunk)
                }
                if state.readerGone { return .some(nil) }
                guard let end = state.end else { return nil }
                try end.get()
                return .some(nil)
            }
            if let step { return step }
            await waitForBytes()
        }
    }

    /// The reading end as a stream.
    public var stream: ByteStream { ByteStream { try await self.read() } }

    private func waitForRoom() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { state in
                    if state.readerGone || state.size < capacity || Task.isCancelled {
                        continuation.resume()
                    } else {
                        state.writer = continuation
                    }
                }
            }
        } onCancel: {
            state.withLock { $0.writer.take()?.resume() }
        }
    }

    private func waitForBytes() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { state in
                    if !state.chunks.isEmpty || state.end != nil || state.readerGone || Task.isCancelled {
                        continuation.resume()
                    } else {
                        state.reader = continuation
                    }
                }
            }
        } onCancel: {
            state.withLock { $0.reader.take()?.resume() }
        }
    }
}
