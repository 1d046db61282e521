// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Synchronization

/// A request body on its way to the upstream, beside the wait for the answer.
///
/// The wait's clock stands still while the next part is awaited from the client, so that an upload may take any time
/// (NB-6), and begins anew with each part: an upstream that no longer takes the upload is given up as well.
final class Upload: Sendable {
    private struct State {
        /// Since when it is the upstream's turn; nil while it is the client's.
        var since: Deadline?
        var isDone = false
        var sourceError: (any Error)?
        var task: Task<Void, Never>?
    }

    private let state = Mutex(State(since: .now))

    /// Begins to send; the socket is closed when the client's side fails, so that nobody waits for an answer to half a
    /// request.
    init(_ stream: ByteStream, length: Int?, to socket: LoopSocket, stall: Duration, on loop: EventLoop) {
        let task = loop.spawn { [self] in
            do {
                try await send(stream, length: length, to: socket, stall: stall)
                state.withLock { state in
                    state.isDone = true
                    state.since = .now
                }
            } catch let failure as SourceFailure {
                state.withLock { $0.sourceError = failure.error }
                socket.closeNow()
            } catch {
                // The upstream takes no more; it may have answered before it left.
                state.withLock { $0.since = .now }
            }
        }
        state.withLock { $0.task = task }
    }

    /// What the client's side threw.
    private struct SourceFailure: Error {
        let error: any Error
    }

    private func send(_ stream: ByteStream, length: Int?, to socket: LoopSocket, stall: Duration) async throws {
        var left = length
        while let part = try await next(of: stream) {
            if part.isEmpty { continue }
            if let known = left {
                guard part.count <= known else { throw SourceFailure(error: Self.lengthError) }
                left = known - part.count
            }
            try await socket.write(length == nil ? Self.framed(part) : part, stall: stall, cancellable: true)
            // Without a byte more than was promised nothing is left to wait for.
            if left == 0 { return }
        }
        if let left, left > 0 { throw SourceFailure(error: Self.lengthError) }
        if length == nil { try await socket.write(Array("0\r\n\r\n".utf8), stall: stall, cancellable: true) }
    }

    private func next(of stream: ByteStream) async throws -> [UInt8]? {
        state.withLock { $0.since = nil }  // guard: upload-pause
        defer { state.withLock { $0.since = .now } }
        do { return try await stream.next() } catch { throw SourceFailure(error: error) }
    }

    private static var lengthError: NacreError {
        NacreError("http.body_incomplete", "The request body does not have the length it declared.")
    }

    private static func framed(_ part: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(part.count + 20)
        out += String(part.count, radix: 16).utf8
        out += [13, 10]
        out += part
        out += [13, 10]
        return out
    }

    /// Until when the answer's head may be waited for, as things stand; nil while it is the client's turn.
    func headDeadline(_ limit: Duration) -> Deadline? { state.withLock { $0.since.map { $0.advanced(by: limit) } } }

    /// Whether all of it has been sent.
    var isDone: Bool { state.withLock { $0.isDone } }

    /// What went wrong on the client's side.
    var sourceError: (any Error)? { state.withLock { $0.sourceError } }

    /// Sends no more.
    func cancel() { state.withLock { $0.task }?.cancel() }
}
