// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

extension LoopSocket {
    /// Reads one request head and not a byte more, so that what follows it (a TLS hello, say) stays in the socket.
    ///
    /// - Throws: `Refusal` for a malformed head, `socket.timeout` at the deadline, `socket.peer_gone` when the other side
    ///   left before the head was whole.
    package func readHead(
        limits: ParsingLimits = ParsingLimits(), until deadline: Deadline
    ) async throws -> RequestHead {
        var seen = 0
        while true {
            let bytes = try await peek(beyond: seen, until: deadline)
            guard bytes.count > seen else {
                throw NacreError("socket.peer_gone", "The other side left before its request.")
            }
            var parser = RequestHeadParser(limits: limits)
            var queue = ByteQueue(bytes)
            if let head = try parser.parse(&queue) {
                try await skip(bytes.count - queue.count)
                return head
            }
            guard bytes.count < 65_536 else { throw Refusal(431, "The header fields are too long.") }
            seen = bytes.count
        }
    }

    private func skip(_ count: Int) async throws {
        var left = count
        while left > 0 {
            guard let bytes = try await read(upTo: left, until: .never) else { return }
            left -= bytes.count
        }
    }
}
