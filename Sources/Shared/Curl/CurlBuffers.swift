// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CCurl
import NacreCore
import Synchronization

/// Keeps the number of waiting chunks small: a peer that sends single bytes, each a chunk of its own, would otherwise fill
/// a queue with hundreds of thousands of them, and taking one from the front moves all the others.
enum ChunkQueue {
    /// Chunks smaller than this are joined.
    static let least = 16 * 1024

    /// Adds bytes at the end.
    static func append<Bytes: Collection<UInt8>, Chunk: RangeReplaceableCollection<UInt8>>(
        _ bytes: Bytes, to chunks: inout [Chunk]
    ) {
        guard !bytes.isEmpty else { return }
        if let last = chunks.indices.last, chunks[last].count + bytes.count <= least {  // guard: curl-small-chunks
            chunks[last].append(contentsOf: bytes)
        } else {
            chunks.append(Chunk(bytes))
        }
    }
}

/// Response bytes on their way from curl's thread to one reader.
final class CurlInbox: Sendable {
    private struct State {
        var chunks: [[UInt8]] = []
        var size = 0
        var isPaused = false
        var end: Result<Void, any Error>?
        var reader: CheckedContinuation<Void, Never>?
    }

    private static let capacity = 512 * 1024
    private let state = Mutex(State())

    /// Called by curl; answers how much was taken, or that the transfer must pause.
    func push(_ bytes: UnsafeRawBufferPointer) -> Int {
        // Copying and waking outside of the lock: the reader is on another thread and would wait for it.
        let chunk = Array(bytes)
        let (taken, reader) = state.withLock { state -> (Int, CheckedContinuation<Void, Never>?) in
            guard state.size < Self.capacity else {
                state.isPaused = true
                return (Int(CURL_WRITEFUNC_PAUSE), nil)
            }
            ChunkQueue.append(chunk, to: &state.chunks)
            state.size += chunk.count
            return (chunk.count, state.reader.take())
        }
        reader?.resume()
        return taken
    }

    func finish(_ error: (any Error)?) {
        state.withLock { state in
            if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
            state.reader.take()?.resume()
        }
    }

    /// Whether curl is done with it.
    var hasEnded: Bool { state.withLock { $0.end != nil } }

    /// The next chunk and whether the transfer must be told to go on; nil chunk is the end.
    func next() async throws -> (chunk: [UInt8]?, mustResume: Bool) {
        while true {
            try Task.checkCancellation()
            let step = try state.withLock { state throws -> (chunk: [UInt8]?, mustResume: Bool)? in
                if !state.chunks.isEmpty {
                    let chunk = state.chunks.removeFirst()
                    state.size -= chunk.count
                    let mustResume = state.isPaused && state.size < Self.capacity / 2
                    if mustResume { state.isPaused = false }
                    return (chunk, mustResume)
                }
                guard let end = state.end else { return nil }
                try end.get()
                return (nil, false)
            }
            if let step { return step }
            await wait()
        }
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { state in
                    if !state.chunks.isEmpty || state.end != nil || Task.isCancelled {
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

/// The body's reading end; dropping it unread ends the transfer.
final class CurlBody: Sendable {
    private let inbox: CurlInbox
    private let onResume: @Sendable () -> Void
    private let onDrop: @Sendable () -> Void

    init(inbox: CurlInbox, onResume: @escaping @Sendable () -> Void, onDrop: @escaping @Sendable () -> Void) {
        self.inbox = inbox
        self.onResume = onResume
        self.onDrop = onDrop
    }

    deinit { if !inbox.hasEnded { onDrop() } }

    func next() async throws -> [UInt8]? {
        let (chunk, mustResume) = try await inbox.next()
        if mustResume { onResume() }
        return chunk
    }
}

/// Request bytes on their way from one writer to curl's thread.
final class CurlOutbox: Sendable {
    private struct State {
        var chunks: [ArraySlice<UInt8>] = []
        var size = 0
        var hasEnded = false
        var hasFailed = false
        var isAbandoned = false
        var isStarved = false
        var writer: CheckedContinuation<Void, Never>?
    }

    private static let capacity = 256 * 1024
    // CURL_READFUNC_ABORT and CURL_READFUNC_PAUSE.
    private static let abort = 0x1000_0000
    private static let pause = 0x1000_0001
    private let state = Mutex(State())

    /// Called by curl: how many bytes it got, 0 at the end, or pause or abort.
    func fill(_ room: UnsafeMutableRawBufferPointer) -> Int {
        state.withLock { state in
            if state.hasFailed { return Self.abort }
            var filled = 0
            while filled < room.count, var chunk = state.chunks.first {
                let part = chunk.prefix(room.count - filled)
                part.withUnsafeBytes { room[filled...].copyBytes(from: $0) }
                filled += part.count
                chunk.removeFirst(part.count)
                if chunk.isEmpty { state.chunks.removeFirst() } else { state.chunks[0] = chunk }
            }
            state.size -= filled
            if state.size < Self.capacity { state.writer.take()?.resume() }
            if filled > 0 { return filled }
            if state.hasEnded { return 0 }
            state.isStarved = true
            return Self.pause
        }
    }

    /// Adds bytes, waiting for room; false when nobody reads any more.
    func put(_ bytes: [UInt8]) async -> Bool {
        while true {
            let done = state.withLock { state -> Bool? in
                if state.isAbandoned { return false }
                guard state.size < Self.capacity else { return nil }
                ChunkQueue.append(bytes, to: &state.chunks)
                state.size += bytes.count
                return true
            }
            if let done { return done }
            await withCheckedContinuation { continuation in
                state.withLock { state in
                    if state.isAbandoned || state.size < Self.capacity {
                        continuation.resume()
                    } else {
                        state.writer = continuation
                    }
                }
            }
        }
    }

    func finish(failed: Bool) {
        state.withLock { state in
            state.hasEnded = true
            state.hasFailed = failed
        }
    }

    /// The transfer is over; a waiting writer goes on and learns it.
    func abandon() {
        state.withLock { state in
            state.isAbandoned = true
            state.writer.take()?.resume()
        }
    }

    /// Whether curl waits for bytes and must be woken; asked once per wait.
    func takeWakeUp() -> Bool {
        state.withLock { state in
            defer { state.isStarved = false }
            return state.isStarved
        }
    }
}
