// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// A request method (RFC 9110 section 9), an open set.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    /// The method as sent, upper case for the known ones.
    public let rawValue: String
    /// A method of this spelling.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// A method of this spelling.
    public init(stringLiteral value: String) { self.rawValue = value }

    public static let get: HTTPMethod = "GET"
    public static let head: HTTPMethod = "HEAD"
    public static let post: HTTPMethod = "POST"
    public static let put: HTTPMethod = "PUT"
    public static let patch: HTTPMethod = "PATCH"
    public static let delete: HTTPMethod = "DELETE"
    public static let options: HTTPMethod = "OPTIONS"
    public static let connect: HTTPMethod = "CONNECT"

    /// Whether it may change something on the server (RFC 9110 section 9.2.1): such requests need a CSRF check.
    public var isUnsafe: Bool { !(self == .get || self == .head || self == .options || self == "TRACE") }
}
