// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP
import NacreListener

/// What a connection would make of these bytes, pieces of `size` at a time: heads, bodies, and how it ended.
func parse(_ bytes: [UInt8], cutAt cuts: [Int]) -> [String] {
    var result: [String] = []
    var input = ByteQueue()
    var parser = RequestHeadParser()
    var reading: Reading = .head
    var start = 0
    do {
        for end in cuts.sorted() + [bytes.count] where end > start {
            input.append(Array(bytes[start..<end]))
            start = end
            try advance(&input, &parser, &reading, &result)
        }
        result.append(reading == .head && !parser.hasStarted && input.isEmpty ? "end" : "unfinished")
    } catch {
        result.append("refused \(error.status) \(error.reason)")
    }
    return result
}

/// Where a connection stands between two reads.
enum Reading: Equatable {
    case head
    case body([UInt8], left: Int)
    case chunks([UInt8], ChunkedDecoder)

    static func == (a: Reading, b: Reading) -> Bool {
        if case .head = a, case .head = b { true } else { false }
    }
}

private func advance(
    _ input: inout ByteQueue, _ parser: inout RequestHeadParser, _ reading: inout Reading, _ result: inout [String]
) throws(Refusal) {
    while true {
        switch reading {
        case .head:
            guard let head = try parser.parse(&input) else { return }
            let fields = head.fields.fields.map { "\($0.name)=\($0.value)" }.joined(separator: "|")
            result.append(
                "\(head.method.rawValue) \(head.target) \(head.authority) \(head.minorVersion) \(head.framing) [\(fields)]"
            )
            switch head.framing {
            case .none: reading = .head
            case .length(let count): reading = .body([], left: count)
            case .chunked: reading = .chunks([], ChunkedDecoder())
            }
        case .body(let got, let left):
            let bytes = input.take(upTo: left)
            reading = .body(got + bytes, left: left - bytes.count)
            guard left == bytes.count else { return }
            result.append("body \(got + bytes)")
            reading = .head
        case .chunks(let got, var decoder):
            let step = try decoder.step(&input)
            switch step {
            case .needsMore:
                reading = .chunks(got, decoder)
                return
            case .bytes(let bytes): reading = .chunks(got + bytes, decoder)
            case .end:
                result.append("body \(got)")
                reading = .head
            }
        }
    }
}
