// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP
import NacreListener

/// What must hold for any head that a parser takes: it is one by the second reading too, survives being written and read
/// again, keeps to its limits, and does not depend on the pieces it came in.
struct AcceptedHead<Head> {
    private enum Outcome: Equatable {
        case unfinished
        case refused(String)
        case taken([UInt8], used: Int)
    }

    let kind: HeadOracle.Kind
    /// The bytes that the narrow parser takes at most.
    let limit: Int
    /// A fresh parser: within narrow limits, which short inputs can reach, or within the usual ones.
    let parser: (_ isNarrow: Bool) -> (inout ByteQueue) throws -> Head?
    /// The fields of a head and whatever else it says, as text.
    let summary: (Head) -> String
    /// The head as it would be sent, from the bytes that it was read from.
    let write: (Head, [UInt8]) -> [UInt8]

    /// Whether the bytes are taken.
    func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        let (outcome, head) = read([bytes], isNarrow: true)
        let cut = bytes.isEmpty ? 0 : fingerprint(bytes) % bytes.count
        let (pieces, _) = read([Array(bytes[..<cut]), Array(bytes[cut...])], isNarrow: true)
        try demand(pieces == outcome, "cut at \(cut): \(pieces) instead of \(outcome)")
        guard let head, case .taken(let summary, let used) = outcome else { return false }
        try demand(used <= limit, "\(used) bytes are more than the limit")
        if let fault = HeadOracle.fault(in: bytes[..<used], kind) { throw Violation("taken with \(fault)") }
        let written = write(head, bytes)
        let (again, _) = read([written], isNarrow: false)
        try demand(
            again == .taken(summary, used: written.count),
            "written and read again: \(again) instead of \(String(decoding: summary, as: UTF8.self))")
        return true
    }

    private func read(_ pieces: [[UInt8]], isNarrow: Bool) -> (Outcome, Head?) {
        let parse = parser(isNarrow)
        var input = ByteQueue()
        var given = 0
        do {
            for piece in pieces {
                input.append(piece)
                given += piece.count
                guard let head = try parse(&input) else { continue }
                // As bytes: Swift's strings are equal when their characters are, whatever their scalars.
                return (.taken(Array(summary(head).utf8), used: given - input.count), head)
            }
            return (.unfinished, nil)
        } catch { return (.refused("\(error)"), nil) }
    }

    static func text(_ fields: HTTPFields) -> String {
        fields.fields.map { "\n\($0.name)\n\($0.value)" }.joined()
    }

    static func lines(_ fields: HTTPFields) -> String {
        fields.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
    }
}
