// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreHTTP
import Synchronization

/// Calls a responder directly, as if through a socket: the unit suites' way to a server.
public struct InProcessClient: HTTPTransport {
    private let responder: any HTTPResponder
    private let clientAddress: String

    /// A client of `responder` that appears to come from `clientAddress`.
    public init(_ responder: any HTTPResponder, clientAddress: String = "127.0.0.1") {
        self.responder = responder
        self.clientAddress = clientAddress
    }

    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await responder.respond(to: request, context: RequestContext(id: "test", clientAddress: clientAddress))
    }
}
