// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreListener

/// A chunked body that is taken gives the bytes and the end that a second, naive reading gives, in any pieces.
enum ChunkedProperty {
    private enum Outcome: Equatable {
        case unfinished([UInt8])
        case refused(Refusal)
        case taken([UInt8], used: Int)
    }

    private static var limits: ParsingLimits {
        var limits = ParsingLimits()
        (limits.chunkLineBytes, limits.trailerBytes, limits.fieldCount) = (48, 160, 8)
        return limits
    }

    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        let outcome = read([bytes], upTo: 65_536)
        let cut = bytes.isEmpty ? 0 : fingerprint(bytes) % bytes.count
        let pieces = read([Array(bytes[..<cut]), Array(bytes[cut...])], upTo: 3)
        try demand(pieces == outcome, "cut at \(cut): \(pieces) instead of \(outcome)")
        guard case .taken(let body, let used) = outcome else { return false }
        guard let naive = decode(bytes) else { throw Violation("taken, although no chunked body by the naive reading") }
        try demand(naive.body == body && naive.used == used, "the naive reading gives \(naive)")
        let size = String(body.count, radix: 16)
        let written = Array("\(size)\r\n".utf8) + body + Array("\r\n0\r\n\r\n".utf8)
        let one = body.isEmpty ? Array("0\r\n\r\n".utf8) : written
        try demand(read([one], upTo: 65_536) == .taken(body, used: one.count), "written and read again: another body")
        return true
    }

    private static func read(_ pieces: [[UInt8]], upTo limit: Int) -> Outcome {
        var decoder = ChunkedDecoder(limits: limits)
        var input = ByteQueue()
        var body: [UInt8] = []
        var given = 0
        do {
            for piece in pieces {
                input.append(piece)
                given += piece.count
                reading: while true {
                    switch try decoder.step(&input, upTo: limit) {
                    case .bytes(let bytes): body += bytes
                    case .needsMore: break reading
                    case .end: return .taken(body, used: given - input.count)
                    }
                }
            }
            return .unfinished(body)
        } catch { return .refused(error) }
    }

    /// RFC 9112 section 7.1.3, without limits.
    private static func decode(_ bytes: [UInt8]) -> (body: [UInt8], used: Int)? {
        var rest = bytes[...]
        var body: [UInt8] = []
        func line() -> [UInt8]? {
            guard let end = rest.firstIndex(of: 10), end > rest.startIndex, rest[end - 1] == 13 else { return nil }
            defer { rest = rest[(end + 1)...] }
            let line = rest[..<(end - 1)]
            return line.contains(where: { $0 < 32 && $0 != 9 || $0 == 127 }) ? nil : Array(line)
        }
        while let head = line() {
            let digits = head.prefix { $0 != UInt8(ascii: ";") }
            guard !digits.isEmpty, digits.allSatisfy({ Unicode.Scalar($0).properties.isASCIIHexDigit }),
                let size = Int(String(decoding: digits, as: UTF8.self), radix: 16)
            else { return nil }
            if size == 0 {
                while let trailer = line() {
                    if trailer.isEmpty { return (body, bytes.count - rest.count) }
                }
                return nil
            }
            guard rest.count >= size + 2 else { return nil }
            body += rest.prefix(size)
            rest = rest.dropFirst(size)
            guard rest.starts(with: [13, 10]) else { return nil }
            rest = rest.dropFirst(2)
        }
        return nil
    }
}
