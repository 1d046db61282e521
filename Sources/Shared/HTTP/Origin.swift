// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore

/// A web origin: scheme, host and port (RFC 6454), with default ports left out in text.
public struct Origin: Hashable, Sendable, CustomStringConvertible {
    /// `http` or `https`.
    public let scheme: String
    /// The host in lower case; IPv6 literals in brackets.
    public let host: String
    /// The port, always explicit here.
    public let port: Int
    /// `host` or `host:port`, as in a Host field. Made once: each request that is passed on needs it several times.
    public let authority: String

    /// An origin of these parts.
    public init(scheme: String, host: String, port: Int) {
        self.scheme = scheme
        self.host = host.lowercased()
        self.port = port
        let isDefaultPort = port == (scheme == "https" ? 443 : 80)
        authority = isDefaultPort ? self.host : "\(self.host):\(port)"
    }

    /// The origin written in `text`: scheme and authority, nothing after it except one optional `/`.
    ///
    /// - Throws: `url.origin` that says what is wrong.
    public init(_ text: String) throws(NacreError) {
        let url = try WebURL(text)
        guard url.target == "/", !text.contains("?"), !text.contains("#") else {
            throw NacreError(
                "url.origin", "\"\(Redaction.url(text))\" is not an origin; write only scheme, host and port.")
        }
        self = url.origin
    }

    /// The text as in an Origin field.
    public var description: String { "\(scheme)://\(authority)" }

    /// Whether a browser treats it as trustworthy without TLS: loopback names and addresses.
    public var isLoopback: Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host == "127.0.0.1" || host == "[::1]"
    }
}
