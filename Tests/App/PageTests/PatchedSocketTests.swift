// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreTesting
import Synchronization
import Testing

@testable import NacrePage

@Suite("NB-13: a WebSocket spoken for the page (RFC 6455)")
struct PatchedSocketTests {
    private static let url = "https://api.example.org/socket"

    /// A server that takes the handshake, and then does `work` with the connection.
    private static func server(
        proof: String? = nil, chosen: String? = nil, _ work: @escaping @Sendable (any DuplexStream) async throws -> Void
    ) -> PatchedSocket.Send {
        { request in
            let key = request.fields["Sec-WebSocket-Key"] ?? ""
            var fields: HTTPFields = [
                "Upgrade": "websocket",
                "Sec-WebSocket-Accept": proof ?? Base64.encode(SHA1.hash(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")),
            ]
            fields["Sec-WebSocket-Protocol"] = chosen
            return HTTPResponse(status: .switchingProtocols, fields: fields, upgrade: work)
        }
    }

    private func open(_ send: PatchedSocket.Send, offering protocols: [String] = []) async throws -> PatchedSocket {
        try await PatchedSocket.open(WebURL(Self.url), protocols: protocols, random: SeededRandom(1), send: send)
    }

    private static let sample = "dGhlIHNhbXBsZSBub25jZQ=="

    @Test("RFC 6455 section 1.3: the sample nonce has its known proof")
    func proof() {
        let proof = Base64.encode(SHA1.hash(Self.sample + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
        #expect(proof == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test("The handshake says what it must, and only what was offered may be chosen")
    func handshake() async throws {
        let seen = Mutex<HTTPRequest?>(nil)
        let socket = try await open(
            { request in
                seen.withLock { $0 = request }
                return try await Self.server(chosen: "echo") { _ in }(request)
            }, offering: ["other", "echo"])
        #expect(socket.chosen == "echo")
        let request = try #require(seen.withLock { $0 })
        #expect(request.isWebSocket)
        #expect(request.fields["Sec-WebSocket-Version"] == "13")
        #expect(request.fields["Sec-WebSocket-Protocol"] == "other, echo")
        #expect(Base64.decode(request.fields["Sec-WebSocket-Key"] ?? "")?.count == 16)
    }

    @Test("A server that does not take the handshake as it must is left")
    func refusals() async throws {
        await #expect(throws: NacreError.self) { _ = try await open { _ in HTTPResponse(status: 403) } }
        await #expect(throws: NacreError.self) {
            _ = try await open(Self.server(proof: "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") { _ in })
        }
        await #expect(throws: NacreError.self) {
            _ = try await open(Self.server(chosen: "b") { _ in }, offering: ["a"])
        }
        for words in [["a b"], [""], ["a", "a"], ["a\r\nX: y"]] {
            await #expect(throws: NacreError.self, "\(words)") {
                _ = try await open(Self.server { _ in }, offering: words)
            }
        }
    }

    @Test(
        "What the page sends is masked, and its length written as it must be",
        arguments: [0, 5, 125, 126, 65535, 65536])
    func frames(_ count: Int) async throws {
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let got = Mutex<[UInt8]>([])
        let socket = try await open(
            Self.server { stream in
                while let bytes = try await stream.read() { got.withLock { $0 += bytes } }
            })
        try await socket.send(.binary(payload))
        let head = count < 126 ? 2 : count < 65536 ? 4 : 10
        try await until { got.withLock { $0.count } == head + 4 + count }
        let bytes = got.withLock { $0 }
        #expect(bytes[0] == 0x82)
        #expect(bytes[1] & 0x80 == 0x80)
        let mask = Array(bytes[head..<(head + 4)])
        #expect(bytes[(head + 4)...].enumerated().map { $1 ^ mask[$0 & 3] } == payload)
        let length =
            head == 2
            ? Int(bytes[1] & 0x7F) : bytes[2..<head].reduce(0) { $0 << 8 | Int($1) }
        #expect(length == count)
    }

    @Test("Frames come together to records; a ping is answered; a close ends it with its code")
    func records() async throws {
        let got = Mutex<[UInt8]>([])
        let socket = try await open(
            Self.server { stream in
                try await stream.write([0x01, 3] + Array("spl".utf8) + [0x89, 1, 0x21])
                try await stream.write([0x80, 2] + Array("it".utf8))
                try await stream.write([0x82, 1, 9, 0x88, 5, 0x0F, 0xA1] + Array("bye".utf8))
                while let bytes = try await stream.read() { got.withLock { $0 += bytes } }
            })
        let stream = socket.stream
        #expect(try await stream.next() == [1, 0, 0, 0, 5] + Array("split".utf8))
        #expect(try await stream.next() == [2, 0, 0, 0, 1, 9])
        #expect(try await stream.next() == [8, 0, 0, 0, 5, 0x0F, 0xA1] + Array("bye".utf8))
        #expect(try await stream.next() == nil)
        try await until { got.withLock { $0.count } >= 15 }
        // A pong with the ping's byte, then a close with the server's code, both masked.
        let bytes = got.withLock { $0 }
        #expect(bytes[0] == 0x8A && bytes[1] == 0x81 && bytes[6] ^ bytes[2] == 0x21)
        #expect(bytes[7] == 0x88 && bytes[8] == 0x82 && bytes[13] ^ bytes[9] == 0x0F)
    }

    @Test("A ping that comes while a large message waits for room holds nobody up")
    func pingWhileFull() async throws {
        let full = BytePipe()
        let goOn = BytePipe()
        let got = Mutex(0)
        let sent = Mutex(0)
        let socket = try await open(
            Self.server { stream in
                _ = try await full.read()
                try await stream.write([0x89, 1, 0x21, 0x82, 1, 9])
                _ = try await goOn.read()
                while let bytes = try await stream.read() { got.withLock { $0 += bytes.count } }
            })
        let large = [UInt8](repeating: 7, count: 300_000)
        // What fills the way to the server is sent; the next one waits.
        let sending = Task {
            for _ in 0..<3 {
                try await socket.send(.binary(large))
                sent.withLock { $0 += 1 }
            }
        }
        let reading = Task { try await socket.stream.next() }
        try await until { sent.withLock { $0 } >= 1 }
        // A frame of this size takes a while to be made.
        try await Task.sleep(for: .milliseconds(400))
        try await full.write([1])
        try await Task.sleep(for: .milliseconds(50))
        try await goOn.write([1])
        #expect(try await reading.value == [2, 0, 0, 0, 1, 9])
        try await sending.value
        try await until { got.withLock { $0 } > 900_000 }
    }

    @Test("A connection that breaks, or says nonsense, is an unclean end", arguments: [[], [0xC1, 0], [0x81, 0x80]])
    func broken(_ bytes: [UInt8]) async throws {
        let socket = try await open(Self.server { stream in try await stream.write(bytes) })
        #expect(try await socket.stream.next() == [8, 0, 0, 0, 2, 0x03, 0xEE])
        #expect(try await socket.stream.next() == nil)
    }

    // MARK: Frames

    private func read(_ bytes: [UInt8], by size: Int) throws(SocketFault) -> [SocketFrameReader.Message] {
        var reader = SocketFrameReader()
        var out: [SocketFrameReader.Message] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            reader.take(Array(bytes[start..<min(start + size, bytes.count)]))
            while let message = try reader.next() { out.append(message) }
        }
        return out
    }

    @Test("Pieces begin and end anywhere", arguments: [1, 2, 3, 7, 200_000])
    func pieces(_ size: Int) throws {
        let long = [UInt8](repeating: 7, count: 300)
        let huge = [UInt8](repeating: 8, count: 66_000)
        let bytes =
            [0x81, 2, 0x68, 0x69, 0x82, 126, 1, 0x2C] + long + [0x82, 127, 0, 0, 0, 0, 0, 1, 0x01, 0xD0] + huge + [
                0x8A, 0, 0x88, 0,
            ]
        let messages = try read(bytes, by: size)
        #expect(
            messages == [
                .data(kind: 1, [0x68, 0x69]), .data(kind: 2, long), .data(kind: 2, huge), .pong, .close([]),
            ])
    }

    @Test(
        "What the standard forbids",
        arguments: [
            ([0x81, 0x81, 0, 0, 0, 0, 0x21], 1002), ([0xC1, 0], 1002), ([0x91, 0], 1002), ([0x80, 0], 1002),
            ([0x01, 0, 0x01, 0], 1002), ([0x83, 0], 1002), ([0x09, 0], 1002), ([0x89, 126, 0, 126], 1002),
            ([0x88, 1, 3], 1002), ([0x88, 3, 3, 0xE8, 0xFF], 1007), ([0x81, 1, 0xFF], 1007),
            ([0x01, 1, 0xC3, 0x80, 1, 0x28], 1007), ([0x82, 127, 0, 0, 0, 0, 0x01, 0, 0, 1], 1009),
            ([0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], 1009),
        ] as [([UInt8], Int)])
    func forbidden(_ bytes: [UInt8], _ code: Int) {
        let fault = #expect(throws: SocketFault.self) { _ = try read(bytes, by: 1) }
        #expect(fault?.code == code)
    }

    @Test("A message in many frames is no larger than one in one")
    func large() throws {
        var reader = SocketFrameReader()
        let quarter = SocketFrameReader.largest / 4
        let length = (0..<8).map { UInt8(quarter >> ((7 - $0) * 8) & 255) }
        for part in 0..<5 {
            reader.take([part == 0 ? 0x02 : 0x00, 127] + length + [UInt8](repeating: 0, count: quarter))
            if part < 4 { #expect(try reader.next() == nil) }
        }
        #expect(throws: SocketFault.tooLarge) { _ = try reader.next() }
    }
}
