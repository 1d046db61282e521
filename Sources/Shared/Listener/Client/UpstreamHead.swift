// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP

/// How much an upstream may spend on the head of an answer.
package struct ResponseLimits: Sendable {
    /// Bytes of the status line and all fields together. Default 64 KiB.
    package var headBytes = 64 * 1024
    /// Fields. Default 200.
    package var fieldCount = 200
    /// Interim answers (1xx) before the real one. Default 8.
    package var interimCount = 8

    /// The defaults.
    package init() {}
}

/// The status line and fields of an answer, checked: what two readers could take in two ways is no answer.
package struct UpstreamHead: Sendable {
    /// How the end of the body is found (RFC 9112 section 6.3).
    package enum Framing: Hashable, Sendable {
        case none
        case length(Int)
        case chunked
        case untilClose
    }

    package let status: HTTPStatus
    /// Every field as it came.
    package let fields: HTTPFields
    package let framing: Framing
    /// Whether the connection may carry another request.
    package let keepsAlive: Bool

    init(status: Int, minorVersion: Int, fields: HTTPFields, method: HTTPMethod) throws(NacreError) {
        self.status = HTTPStatus(rawValue: status)
        self.fields = fields
        let lengths = fields.values("Content-Length")
        let codings = fields.values("Transfer-Encoding")
        guard lengths.count <= 1 else {  // guard: upstream-two-lengths
            throw Self.fault("it has two Content-Length fields")
        }
        guard codings.isEmpty || lengths.isEmpty else {  // guard: upstream-length-and-coding
            throw Self.fault("it has both Content-Length and Transfer-Encoding")
        }
        let length = try lengths.first.map { text throws(NacreError) in try Self.length(text) }
        if !codings.isEmpty {
            let isChunked = codings.count == 1 && equalNames(codings[0], "chunked") && minorVersion == 1
            guard isChunked else { throw Self.fault("its transfer coding is not chunked") }  // guard: upstream-coding
        }
        let connection = fields.tokens("Connection")
        var keeps = minorVersion == 1 ? !connection.contains("close") : connection.contains("keep-alive")
        if method == .head || self.status.hasNoBody {
            framing = .none
            // What such an answer announces may follow all the same; a connection with such bytes in it is lost.
            if self.status != .notModified, method != .head, length ?? 0 > 0 || !codings.isEmpty { keeps = false }
        } else if !codings.isEmpty {
            framing = .chunked
        } else if let length {
            framing = .length(length)
        } else {
            framing = .untilClose
            keeps = false
        }
        keepsAlive = keeps
    }

    private static func length(_ text: String) throws(NacreError) -> Int {
        guard !text.isEmpty, text.utf8.count <= 18, text.utf8.allSatisfy(ByteClass.isDigit), let length = Int(text)
        else { throw fault("its Content-Length is not a plain number") }
        return length
    }

    static func fault(_ what: String, cause: (any Error)? = nil) -> NacreError {
        NacreError("transport.protocol", "The upstream gave no valid answer: \(what).", cause: cause)
    }
}

/// Reads the head of an answer, strictly, from bytes that arrive in any pieces. A pure value: no socket, no clock.
package struct UpstreamHeadParser: Sendable {
    private let limits: ResponseLimits
    private let method: HTTPMethod
    private var line: (minorVersion: Int, status: Int)?
    private var fields = HTTPFields()
    private var count = 0
    private var used = 0
    private var searched = 0

    /// A parser of the answer to a request of this method.
    package init(method: HTTPMethod, limits: ResponseLimits = ResponseLimits()) {
        self.method = method
        self.limits = limits
    }

    /// Whether anything of an answer has been taken.
    var hasStarted: Bool { used > 0 }

    /// Takes lines from the front of `input`; nil means more bytes are needed.
    ///
    /// - Throws: `transport.protocol` that says what is wrong.
    package mutating func parse(_ input: inout ByteQueue) throws(NacreError) -> UpstreamHead? {
        while let end = input.firstIndex(of: ByteClass.lineFeed, from: searched) {
            try checkRoom(end + 1)
            guard end > 0, input[end - 1] == ByteClass.carriageReturn else {
                throw UpstreamHead.fault("a line of its head ends without a carriage return")
            }
            let done = try take(input.slice(0..<(end - 1)))
            input.drop(end + 1)
            used += end + 1
            searched = 0
            if done, let line {
                return try UpstreamHead(
                    status: line.status, minorVersion: line.minorVersion, fields: fields, method: method)
            }
        }
        searched = input.count
        try checkRoom(input.count)
        return nil
    }

    private func checkRoom(_ size: Int) throws(NacreError) {
        guard used + size <= limits.headBytes else {  // guard: upstream-head-bytes
            throw UpstreamHead.fault("its head is longer than \(limits.headBytes) bytes")
        }
    }

    private mutating func take(_ content: ArraySlice<UInt8>) throws(NacreError) -> Bool {
        guard line != nil else {
            line = try Self.statusLine(content)
            return false
        }
        if content.isEmpty { return true }
        count += 1
        guard count <= limits.fieldCount else {  // guard: upstream-field-count
            throw UpstreamHead.fault("it has more than \(limits.fieldCount) fields")
        }
        do throws(Refusal) {
            let field = try FieldLine(content)
            fields.append(field.name, field.value)
        } catch {
            throw UpstreamHead.fault("a field of it is malformed", cause: error)
        }
        return false
    }

    /// `HTTP/1.1 200 OK`; the reason may be missing (RFC 9112 section 4).
    private static func statusLine(_ line: ArraySlice<UInt8>) throws(NacreError) -> (minorVersion: Int, status: Int) {
        let bytes = Array(line)
        let minor = bytes.count > 7 ? bytes[7] : 0
        guard bytes.count >= 12, bytes.starts(with: "HTTP/1.".utf8), minor == 0x30 || minor == 0x31,
            bytes[8] == ByteClass.space, bytes[9...11].allSatisfy(ByteClass.isDigit), bytes[9] != 0x30,
            bytes.count == 12 || bytes[12] == ByteClass.space, bytes.allSatisfy(ByteClass.isFieldValue)
        else { throw UpstreamHead.fault("it does not begin with a status line of HTTP/1.0 or 1.1") }
        let status = bytes[9...11].reduce(0) { $0 * 10 + Int($1 - 0x30) }
        return (Int(minor - 0x30), status)
    }
}
