// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// A request, on its way in or out.
public struct HTTPRequest: Sendable {
    /// The method.
    public var method: HTTPMethod
    /// `http` or `https` (`ws`/`wss` requests are upgrades of these).
    public var scheme: String
    /// `host` or `host:port`, as in the Host field.
    public var authority: String
    /// Path and query exactly as on the wire, such as `/a%2Fb?c=d`; never with a fragment.
    public var target: String
    /// Header fields, without Host, Content-Length and Transfer-Encoding when they are implied by the rest.
    public var fields: HTTPFields
    /// The body.
    public var body: HTTPBody

    /// A request of these parts.
    public init(
        method: HTTPMethod = .get, scheme: String = "http", authority: String, target: String,
        fields: HTTPFields = [:], body: HTTPBody = .none
    ) {
        self.method = method
        self.scheme = scheme
        self.authority = authority
        self.target = target
        self.fields = fields
        self.body = body
    }

    /// The part of the target before the query, still percent-encoded.
    public var path: String {
        // In bytes: every request comes by here several times.
        guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return target }
        return String(target[..<mark])
    }

    /// The part of the target after the question mark, or nil.
    public var query: String? {
        guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return nil }
        return String(target[target.utf8.index(after: mark)...])
    }

    /// The absolute URL.
    public var url: String { "\(scheme)://\(authority)\(target)" }
}

/// A response, on its way in or out.
public struct HTTPResponse: Sendable {
    /// The status.
    public var status: HTTPStatus
    /// Header fields; Content-Length and Transfer-Encoding follow from the body.
    public var fields: HTTPFields
    /// The body.
    public var body: HTTPBody
    /// What to do with the connection after a 101: bytes both ways. It ends when the closure returns.
    public var upgrade: (@Sendable (any DuplexStream) async throws -> Void)?

    /// A response of these parts.
    public init(
        status: HTTPStatus = .ok, fields: HTTPFields = [:], body: HTTPBody = .none,
        upgrade: (@Sendable (any DuplexStream) async throws -> Void)? = nil
    ) {
        self.status = status
        self.fields = fields
        self.body = body
        self.upgrade = upgrade
    }
}

/// Bytes both ways: an upgraded connection, a tunnel.
public protocol DuplexStream: Sendable {
    /// The next bytes, or nil when the other side has ended its half.
    func read() async throws -> [UInt8]?
    /// Sends all of these bytes, waiting while the other side is slow.
    func write(_ bytes: [UInt8]) async throws
    /// Ends our half after what was written.
    func finishWriting() async throws
    /// Closes both halves at once; harmless when repeated.
    func close() async
}
