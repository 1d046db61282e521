// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Sends requests. A URL's host, scheme and port come from the request; redirects are answers, never followed here.
public protocol HTTPTransport: Sendable {
    /// Sends one request and returns the response once its head is here; the body streams.
    ///
    /// Cancelling the task ends the exchange; so does dropping the body's stream unread.
    /// - Throws: `NacreError` with a `transport.*` code (`transport.unreachable`, `transport.timeout`, `transport.tls`,
    ///   `transport.protocol`), or `CancellationError`.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse
}
