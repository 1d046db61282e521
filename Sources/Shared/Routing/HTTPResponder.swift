// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreHTTP

/// Answers requests: a router, a middleware chain, a proxy. Throwing an error is answered by whoever calls.
public protocol HTTPResponder: Sendable {
    /// The answer to `request`. The task is cancelled when the client leaves.
    func respond(to request: HTTPRequest, context: RequestContext) async throws -> HTTPResponse
}

/// A responder made of a closure.
public struct ClosureResponder: HTTPResponder {
    private let handler: @Sendable (HTTPRequest, RequestContext) async throws -> HTTPResponse
    /// A responder that calls `handler`.
    public init(_ handler: @escaping @Sendable (HTTPRequest, RequestContext) async throws -> HTTPResponse) {
        self.handler = handler
    }
    public func respond(to request: HTTPRequest, context: RequestContext) async throws -> HTTPResponse {
        try await handler(request, context)
    }
}

/// What is known of a request beside its message. Values added by a middleware reach what it calls.
public struct RequestContext: Sendable {
    /// A key of the open storage; `Value` says what stands there.
    public protocol Key: Sendable {
        associatedtype Value: Sendable
    }

    /// An identifier of this request for logs.
    public var id: String
    /// The peer's address without port, such as `127.0.0.1`; behind a trusted proxy, the client it names.
    public var clientAddress: String
    /// Path parameters of the matched route, decoded.
    public var parameters: [String: String] = [:]
    /// The pattern of the matched route, such as `/api/v1.0/threads/:id/`, for logs.
    public var route: String?
    private var storage: [ObjectIdentifier: any Sendable] = [:]

    /// A context for one request.
    public init(id: String, clientAddress: String) {
        self.id = id
        self.clientAddress = clientAddress
    }

    /// The value under a key.
    public subscript<K: Key>(key: K.Type) -> K.Value? {
        get { storage[ObjectIdentifier(key)] as? K.Value }
        set { storage[ObjectIdentifier(key)] = newValue }
    }
}

/// Stands before a responder and may answer itself, change the request, or change the answer.
public protocol Middleware: Sendable {
    /// Answers, usually by calling `next`.
    func respond(to request: HTTPRequest, context: RequestContext, next: any HTTPResponder) async throws -> HTTPResponse
}

extension Middleware {
    /// This middleware in front of `responder`.
    public func wrapping(_ responder: any HTTPResponder) -> any HTTPResponder {
        ClosureResponder { try await self.respond(to: $0, context: $1, next: responder) }
    }
}
