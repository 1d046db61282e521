// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// How a `CurlTransport` behaves. Redirects are never followed and cookies never kept here.
public struct CurlConfiguration: Sendable {
    /// How long connecting (name look-up, TCP, TLS) may take. Default 10 s.
    public var connectTimeout: Duration = .seconds(10)
    /// How long the head of the answer may take, counted from the last byte sent. Default 60 s.
    public var headTimeout: Duration = .seconds(60)
    /// The User-Agent sent where the request has none.
    public var userAgent = "Nacre"
    /// A file of certificate authorities in PEM instead of the system's; for tests and private authorities.
    public var authoritiesFile: String?
    /// Fixed addresses, as `host:port:address`; for tests.
    public var resolve: [String] = []
    /// The proxy for a URL: nil is a direct connection, else such as `http://proxy.example.org:3128`. What it throws,
    /// `send` throws.
    public var proxy: @Sendable (String) async throws -> String? = { _ in nil }

    /// The defaults above.
    public init() {}
}
