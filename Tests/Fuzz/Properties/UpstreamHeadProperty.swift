// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP
import NacreListener

/// The head of an upstream's answer, to a request whose answer has a body and to one whose has none.
enum UpstreamHeadProperty {
    private typealias Accepted = AcceptedHead<UpstreamHead>

    private static var limits: ResponseLimits {
        var limits = ResponseLimits()
        (limits.headBytes, limits.fieldCount) = (640, 12)
        return limits
    }

    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        var isTaken = false
        for method: HTTPMethod in [.get, .head] {
            if try accepted(method).check(bytes) { isTaken = true }
        }
        return isTaken
    }

    private static func accepted(_ method: HTTPMethod) -> Accepted {
        Accepted(
            kind: .answer, limit: limits.headBytes,
            parser: { isNarrow in
                var parser = UpstreamHeadParser(method: method, limits: isNarrow ? limits : ResponseLimits())
                return { input in try parser.parse(&input) }
            },
            summary: { "\($0.status.rawValue) \($0.framing) \($0.keepsAlive)\(Accepted.text($0.fields))" },
            // The minor version is the eighth byte; the head does not keep it.
            write: { head, bytes in
                let line = "HTTP/1.\(Unicode.Scalar(bytes[7])) \(head.status.rawValue)\r\n"
                return Array("\(line)\(Accepted.lines(head.fields))\r\n".utf8)
            })
    }
}
