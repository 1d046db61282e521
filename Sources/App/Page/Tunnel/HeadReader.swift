// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// The head of a response that came over a stream of our own: a proxy's answer to CONNECT, a server's answer to an upgrade.
struct ResponseHead: Sendable {
    let status: Int
    let fields: HTTPFields
    /// Bytes behind the head that came along with it.
    let rest: [UInt8]

    private static let limit = 32_768

    /// Reads one head.
    ///
    /// - Throws: `transport.protocol` when what comes is not one, or is too large, or ends early.
    static func read(from stream: any DuplexStream) async throws -> ResponseHead {
        var bytes: [UInt8] = []
        while true {
            if let end = bytes.firstHeadEnd { return try parse(bytes[..<end], rest: Array(bytes[end...])) }
            guard bytes.count < limit, let more = try await stream.read() else {
                throw NacreError("transport.protocol", "The server closed or sent no proper answer to the handshake.")
            }
            bytes += more
        }
    }

    private static func parse(_ head: ArraySlice<UInt8>, rest: [UInt8]) throws -> ResponseHead {
        let text = String(decoding: head, as: UTF8.self)
        let lines = text.split(separator: "\r\n", omittingEmptySubsequences: true)
        let words = (lines.first ?? "").parts(at: " ", most: 3)
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].utf8.count == 3, let status = Int(words[1])
        else {
            throw NacreError("transport.protocol", "The server's answer is not HTTP.")
        }
        var fields = HTTPFields()
        for line in lines.dropFirst() {
            guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), colon != line.startIndex,
                line.utf8.allSatisfy({ $0 >= 0x20 || $0 == 0x09 })
            else { throw NacreError("transport.protocol", "The server's answer has a malformed header field.") }
            fields.append(String(line[..<colon]), line[line.utf8.index(after: colon)...].trimmingSpaces())
        }
        return ResponseHead(status: status, fields: fields, rest: rest)
    }
}

extension [UInt8] {
    /// Where the first head ends, behind its blank line.
    fileprivate var firstHeadEnd: Int? {
        guard count >= 4 else { return nil }
        return (3..<count).first {
            self[$0] == 0x0A && self[$0 - 1] == 0x0D && self[$0 - 2] == 0x0A && self[$0 - 3] == 0x0D
        }
        .map { $0 + 1 }
    }
}
