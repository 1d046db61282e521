// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// What the first bytes of a connection to the channel say: a CONNECT for somewhere, or a refusal.
///
/// A parser of its own, stricter than HTTP asks for: the one client is the web view's network process.
enum ConnectHead: Equatable {
    /// The head is not complete yet.
    case incomplete
    /// A CONNECT with its target; the secret has been compared. `length` bytes belong to the head.
    case connect(ConnectTarget, length: Int)
    /// Answer with this status; the connection may stay only where `length` is known.
    case refuse(Int, Reason, length: Int?)

    /// Why a head was refused, for the log.
    enum Reason: String, Equatable {
        case secret = "wrong-or-missing-secret"
        case notConnect = "not-a-connect"
        case malformed
        case tooLarge = "head-too-large"
        case hasBody = "body-on-connect"
    }

    /// Reads a head from the bytes that stand at the connection's start.
    static func parse(_ bytes: [UInt8], limit: Int, secret: ConnectSecret) -> ConnectHead {
        guard let length = end(of: bytes, within: limit) else {
            return bytes.count >= limit ? .refuse(431, .tooLarge, length: nil) : .incomplete  // guard: connect-head-size
        }
        guard bytes[..<length].allSatisfy({ $0 == 0x0D || $0 == 0x0A || (0x20..<0x7F).contains($0) }),  // guard: connect-controls
            let lines = lines(bytes[..<(length - 4)])
        else { return .refuse(400, .malformed, length: nil) }
        let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2] == "HTTP/1.1" else { return .refuse(400, .malformed, length: nil) }
        guard words[0] == "CONNECT" else { return .refuse(403, .notConnect, length: nil) }  // guard: connect-only
        guard let fields = fields(lines.dropFirst()) else { return .refuse(400, .malformed, length: nil) }
        guard fields["Content-Length"] == nil, fields["Transfer-Encoding"] == nil else {  // guard: connect-body
            return .refuse(400, .hasBody, length: nil)
        }
        let credentials = fields.values("Proxy-Authorization")
        guard credentials.count == 1, secret.matches(credentials[0]) else {  // guard: connect-secret
            return .refuse(407, .secret, length: length)
        }
        guard let target = ConnectTarget(String(words[1])) else { return .refuse(400, .malformed, length: nil) }
        return .connect(target, length: length)
    }

    private static func end(of bytes: [UInt8], within limit: Int) -> Int? {
        var index = 3
        while index < min(bytes.count, limit) {
            if bytes[index] == 0x0A, bytes[index - 1] == 0x0D, bytes[index - 2] == 0x0A, bytes[index - 3] == 0x0D {
                return index + 1
            }
            index += 1
        }
        return nil
    }

    /// The lines without their CRLF; nil where a CR or LF stands alone.
    private static func lines(_ head: ArraySlice<UInt8>) -> [String]? {
        var lines: [String] = []
        var start = head.startIndex
        var index = start
        while index < head.endIndex {
            if head[index] == 0x0D {
                guard index + 1 < head.endIndex, head[index + 1] == 0x0A else { return nil }
                lines.append(String(decoding: head[start..<index], as: UTF8.self))
                index += 2
                start = index
            } else {
                guard head[index] != 0x0A else { return nil }
                index += 1
            }
        }
        lines.append(String(decoding: head[start...], as: UTF8.self))
        return lines
    }

    private static func fields(_ lines: ArraySlice<String>) -> HTTPFields? {
        var fields = HTTPFields()
        for line in lines {
            guard let colon = line.firstIndex(of: ":"), colon != line.startIndex, !line.hasPrefix(" ") else { return nil }
            let name = line[..<colon]
            guard !name.contains(" ") else { return nil }
            fields.append(String(name), line[line.index(after: colon)...].trimmingSpaces())
        }
        return fields
    }
}

/// `host:port` of a CONNECT.
struct ConnectTarget: Hashable, Sendable, CustomStringConvertible {
    /// The host in lower case; IPv6 literals in brackets.
    let host: String
    let port: Int

    /// Nil unless it is exactly a host and a port.
    init?(_ text: String) {
        // The https URL of the same authority obeys the same grammar, and WebURL checks it.
        guard let colon = text.lastIndex(of: ":"), !text.contains("/"), !text.contains("?"), !text.contains("#"),
            let port = Int(text[text.index(after: colon)...]), let url = try? WebURL("https://" + text),
            url.origin.port == port
        else { return nil }
        self.host = url.origin.host
        self.port = port
    }

    init(_ origin: Origin) {
        host = origin.host
        port = origin.port
    }

    var description: String { "\(host):\(port)" }
}

/// The secret of one launch, as the proxy's Basic credentials.
struct ConnectSecret: Sendable {
    /// The user name that goes with it.
    static let user = "app"
    /// The secret itself, for the web view's credential.
    let value: String
    private let expected: [UInt8]

    init(_ value: String) {
        self.value = value
        expected = Array(Base64.encode(Array("\(Self.user):\(value)".utf8)).utf8)
    }

    /// Whether a `Proxy-Authorization` value holds it; takes the same time for every wrong value of its length.
    func matches(_ field: String) -> Bool {
        let parts = field.split(separator: " ")
        guard parts.count == 2, parts[0].lowercased() == "basic" else { return false }
        return constantTimeEqual(Array(parts[1].utf8), expected)
    }
}
