// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP
import NacreListener

/// A request head that is taken is one by the second reading too, survives being written and read again, and does not
/// depend on the pieces it came in.
enum RequestHeadProperty {
    private enum Outcome: Equatable {
        case unfinished
        case refused(Refusal)
        case taken([UInt8], used: Int)
    }

    /// Small, so that the limits are within the reach of short inputs.
    private static var limits: ParsingLimits {
        var limits = ParsingLimits()
        (limits.headBytes, limits.targetBytes, limits.fieldCount) = (640, 160, 12)
        return limits
    }

    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        let (outcome, head) = read([bytes], limits)
        let cut = bytes.isEmpty ? 0 : fingerprint(bytes) % bytes.count
        let (pieces, _) = read([Array(bytes[..<cut]), Array(bytes[cut...])], limits)
        try demand(pieces == outcome, "cut at \(cut): \(pieces) instead of \(outcome)")
        guard let head, case .taken(let summary, let used) = outcome else { return false }
        try demand(used <= limits.headBytes, "\(used) bytes are more than the limit")
        if let fault = HeadOracle.fault(in: bytes[..<used], .request) { throw Violation("taken with \(fault)") }
        let written = write(head)
        let (again, _) = read([written], ParsingLimits())
        try demand(
            again == .taken(summary, used: written.count),
            "written and read again: \(again) instead of \(String(decoding: summary, as: UTF8.self))")
        return true
    }

    private static func read(_ pieces: [[UInt8]], _ limits: ParsingLimits) -> (Outcome, RequestHead?) {
        var parser = RequestHeadParser(limits: limits)
        var input = ByteQueue()
        var given = 0
        do {
            for piece in pieces {
                input.append(piece)
                given += piece.count
                guard let head = try parser.parse(&input) else { continue }
                return (.taken(summary(head), used: given - input.count), head)
            }
            return (.unfinished, nil)
        } catch { return (.refused(error), nil) }
    }

    private static func write(_ head: RequestHead) -> [UInt8] {
        let target = head.isAbsolute ? "http://\(head.authority)\(head.target)" : head.target
        var text = "\(head.method.rawValue) \(target) HTTP/1.\(head.minorVersion)\r\n"
        if !head.authority.isEmpty { text += "Host: \(head.authority)\r\n" }
        for field in head.fields.fields { text += "\(field.name): \(field.value)\r\n" }
        switch head.framing {
        case .none: break
        case .length(let count): text += "Content-Length: \(count)\r\n"
        case .chunked: text += "Transfer-Encoding: chunked\r\n"
        }
        return Array((text + "\r\n").utf8)
    }

    /// As bytes: Swift's strings are equal when their characters are, whatever their scalars.
    private static func summary(_ head: RequestHead) -> [UInt8] {
        let fields = head.fields.fields.map { "\n\($0.name)\n\($0.value)" }.joined()
        return Array(
            ("\(head.method.rawValue) \(head.target) \(head.authority) \(head.minorVersion) \(head.framing) "
                + "\(head.expectsContinue) \(head.wantsKeepAlive) \(head.isAbsolute)\(fields)").utf8)
    }
}
