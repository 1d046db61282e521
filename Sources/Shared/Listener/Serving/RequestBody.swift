// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Synchronization

/// The body of one request, pulled from its socket at the handler's pace.
final class RequestBody: Sendable {
    private struct State {
        var input: ByteQueue
        var left: Left
        var continuePending: Bool
        var pulling = false
        var revoked = false
        var failed = false
    }

    private enum Left {
        case nothing
        case bytes(Int)
        case chunks(ChunkedDecoder)
    }

    private enum Step {
        case bytes([UInt8])
        case end
        case receive(limit: Int, sendContinue: Bool)
    }

    private let socket: LoopSocket
    private let stall: Duration
    private let meter: PaceMeter?
    private let state: Mutex<State>
    private let ended: @Sendable () -> Void

    /// What a client with `Expect: 100-continue` waits for.
    static let proceed = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
    /// The largest piece handed out.
    private static let piece = 65_536

    /// - Parameter ended: called once when the last byte has been taken.
    init(
        _ head: RequestHead, input: ByteQueue, socket: LoopSocket, limits: ParsingLimits, stall: Duration,
        pace: BodyPace? = nil, ended: @escaping @Sendable () -> Void
    ) {
        self.socket = socket
        self.stall = stall
        meter = head.framing == .none ? nil : PaceMeter(pace)
        self.ended = ended
        let left: Left =
            switch head.framing {
            case .none: .nothing
            case .length(let count): .bytes(count)
            case .chunked: .chunks(ChunkedDecoder(limits: limits))
            }
        let pending = head.expectsContinue && head.framing != .none && input.isEmpty
        state = Mutex(State(input: input, left: left, continuePending: pending))
    }

    /// The body as the handler sees it.
    func value(_ framing: BodyFraming) -> HTTPBody {
        switch framing {
        case .none: .none
        case .length(let count): .stream(ByteStream { try await self.next() }, length: count)
        case .chunked: .stream(ByteStream { try await self.next() }, length: nil)
        }
    }

    /// The next piece, or nil at the end.
    ///
    /// - Throws: `http.body_malformed`, `http.body_incomplete` (the client left), `socket.timeout` (it fell silent),
    ///   `http.body_over` when the request has been answered already.
    func next() async throws -> [UInt8]? { try await next(until: nil) }

    /// - Parameter end: the moment after which no more is waited for; nil waits `stall` for each piece.
    private func next(until end: Deadline?) async throws -> [UInt8]? {
        try begin()
        defer { state.withLock { $0.pulling = false } }
        while true {
            let step: Step
            do {
                step = try state.withLock { state throws(Refusal) in try Self.step(&state) }
            } catch {
                state.withLock { $0.failed = true }
                throw NacreError("http.body_malformed", error.reason, cause: error)
            }
            switch step {
            case .bytes(let bytes):
                if isComplete { ended() }
                return bytes
            case .end:
                ended()
                return nil
            case .receive(let limit, let sendContinue):
                if sendContinue { try await socket.write(Self.proceed, stall: stall, cancellable: true) }
                try await receive(limit, until: end)
            }
        }
    }

    private func begin() throws {
        try state.withLock { state throws(NacreError) in
            guard !state.revoked else {
                throw NacreError("http.body_over", "The request has been answered; its body can no longer be read.")
            }
            guard !state.pulling else {
                throw NacreError("http.body_two_readers", "Two tasks read one request body; read it in one.")
            }
            state.pulling = true
        }
    }

    private static func step(_ state: inout State) throws(Refusal) -> Step {
        switch state.left {
        case .nothing: return .end
        case .bytes(let count):
            guard state.input.isEmpty else {
                let bytes = state.input.take(upTo: min(count, piece))
                state.left = bytes.count == count ? .nothing : .bytes(count - bytes.count)
                return .bytes(bytes)
            }
            return receive(&state, min(count, piece))
        case .chunks(var decoder):
            let step = try decoder.step(&state.input, upTo: piece)
            state.left = .chunks(decoder)
            switch step {
            case .bytes(let bytes): return .bytes(bytes)
            case .needsMore: return receive(&state, piece)
            case .end:
                state.left = .nothing
                return .end
            }
        }
    }

    private static func receive(_ state: inout State, _ limit: Int) -> Step {
        defer { state.continuePending = false }
        return .receive(limit: limit, sendContinue: state.continuePending)
    }

    private func receive(_ limit: Int, until end: Deadline?) async throws {
        let start = Deadline.now
        let deadline = end ?? meter?.deadline(start, stall: stall) ?? start.advanced(by: stall)
        do {
            let bytes = try await socket.read(upTo: limit, until: deadline)
            meter?.waited(since: start)
            meter?.moved(bytes?.count ?? 0)
            guard let bytes else {
                throw NacreError("http.body_incomplete", "The client left before the request body was whole.")
            }
            state.withLock { $0.input.append(bytes) }
        } catch {
            state.withLock { $0.failed = true }
            throw error
        }
    }

    /// Whether every byte has been taken.
    var isComplete: Bool {
        state.withLock { if case .nothing = $0.left { true } else { false } }
    }

    /// Whether `100 Continue` is owed; asking settles the debt.
    func takeContinue() -> Bool {
        state.withLock { state in
            defer { state.continuePending = false }
            return state.continuePending
        }
    }

    /// Whether the client still waits for `100 Continue`: its body may never come.
    var owesContinue: Bool { state.withLock { $0.continuePending } }

    /// How much of a body that nobody wanted is read all the same, so that the connection can go on.
    private static let shortRest = 256 * 1024

    /// Whether an answer that is sent now ends the connection: its head must say so. A client that is not told sends its next
    /// request, once it has got rid of this body, into a connection that is gone (RFC 9112 section 9.6).
    var endsConnection: Bool {
        state.withLock { state in
            switch state.left {
            case .nothing: false
            case .bytes(let count): state.pulling || state.failed || count - state.input.count > Self.shortRest
            case .chunks: true
            }
        }
    }

    /// Ends the handler's access and gives back what was read beyond the body; nil when the connection cannot go on.
    ///
    /// A short rest of the body is read and dropped, a long one costs the connection.
    func reclaim() async -> ByteQueue? {
        let usable = state.withLock { !$0.pulling && !$0.failed && !$0.continuePending }
        guard usable else { return revoke(keep: false) }
        var room = Self.shortRest
        let end = Deadline.after(.seconds(5))  // for the whole rest: it may not drip either
        while !isComplete {
            guard room > 0, let bytes = try? await next(until: end) else { break }
            room -= bytes.count
        }
        return revoke(keep: isComplete)
    }

    private func revoke(keep: Bool) -> ByteQueue? {
        state.withLock { state in
            state.revoked = true
            guard keep, !state.pulling else { return nil }
            defer { state.input.removeAll() }
            return state.input
        }
    }

    /// What stands read but unused, for an upgraded connection.
    func takeBuffered() -> [UInt8] {
        state.withLock { state in
            state.revoked = true
            return state.input.take(upTo: .max)
        }
    }
}
