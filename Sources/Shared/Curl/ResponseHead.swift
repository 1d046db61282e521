// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP

/// Collects the header lines that curl hands over one by one.
struct ResponseHead {
    private var status: HTTPStatus?
    private var fields = HTTPFields()

    /// Takes a line; true when it was the empty one that ends a head.
    mutating func add(_ line: UnsafeRawBufferPointer) -> Bool {
        var end = line.count
        while end > 0, line[end - 1] == 0x0D || line[end - 1] == 0x0A { end -= 1 }
        guard end > 0 else { return true }
        // What is no UTF-8 is Latin-1, as HTTP once was: names of files say so still.
        let text =
            String(validating: line[..<end], as: UTF8.self)
            ?? String(String.UnicodeScalarView(line[..<end].map { Unicode.Scalar($0) }))
        if text.hasPrefix("HTTP/") {
            let parts = text.parts(at: " ", most: 3)
            status = parts.count > 1 ? Int(parts[1]).map(HTTPStatus.init(rawValue:)) : nil
            fields = HTTPFields()
        } else if let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) {
            fields.append(String(text[..<colon]), text[text.utf8.index(after: colon)...].trimmingSpaces())
        }
        return false
    }

    /// The head, without the fields that described the connection to the server.
    mutating func finish() -> (HTTPStatus, HTTPFields)? {
        guard let status else { return nil }
        var result = fields
        result.removeHopByHop()
        self = ResponseHead()
        return (status, result)
    }
}
