// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Follows the frames of one direction of a WebSocket (RFC 6455 section 5.2) just enough to know where one ends: only
/// there may a frame of our own follow. Nothing is checked or kept.
struct WebSocketFrames: Sendable {
    private enum Place {
        /// Inside a frame's head; the bytes of it so far.
        case head([UInt8])
        /// So many bytes of the payload are to come.
        case payload(UInt64)
    }

    private var place = Place.head([])
    /// Whether a close frame has passed; nothing may follow it.
    private(set) var hasClosed = false

    /// Whether a frame may begin here.
    var isBetweenFrames: Bool {
        if case .head(let bytes) = place { return bytes.isEmpty && !hasClosed }
        return false
    }

    /// Takes note of bytes that have passed.
    mutating func pass(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            switch place {
            case .payload(let left):
                let count = Int(min(left, UInt64(rest.count)))
                rest = rest.dropFirst(count)
                place = left == UInt64(count) ? .head([]) : .payload(left - UInt64(count))
            case .head(var head):
                head.append(rest.removeFirst())
                place = .head(head)
                if let length = Self.payloadLength(head) {
                    if head[0] & 0x0F == 0x8 { hasClosed = true }
                    place = length == 0 ? .head([]) : .payload(length)
                }
            }
        }
    }

    /// The length of the payload when the head is whole, else nil.
    private static func payloadLength(_ head: [UInt8]) -> UInt64? {
        guard head.count >= 2 else { return nil }
        let short = head[1] & 0x7F
        let lengthBytes = short == 127 ? 8 : short == 126 ? 2 : 0
        guard head.count == 2 + lengthBytes + (head[1] & 0x80 == 0 ? 0 : 4) else { return nil }
        guard lengthBytes > 0 else { return UInt64(short) }
        return head[2..<(2 + lengthBytes)].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// A close frame as a server sends it: status code and reason (RFC 6455 section 5.5.1).
    static func close(_ code: UInt16, _ reason: String) -> [UInt8] {
        // A control frame carries at most 125 bytes; reasons are short words of ours.
        let text = Array(reason.utf8.prefix(123))
        return [0x88, UInt8(2 + text.count), UInt8(code >> 8), UInt8(code & 0xFF)] + text
    }

    /// Why we close (RFC 6455 section 7.4.1): 1001 for our own reasons, 1008 when the session is over.
    static func closing(_ reason: String) -> [UInt8] {
        switch reason {
        case LiveConnections.stopping: close(1001, "stopping")
        case LiveConnections.idle: close(1001, "idle")
        default: close(1008, "session.ended")
        }
    }
}
