// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Synchronization

/// One answer on its way from the upstream, pulled at the reader's pace. Dropped before its end, it takes its connection
/// with it.
final class UpstreamExchange: Sendable {
    private enum Left {
        case nothing
        case bytes(Int)
        case chunks(ChunkedDecoder)
        case untilClose
    }

    private struct State {
        var input: ByteQueue
        var left: Left
        var isOver = false
    }

    private enum Step {
        case bytes([UInt8])
        case end
        case receive(limit: Int)
    }

    private let socket: LoopSocket
    private let upload: Upload?
    private let keepsAlive: Bool
    /// How long the upstream may be silent inside a body; nil for ever (event streams).
    private let stall: Duration?
    private let giveBack: @Sendable (LoopSocket) -> Void
    private let state: Mutex<State>

    /// The largest piece handed out.
    private static let piece = 65_536

    init(
        _ head: UpstreamHead, input: ByteQueue, socket: LoopSocket, upload: Upload?, stall: Duration?,
        giveBack: @escaping @Sendable (LoopSocket) -> Void
    ) {
        self.socket = socket
        self.upload = upload
        self.stall = stall
        self.giveBack = giveBack
        keepsAlive = head.keepsAlive
        let left: Left =
            switch head.framing {
            case .none, .length(0): .nothing
            case .length(let count): .bytes(count)
            case .chunked: .chunks(ChunkedDecoder())
            case .untilClose: .untilClose
            }
        state = Mutex(State(input: input, left: left))
    }

    deinit { end(reusable: false) }

    /// The body as the gateway's client gets it: at once where all of it is here already.
    func body(_ framing: UpstreamHead.Framing) -> HTTPBody {
        switch framing {
        case .none:
            finish()
            return .none
        case .length(let count):
            let whole = state.withLock { state -> [UInt8]? in
                guard state.input.count >= count else { return nil }
                state.left = .nothing
                return count == 0 ? [] : state.input.take(upTo: count)
            }
            if let whole {
                finish()
                return .bytes(whole)
            }
            return .stream(ByteStream { try await self.next() }, length: count)
        case .chunked, .untilClose:
            return .stream(ByteStream { try await self.next() }, length: nil)
        }
    }

    private func next() async throws -> [UInt8]? {
        do {
            while true {
                switch try state.withLock({ state throws(Refusal) in try Self.step(&state) }) {
                case .bytes(let bytes):
                    if isWhole { finish() }
                    return bytes
                case .end:
                    finish()
                    return nil
                case .receive(let limit):
                    try await receive(limit)
                }
            }
        } catch {
            let source = upload?.sourceError
            end(reusable: false)
            if let refusal = error as? Refusal { throw UpstreamHead.fault("its body is malformed", cause: refusal) }
            throw source ?? LoopTransport.named(error)
        }
    }

    private static func step(_ state: inout State) throws(Refusal) -> Step {
        switch state.left {
        case .nothing: return .end
        case .bytes(let count):
            guard !state.input.isEmpty else { return .receive(limit: min(count, piece)) }
            let bytes = state.input.take(upTo: min(count, piece))
            state.left = bytes.count == count ? .nothing : .bytes(count - bytes.count)
            return .bytes(bytes)
        case .untilClose:
            return state.input.isEmpty ? .receive(limit: piece) : .bytes(state.input.take(upTo: piece))
        case .chunks(var decoder):
            let step = try decoder.step(&state.input, upTo: piece)
            state.left = .chunks(decoder)
            switch step {
            case .bytes(let bytes): return .bytes(bytes)
            case .needsMore: return .receive(limit: piece)
            case .end:
                state.left = .nothing
                return .end
            }
        }
    }

    private func receive(_ limit: Int) async throws {
        if let bytes = try await socket.read(upTo: limit, until: stall.map { .after($0) } ?? .never) {
            return state.withLock { $0.input.append(bytes) }
        }
        try state.withLock { state throws(NacreError) in
            guard case .untilClose = state.left else {  // guard: upstream-cut-off
                throw UpstreamHead.fault("it ended before its body was whole")
            }
            state.left = .nothing
        }
    }

    private var isWhole: Bool { state.withLock { if case .nothing = $0.left { true } else { false } } }

    /// The last byte has been taken. The connection lives on only where nothing else stands in it.
    private func finish() {
        let isClean = state.withLock { $0.input.isEmpty }  // guard: upstream-surplus
        end(reusable: keepsAlive && isClean && upload?.isDone ?? true)
    }

    private func end(reusable: Bool) {
        let isFirst = state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
        guard isFirst else { return }
        if reusable { return giveBack(socket) }
        upload?.cancel()
        socket.closeNow()
    }
}
