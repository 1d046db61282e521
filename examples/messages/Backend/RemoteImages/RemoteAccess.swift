// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreHTTP

/// How the backend reaches other people's servers, to fetch the images that a message shows from there.
public struct RemoteAccess: Sendable {
    /// The addresses of a host name. Blocking work belongs on a thread of its own.
    public var addresses: @Sendable (_ host: String) async throws -> [String]
    /// Sends a request to this one address, whatever the name means by now: between asking and connecting it could
    /// have come to mean an address of ours. Redirects are answers.
    public var send: @Sendable (_ request: HTTPRequest, _ address: String) async throws -> HTTPResponse

    /// Access by these means.
    public init(
        addresses: @escaping @Sendable (_ host: String) async throws -> [String],
        send: @escaping @Sendable (_ request: HTTPRequest, _ address: String) async throws -> HTTPResponse
    ) {
        self.addresses = addresses
        self.send = send
    }
}
