// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import Synchronization

/// What the page's script hears of an open WebSocket.
package struct PatchedSocketHead: Sendable {
    /// The subprotocol that the server has chosen, or empty.
    package let chosen: String
    /// Under which name the messages wait at the page's own host.
    package let token: String
}

/// A WebSocket of the page, spoken natively (RFC 6455): the handshake goes the page channel's way, with the session and the
/// API's `Origin` (NB-13); what arrives is a stream of records, each a kind, a length and its bytes.
package final class PatchedSocket: Sendable {
    package enum Message: Sendable, Equatable {
        case text([UInt8])
        case binary([UInt8])
        case close(code: Int?, reason: [UInt8])
    }

    typealias Send = @Sendable (HTTPRequest) async throws -> HTTPResponse

    /// The subprotocol that the server has chosen, or empty.
    package let chosen: String
    private let end: MemoryStream
    private let carrying: Task<Void, Never>
    private let random: any RandomSource
    private let reader = Mutex(SocketFrameReader())
    private let isOver = Mutex(false)
    /// The page's messages and the answers to a server's pings are written one after the other.
    private let writing = AsyncLock()

    private init(chosen: String, end: MemoryStream, carrying: Task<Void, Never>, random: any RandomSource) {
        self.chosen = chosen
        self.end = end
        self.carrying = carrying
        self.random = random
    }

    deinit { carrying.cancel() }

    /// The handshake.
    ///
    /// - Throws: `page.request` for a subprotocol that is none, `transport.protocol` when the server does not take it.
    static func open(
        _ url: WebURL, protocols: [String], random: any RandomSource, send: Send
    ) async throws -> PatchedSocket {
        let isWord = { (text: String) in
            !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"()<>@,;:\\\"/[]?={}".utf8.contains($0) }
        }
        let areGood = protocols.allSatisfy(isWord) && Set(protocols).count == protocols.count
        guard areGood else {  // guard: patched-subprotocol
            throw NacreError("page.request", "A subprotocol of a WebSocket is a word, and each another.")
        }
        let key = Base64.encode(random.bytes(16))
        var fields: HTTPFields = [
            "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key,
        ]
        if !protocols.isEmpty { fields["Sec-WebSocket-Protocol"] = protocols.joined(separator: ", ") }
        let response = try await send(HTTPRequest(.get, url, fields: fields))
        func fault(_ reason: String) -> NacreError {
            NacreError("transport.protocol", "The server does not take the WebSocket: \(reason).")
        }
        guard response.status == .switchingProtocols, let upgrade = response.upgrade else {
            throw fault("status \(response.status.rawValue)")
        }
        let proof = Base64.encode(SHA1.hash(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
        guard response.fields["Sec-WebSocket-Accept"] == proof else {  // guard: patched-socket-proof
            throw fault("its proof is wrong")
        }
        let chosen = response.fields["Sec-WebSocket-Protocol"] ?? ""
        guard chosen.isEmpty || protocols.contains(chosen) else {
            throw fault("it speaks \(chosen.prefix(40)), which was not offered")
        }
        let (ours, theirs) = MemoryStream.pair()
        let carrying = Task {
            try? await upgrade(theirs)
            await theirs.close()
        }
        return PatchedSocket(chosen: chosen, end: ours, carrying: carrying, random: random)
    }

    /// Sends a message, waiting while the server is slow.
    package func send(_ message: Message) async throws {
        switch message {
        case .text(let bytes): try await write(frame(0x1, bytes))
        case .binary(let bytes): try await write(frame(0x2, bytes))
        case .close(let code, let reason):
            let number = code.map { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] } ?? []
            try await write(frame(0x8, number + (code == nil ? [] : reason.prefix(123))))
        }
    }

    private func write(_ bytes: [UInt8]) async throws {
        try await writing.run { try await end.write(bytes) }  // guard: patched-socket-writers
    }

    /// Ends it without a word.
    package func cancel() {
        carrying.cancel()
        Task { [end] in await end.close() }
    }

    /// A client's frame, masked as every one must be.
    private func frame(_ kind: UInt8, _ payload: [UInt8]) -> [UInt8] {
        var out: [UInt8] = [0x80 | kind]
        switch payload.count {
        case ..<126: out.append(0x80 | UInt8(payload.count))
        case ..<65536: out += [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
        default:
            out.append(0x80 | 127)
            for shift in stride(from: 56, through: 0, by: -8) { out.append(UInt8((payload.count >> shift) & 255)) }
        }
        let mask = random.bytes(4)
        out += mask
        out.reserveCapacity(out.count + payload.count)
        for (index, byte) in payload.enumerated() { out.append(byte ^ mask[index & 3]) }
        return out
    }

    // MARK: What arrives

    /// The records for the page: kind (1 text, 2 binary, 8 close), length in four bytes, payload. It ends behind a close.
    var stream: ByteStream { ByteStream { try await self.next() } }

    private func next() async throws -> [UInt8]? {
        if isOver.withLock({ $0 }) { return nil }
        while true {
            do throws(SocketFault) {
                while let message = try reader.withLock({ (state) throws(SocketFault) in try state.next() }) {
                    switch message {
                    case .data(let kind, let payload): return Self.record(kind, payload)
                    case .ping(let payload): try? await write(frame(0xA, payload))
                    case .pong: break
                    case .close(let payload):
                        try? await write(frame(0x8, Array(payload.prefix(2))))
                        return await over(payload)
                    }
                }
            } catch {
                try? await write(frame(0x8, [UInt8(error.code >> 8), UInt8(error.code & 255)]))
                return await over([UInt8(1006 >> 8), UInt8(1006 & 255)])
            }
            guard let bytes = try? await end.read() else { return await over([UInt8(1006 >> 8), UInt8(1006 & 255)]) }
            reader.withLock { $0.take(bytes) }
        }
    }

    private func over(_ payload: [UInt8]) async -> [UInt8] {
        isOver.withLock { $0 = true }
        try? await end.finishWriting()
        return Self.record(0x8, payload)
    }

    private static func record(_ kind: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let count = payload.count
        return [kind, UInt8(count >> 24 & 255), UInt8(count >> 16 & 255), UInt8(count >> 8 & 255), UInt8(count & 255)]
            + payload
    }
}

/// One end of a connection in memory.
final class MemoryStream: DuplexStream {
    private let incoming: BytePipe
    private let outgoing: BytePipe

    private init(_ incoming: BytePipe, _ outgoing: BytePipe) {
        self.incoming = incoming
        self.outgoing = outgoing
    }

    static func pair() -> (MemoryStream, MemoryStream) {
        let (there, back) = (BytePipe(), BytePipe())
        return (MemoryStream(there, back), MemoryStream(back, there))
    }

    func read() async throws -> [UInt8]? { try await incoming.read() }
    func write(_ bytes: [UInt8]) async throws { try await outgoing.write(bytes) }
    func finishWriting() async throws { outgoing.finish() }
    func close() async {
        incoming.cancel()
        outgoing.finish()
    }
}
