// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// Sends one response. Its own waits do not end with the task's cancellation: a client that has only ended its sending
/// half still gets its answer.
struct ResponseWriter {
    let socket: LoopSocket
    let stall: Duration
    let meter: PaceMeter?
    let date: DateField

    init(socket: LoopSocket, stall: Duration, pace: BodyPace? = nil, date: DateField) {
        self.socket = socket
        self.stall = stall
        meter = PaceMeter(pace)
        self.date = date
    }

    /// Bodies up to this size travel in one piece with their head.
    private static let inlineLimit = 65_536

    /// Sends all of it.
    ///
    /// - Throws: `http.bad_field` before anything was sent; later `http.response_aborted`, after which only closing is left.
    func write(_ response: HTTPResponse, to head: RequestHead, connection: String?) async throws {
        let framing = ResponseFraming(response, to: head)
        var bytes = try ResponseHead(response: response, framing: framing, connection: connection, date: date).bytes()
        do {
            switch (framing, response.body) {
            case (.noBody, _), (_, .none):
                try await send(bytes)
            case (_, .bytes(let body)) where body.count <= Self.inlineLimit:
                bytes += body
                try await send(bytes)
            case (_, .bytes(let body)):
                try await send(bytes)
                try await send(body)
            case (.length(0...Self.inlineLimit), .stream(let stream, _)) where head.framing == .none:
                // Not where the client may still send its body: it could wait for the head first.
                try await copy(stream, framing, behind: bytes)
            case (_, .stream(let stream, _)):
                try await send(bytes)
                try await copy(stream, framing, behind: [])
            }
        } catch {
            throw NacreError("http.response_aborted", "The response could not be sent whole.", cause: error)
        }
    }

    /// Sends the stream; `head` goes out in one piece with the first chunk.
    private func copy(_ stream: ByteStream, _ framing: ResponseFraming, behind head: [UInt8]) async throws {
        var head = head
        var left: Int? = if case .length(let length) = framing { length } else { nil }
        while let chunk = try await stream.next() {
            if chunk.isEmpty { continue }
            if let known = left {
                guard chunk.count <= known else { throw Self.lengthError }
                left = known - chunk.count
            }
            let piece = framing == .chunked ? Self.framed(chunk) : chunk
            try await send(head.isEmpty ? piece : head + piece)
            head = []
        }
        if let left, left > 0 { throw Self.lengthError }
        if !head.isEmpty { try await send(head) }
        if framing == .chunked { try await send(Array("0\r\n\r\n".utf8)) }
    }

    private static var lengthError: NacreError {
        NacreError("http.response_length", "The response's stream does not have the length it declared.")
    }

    private static func framed(_ chunk: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(chunk.count + 20)
        out += String(chunk.count, radix: 16).utf8
        out += [13, 10]
        out += chunk
        out += [13, 10]
        return out
    }

    private func send(_ bytes: [UInt8]) async throws {
        try await socket.write(bytes, stall: stall, meter: meter, cancellable: false)
    }
}
