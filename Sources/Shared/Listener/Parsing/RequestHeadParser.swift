// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP

/// Reads a request head, strictly, from bytes that arrive in any pieces. A pure value: no socket, no clock.
///
/// It looks at whole lines only and in order, so the pieces never change the result.
package struct RequestHeadParser: Sendable {
    private let limits: ParsingLimits
    private var line: RequestLine?
    private var fields = HTTPFields()
    private var fieldCount = 0
    private var used = 0
    private var skippedEmptyLine = false
    private var searched = 0

    package init(limits: ParsingLimits = ParsingLimits()) { self.limits = limits }

    /// Whether anything of a request has been seen.
    package var hasStarted: Bool { used > 0 }

    /// Takes lines from the front of `input`; nil means more bytes are needed.
    package mutating func parse(_ input: inout ByteQueue) throws(Refusal) -> RequestHead? {
        if line == nil, used == 0, !input.isEmpty { try checkFirstByte(input[0]) }
        while let end = input.firstIndex(of: ByteClass.lineFeed, from: searched) {
            let size = end + 1
            try checkRoom(size)
            guard end > 0, input[end - 1] == ByteClass.carriageReturn else {  // guard: listener-bare-lf
                throw Refusal(400, "A line of the head ends without a carriage return.")
            }
            let content = input.slice(0..<(end - 1))
            let done = try take(content)
            input.drop(size)
            used += size
            searched = 0
            if done { return try finish() }
        }
        searched = input.count
        try checkRoom(input.count)
        return nil
    }

    /// Whether `size` more bytes still fit.
    private func checkRoom(_ size: Int) throws(Refusal) {
        guard used + size <= limits.headBytes else {  // guard: listener-head-bytes
            if line == nil { throw Refusal(414, "The request line is longer than \(limits.headBytes) bytes.") }
            throw Refusal(431, "The header fields are longer than \(limits.headBytes) bytes.")
        }
    }

    /// A TLS hello or a binary protocol on the wrong port is refused at its first byte, not at the deadline.
    private func checkFirstByte(_ byte: UInt8) throws(Refusal) {
        guard ByteClass.isToken(byte) || byte == ByteClass.carriageReturn || byte == ByteClass.lineFeed else {
            throw Refusal(400, "This is not an HTTP request.")
        }
    }

    /// Takes one line; true when it was the empty one that ends the head.
    private mutating func take(_ content: ArraySlice<UInt8>) throws(Refusal) -> Bool {
        guard line != nil else {
            if content.isEmpty, !skippedEmptyLine {  // RFC 9112 section 2.2: one empty line before a request is ignored
                skippedEmptyLine = true
                return false
            }
            line = try RequestLine(content, limits: limits)
            return false
        }
        if content.isEmpty { return true }
        fieldCount += 1
        guard fieldCount <= limits.fieldCount else {  // guard: listener-field-count
            throw Refusal(431, "The request has more than \(limits.fieldCount) header fields.")
        }
        let field = try FieldLine(content)
        fields.append(field.name, field.value)
        return false
    }

    private mutating func finish() throws(Refusal) -> RequestHead {
        guard let line else { throw Refusal(400, "The request has no request line.") }
        let head = try RequestHead(line: line, fields: fields)
        self = RequestHeadParser(limits: limits)
        return head
    }
}
