// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Why a server's frames cannot be read: the status that a close frame says (RFC 6455 section 7.4.1).
struct SocketFault: Error, Equatable {
    let code: Int
    static let violation = SocketFault(code: 1002)
    static let notText = SocketFault(code: 1007)
    static let tooLarge = SocketFault(code: 1009)
}

/// Puts the frames of a server together to messages (RFC 6455 section 5). Strict: what the standard forbids ends it.
struct SocketFrameReader: Sendable {
    enum Message: Equatable {
        /// A whole message: 1 text, 2 binary.
        case data(kind: UInt8, [UInt8])
        case ping([UInt8])
        case pong
        case close([UInt8])
    }

    /// Larger messages are refused, as they would stand in memory whole.
    static let largest = 16 * 1024 * 1024

    private var buffer: [UInt8] = []
    private var position = 0
    private var kind: UInt8?
    private var parts: [UInt8] = []

    mutating func take(_ bytes: [UInt8]) {
        if position > 0 {
            buffer.removeFirst(position)
            position = 0
        }
        buffer += bytes
    }

    /// The next message, or nil until more has come.
    mutating func next() throws(SocketFault) -> Message? {
        while let (first, payload) = try frame() {
            let isFinal = first & 0x80 != 0
            switch first & 0x0F {
            case 0x8:
                guard payload.count != 1 else { throw .violation }
                guard String(validating: payload.dropFirst(2), as: UTF8.self) != nil else { throw .notText }
                return .close(payload)
            case 0x9: return .ping(payload)
            case 0xA: return .pong
            case 0x0:
                guard kind != nil else { throw .violation }
            case let other:
                guard kind == nil, other == 0x1 || other == 0x2 else { throw .violation }
                kind = other
            }
            guard parts.count + payload.count <= Self.largest else { throw .tooLarge }  // guard: patched-socket-size
            parts += payload
            guard isFinal, let whole = kind else { continue }
            let message = parts
            (kind, parts) = (nil, [])
            if whole == 0x1 {
                let isText = String(validating: message, as: UTF8.self) != nil
                guard isText else { throw .notText }  // guard: patched-socket-text
            }
            return .data(kind: whole, message)
        }
        return nil
    }

    /// The first byte and the payload of the next whole frame.
    private mutating func frame() throws(SocketFault) -> (UInt8, [UInt8])? {
        let left = buffer.count - position
        guard left >= 2 else { return nil }
        let (first, second) = (buffer[position], buffer[position + 1])
        // No extension was offered, and a server does not mask.
        guard first & 0x70 == 0, second & 0x80 == 0 else { throw .violation }  // guard: patched-socket-frame
        var length = Int(second & 0x7F)
        var head = 2
        if first & 0x08 != 0 {
            guard first & 0x80 != 0, length <= 125 else { throw .violation }
        } else if length >= 126 {
            let count = length == 126 ? 2 : 8
            guard left >= 2 + count else { return nil }
            let bytes = buffer[(position + 2)..<(position + 2 + count)]
            guard count == 2 || bytes.prefix(4).allSatisfy({ $0 == 0 }) else { throw .tooLarge }
            length = bytes.reduce(0) { $0 << 8 | Int($1) }
            head += count
        }
        guard length <= Self.largest else { throw .tooLarge }
        guard left >= head + length else { return nil }
        let payload = Array(buffer[(position + head)..<(position + head + length)])
        position += head + length
        return (first, payload)
    }
}
