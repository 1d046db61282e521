// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore

/// An absolute http or https URL, split but not decoded. Strict: no user information, no white space, no control characters.
public struct WebURL: Hashable, Sendable, CustomStringConvertible {
    /// Scheme, host and port.
    public let origin: Origin
    /// Path and query as written; at least `/`. No fragment.
    public let target: String

    /// A URL of these parts.
    public init(origin: Origin, target: String) {
        self.origin = origin
        self.target = target.hasPrefix("/") ? target : "/" + target
    }

    /// Splits `text`; a fragment is dropped.
    ///
    /// - Throws: `url.malformed` that says what is wrong without repeating a secret.
    public init(_ text: String) throws(NacreError) {
        func fault(_ reason: String) -> NacreError {
            NacreError("url.malformed", "\"\(Redaction.url(String(text.prefix(200))))\" \(reason).")
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else {
            throw fault("has a character that must be percent-encoded")
        }
        guard let colon = text.firstRange(ofText: "://") else { throw fault("is not an absolute http or https URL") }
        let scheme = text[..<colon.lowerBound].lowercased()
        guard scheme == "http" || scheme == "https" else { throw fault("is not an http or https URL") }
        let rest = text[colon.upperBound...].prefix { $0 != "#" }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard !authority.contains("@") else { throw fault("has user information, which is not allowed") }
        var host = String(authority)
        var port = scheme == "https" ? 443 : 80
        let afterBracket = authority.lastIndex(of: "]") ?? authority.startIndex
        if let mark = authority[afterBracket...].lastIndex(of: ":") {
            let digits = authority[authority.index(after: mark)...]
            guard let number = Int(digits), (1...65535).contains(number), digits.allSatisfy(\.isNumber) else {
                throw fault("has no valid port")
            }
            port = number
            host = String(authority[..<mark])
        }
        guard WebURL.isValid(host: host) else { throw fault("has no valid host name") }
        let target = String(rest[authority.endIndex...])
        self.origin = Origin(scheme: scheme, host: host, port: port)
        self.target = target.hasPrefix("/") ? target : "/" + target
    }

    private static func isValid(host: String) -> Bool {
        if host.hasPrefix("[") {
            return host.hasSuffix("]") && host.utf8.count > 2
                && host.dropFirst().dropLast().allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
        }
        return !host.isEmpty && host.utf8.count <= 253
            && host.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    /// The path before the query.
    public var path: String { String(target.prefix { $0 != "?" }) }
    /// The query after the question mark, or nil.
    public var query: String? {
        guard let mark = target.firstIndex(of: "?") else { return nil }
        return String(target[target.index(after: mark)...])
    }
    /// The whole URL.
    public var description: String { origin.description + target }
}

extension HTTPRequest {
    /// A request to this URL.
    public init(_ method: HTTPMethod = .get, _ url: WebURL, fields: HTTPFields = [:], body: HTTPBody = .none) {
        self.init(
            method: method, scheme: url.origin.scheme, authority: url.origin.authority, target: url.target,
            fields: fields, body: body)
    }
}
