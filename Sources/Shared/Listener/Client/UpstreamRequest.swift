// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// The bytes of a request's head on its way to an upstream.
enum UpstreamRequest {
    /// Whether it asks for another protocol; only what is named so may be answered 101.
    static func isUpgrade(_ request: HTTPRequest) -> Bool { request.fields["Upgrade"] != nil }

    /// Status line and fields, with the empty line.
    ///
    /// - Throws: `http.bad_field` for what would change the meaning of the message (request splitting).
    static func head(_ request: HTTPRequest) throws(NacreError) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(1024)
        let isSafe =
            request.method.rawValue.utf8.allSatisfy(ByteClass.isToken) && !request.method.rawValue.isEmpty
            && request.target.utf8.allSatisfy(ByteClass.isTarget) && request.target.hasPrefix("/")
        guard isSafe else { throw splitting }  // guard: upstream-request-line
        out += request.method.rawValue.utf8
        out.append(ByteClass.space)
        out += request.target.utf8
        out += " HTTP/1.1\r\n".utf8
        try append(&out, "Host", request.fields["Host"] ?? request.authority)
        for field in request.fields.fields {
            // What follows from the message itself: fields of these names do not count.
            if FramingNames.contains(field.name) || equalNames(field.name, "host") { continue }
            try append(&out, field.name, field.value)
        }
        if isUpgrade(request) { try append(&out, "Connection", "Upgrade") }
        switch request.body {
        case .none:
            if request.method == .post || request.method == .put || request.method == .patch {
                try append(&out, "Content-Length", "0")
            }
        case .bytes(let bytes): try append(&out, "Content-Length", "\(bytes.count)")
        case .stream(_, let length?): try append(&out, "Content-Length", "\(length)")
        case .stream(_, nil): try append(&out, "Transfer-Encoding", "chunked")
        }
        out += "\r\n".utf8
        return out
    }

    private static let splitting = NacreError(
        "http.bad_field", "A request field holds a control character; encode its value.")

    private static func append(_ out: inout [UInt8], _ name: String, _ value: String) throws(NacreError) {
        let isSafe =
            !name.isEmpty && name.utf8.allSatisfy(ByteClass.isToken) && value.utf8.allSatisfy(ByteClass.isFieldValue)
        guard isSafe else { throw splitting }  // guard: upstream-request-splitting
        FieldLine.append(name, value, to: &out)
    }
}
