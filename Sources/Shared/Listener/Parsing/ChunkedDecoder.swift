// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Takes the chunked coding off a body, strictly (RFC 9112 section 7.1). Trailers are checked and dropped.
package struct ChunkedDecoder: Sendable {
    /// What came out of one step.
    package enum Step: Hashable, Sendable {
        case bytes([UInt8])
        case needsMore
        case end
    }

    private enum Phase: Sendable {
        case size
        case data(Int)
        case dataEnd
        case trailer
        case done
    }

    private let limits: ParsingLimits
    private var phase = Phase.size
    private var trailerBytes = 0
    private var trailerCount = 0

    package init(limits: ParsingLimits = ParsingLimits()) { self.limits = limits }

    /// Takes what it can from the front of `input`, at most `limit` bytes of the body at once.
    package mutating func step(_ input: inout ByteQueue, upTo limit: Int = 65_536) throws(Refusal) -> Step {
        while true {
            switch phase {
            case .done: return .end
            case .data(let left):
                guard !input.isEmpty else { return .needsMore }
                let bytes = input.take(upTo: min(left, limit))
                phase = bytes.count == left ? .dataEnd : .data(left - bytes.count)
                return .bytes(bytes)
            case .dataEnd:
                guard input.count >= 1 else { return .needsMore }
                guard input[0] == ByteClass.carriageReturn else { throw Self.badEnd }
                guard input.count >= 2 else { return .needsMore }
                guard input[1] == ByteClass.lineFeed else { throw Self.badEnd }
                input.drop(2)
                phase = .size
            case .size:
                guard let line = try takeLine(&input, limit: limits.chunkLineBytes, Self.longLine) else {
                    return .needsMore
                }
                let size = try Self.size(line)
                phase = size == 0 ? .trailer : .data(size)
            case .trailer:
                let room = limits.trailerBytes - trailerBytes
                guard let line = try takeLine(&input, limit: room, Self.longTrailer) else { return .needsMore }
                if line.isEmpty {
                    phase = .done
                    continue
                }
                trailerBytes += line.count + 2
                trailerCount += 1
                guard trailerCount <= limits.fieldCount else { throw Self.longTrailer }
                _ = try FieldLine(line[...])
            }
        }
    }

    private static let badEnd = Refusal(400, "A chunk is longer than its size line says.")
    private static let longLine = Refusal(400, "A chunk-size line is too long.")
    private static let longTrailer = Refusal(431, "The trailer fields are too long.")

    /// One line without its end, or nil when it has not arrived whole.
    private func takeLine(
        _ input: inout ByteQueue, limit: Int, _ tooLong: Refusal
    ) throws(Refusal) -> [UInt8]? {
        guard let end = input.firstIndex(of: ByteClass.lineFeed, from: 0) else {
            guard input.count < limit else { throw tooLong }  // guard: listener-chunk-line-length
            return nil
        }
        guard end < limit else { throw tooLong }
        guard end > 0, input[end - 1] == ByteClass.carriageReturn else {  // guard: listener-chunk-bare-lf
            throw Refusal(400, "A line of the chunked body ends without a carriage return.")
        }
        let line = Array(input.slice(0..<(end - 1)))
        input.drop(end + 1)
        return line
    }

    /// `1a` or `1a;name=value`: hex digits first and nothing between them and the extension.
    private static func size(_ line: [UInt8]) throws(Refusal) -> Int {
        let digits = line.prefix { ByteClass.hexValue($0) != nil }
        guard !digits.isEmpty, digits.count <= 15 else {
            throw Refusal(400, "A chunk size is not a hexadecimal number.")
        }
        let rest = line[digits.count...]
        let isExtension = rest.first == UInt8(ascii: ";") && rest.allSatisfy(ByteClass.isFieldValue)
        guard rest.isEmpty || isExtension else {  // guard: listener-chunk-junk
            throw Refusal(400, "A chunk size is followed by something else than an extension.")
        }
        return digits.reduce(0) { $0 << 4 | (ByteClass.hexValue($1) ?? 0) }
    }
}
