// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// How the end of a response body is shown to the client (RFC 9112 section 6).
enum ResponseFraming: Hashable {
    /// No body at all, whatever the fields say: HEAD, 1xx, 204, 304.
    case noBody
    case length(Int)
    case chunked
    /// The end of the connection: HTTP/1.0 and no length.
    case untilClose

    init(_ response: HTTPResponse, to head: RequestHead) {
        if head.method == .head || response.status.hasNoBody {
            self = .noBody
        } else if let length = response.body.length {
            self = .length(length)
        } else {
            self = head.minorVersion == 1 ? .chunked : .untilClose
        }
    }
}

/// Writes status line and fields.
struct ResponseHead {
    let response: HTTPResponse
    let framing: ResponseFraming
    let connection: String?
    let date: DateField

    /// The bytes.
    ///
    /// - Throws: `http.bad_field` for a field that would change the meaning of the message (response splitting).
    func bytes() throws(NacreError) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(512)
        out += "HTTP/1.1 ".utf8
        out += "\(response.status.rawValue) ".utf8
        out += response.status.reason.utf8
        out += Self.newLine
        var hasDate = false
        for field in response.fields.fields {
            // They follow from the body and the connection: a handler's own do not count.
            if FramingNames.contains(field.name) { continue }
            if equalNames(field.name, "date") { hasDate = true }
            try Self.append(&out, field.name, field.value)
        }
        if !hasDate { try Self.append(&out, "Date", date.value) }
        if let connection { try Self.append(&out, "Connection", connection) }
        if let (name, value) = framingField { try Self.append(&out, name, value) }
        out += Self.newLine
        return out
    }

    private static let newLine: [UInt8] = [13, 10]

    private var framingField: (String, String)? {
        switch framing {
        case .length(let length): return ("Content-Length", "\(length)")
        case .chunked: return ("Transfer-Encoding", "chunked")
        case .untilClose: return nil
        case .noBody:
            // HEAD and 304 may tell the length that a GET would have (RFC 9110 section 8.6).
            guard response.status.rawValue >= 200, response.status != .noContent else { return nil }
            if let declared = response.fields["Content-Length"], declared.utf8.allSatisfy(ByteClass.isDigit) {
                return ("Content-Length", declared)
            }
            guard let length = response.body.length, length > 0 else { return nil }
            return ("Content-Length", "\(length)")
        }
    }

    private static func append(_ out: inout [UInt8], _ name: String, _ value: String) throws(NacreError) {
        let isSafe =
            !name.isEmpty && name.utf8.allSatisfy(ByteClass.isToken) && value.utf8.allSatisfy(ByteClass.isFieldValue)
        guard isSafe else {  // guard: listener-response-splitting
            throw NacreError("http.bad_field", "A response field holds a control character; encode its value.")
        }
        FieldLine.append(name, value, to: &out)
    }
}
