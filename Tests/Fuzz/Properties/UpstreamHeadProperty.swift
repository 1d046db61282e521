// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreListener

/// The head of an upstream's answer: as for requests.
enum UpstreamHeadProperty {
    private enum Outcome: Equatable {
        case unfinished
        case refused(String)
        case taken([UInt8], used: Int)
    }

    private static var limits: ResponseLimits {
        var limits = ResponseLimits()
        (limits.headBytes, limits.fieldCount) = (640, 12)
        return limits
    }

    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        var isTaken = false
        for method: HTTPMethod in [.get, .head] {
            let (outcome, head) = read([bytes], method, limits)
            let cut = bytes.isEmpty ? 0 : fingerprint(bytes) % bytes.count
            let (pieces, _) = read([Array(bytes[..<cut]), Array(bytes[cut...])], method, limits)
            try demand(pieces == outcome, "cut at \(cut): \(pieces) instead of \(outcome)")
            guard let head, case .taken(let summary, let used) = outcome else { continue }
            isTaken = true
            try demand(used <= limits.headBytes, "\(used) bytes are more than the limit")
            if let fault = HeadOracle.fault(in: bytes[..<used], .answer) { throw Violation("taken with \(fault)") }
            // The minor version is the eighth byte; the head does not keep it.
            let written = write(head, minorVersion: bytes[7])
            let (again, _) = read([written], method, ResponseLimits())
            try demand(again == .taken(summary, used: written.count), "written and read again: \(again)")
        }
        return isTaken
    }

    private static func read(
        _ pieces: [[UInt8]], _ method: HTTPMethod, _ limits: ResponseLimits
    ) -> (Outcome, UpstreamHead?) {
        var parser = UpstreamHeadParser(method: method, limits: limits)
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
        } catch { return (.refused(error.message), nil) }
    }

    private static func write(_ head: UpstreamHead, minorVersion: UInt8) -> [UInt8] {
        let version = Unicode.Scalar(minorVersion)
        let fields = head.fields.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
        return Array("HTTP/1.\(version) \(head.status.rawValue)\r\n\(fields)\r\n".utf8)
    }

    private static func summary(_ head: UpstreamHead) -> [UInt8] {
        let fields = head.fields.fields.map { "\n\($0.name)\n\($0.value)" }.joined()
        return Array("\(head.status.rawValue) \(head.framing) \(head.keepsAlive)\(fields)".utf8)
    }
}
