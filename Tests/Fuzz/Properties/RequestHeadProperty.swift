// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP
import NacreListener

/// The head of a request.
enum RequestHeadProperty {
    private typealias Accepted = AcceptedHead<RequestHead>

    private static var limits: ParsingLimits {
        var limits = ParsingLimits()
        (limits.headBytes, limits.targetBytes, limits.fieldCount) = (640, 160, 12)
        return limits
    }

    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        let accepted = Accepted(
            kind: .request, limit: limits.headBytes,
            parser: { isNarrow in
                var parser = RequestHeadParser(limits: isNarrow ? limits : ParsingLimits())
                return { input in try parser.parse(&input) }
            },
            summary: { head in
                "\(head.method.rawValue) \(head.target) \(head.authority) \(head.minorVersion) \(head.framing) "
                    + "\(head.expectsContinue) \(head.wantsKeepAlive) \(head.isAbsolute)\(Accepted.text(head.fields))"
            },
            write: { head, _ in write(head) })
        return try accepted.check(bytes)
    }

    private static func write(_ head: RequestHead) -> [UInt8] {
        let target = head.isAbsolute ? "http://\(head.authority)\(head.target)" : head.target
        var text = "\(head.method.rawValue) \(target) HTTP/1.\(head.minorVersion)\r\n"
        if !head.authority.isEmpty { text += "Host: \(head.authority)\r\n" }
        text += Accepted.lines(head.fields)
        switch head.framing {
        case .none: break
        case .length(let count): text += "Content-Length: \(count)\r\n"
        case .chunked: text += "Transfer-Encoding: chunked\r\n"
        }
        return Array((text + "\r\n").utf8)
    }
}
