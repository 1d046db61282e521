// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreHTTP

/// Finds the handler of a method and path. Patterns are segments; `:name` matches one, a final `**` the rest.
///
/// Literal segments win over parameters, parameters over the rest. Trailing slashes matter. A path known under another
/// method answers 405 with `Allow`; HEAD falls back to GET; an unknown path goes to the fallback, or 404.
public struct Router: HTTPResponder {
    /// Answers one route.
    public typealias Handler = @Sendable (HTTPRequest, RequestContext) async throws -> HTTPResponse

    private final class Node: Sendable {
        let children: [String: Node]
        let parameter: (name: String, node: Node)?
        let rest: [HTTPMethod: Route]
        let handlers: [HTTPMethod: Route]
        init(
            children: [String: Node], parameter: (name: String, node: Node)?, rest: [HTTPMethod: Route],
            handlers: [HTTPMethod: Route]
        ) {
            self.children = children
            self.parameter = parameter
            self.rest = rest
            self.handlers = handlers
        }
    }

    fileprivate struct Route: Sendable {
        let pattern: String
        let handler: Handler
    }

    /// Collects routes.
    public struct Builder {
        fileprivate var routes: [(method: HTTPMethod, segments: [String], route: Route)] = []
        /// Answers paths that no route matches.
        public var fallback: Handler?

        /// Adds a route; a later one of the same method and pattern is a programming error.
        public mutating func on(_ method: HTTPMethod, _ pattern: String, _ handler: @escaping Handler) {
            let segments = Router.segments(pattern)
            precondition(
                !routes.contains { $0.method == method && $0.segments == segments }, "the route \(pattern) stands twice"
            )
            routes.append((method, segments, Route(pattern: pattern, handler: handler)))
        }
        public mutating func get(_ pattern: String, _ handler: @escaping Handler) { on(.get, pattern, handler) }
        public mutating func post(_ pattern: String, _ handler: @escaping Handler) { on(.post, pattern, handler) }
        public mutating func delete(_ pattern: String, _ handler: @escaping Handler) { on(.delete, pattern, handler) }
    }

    private let root: Node
    private let fallback: Handler?
    /// Every route, in the order in which they were added.
    public let routes: [(method: HTTPMethod, pattern: String)]

    /// A router of the routes that `build` adds.
    public init(_ build: (inout Builder) -> Void) {
        var builder = Builder()
        build(&builder)
        root = Router.node(builder.routes[...].map { ($0.method, $0.segments[...], $0.route) })
        fallback = builder.fallback
        routes = builder.routes.map { ($0.method, $0.route.pattern) }
    }

    private static func segments(_ path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
            .map { String(Substring($0)) }
    }

    private static func node(_ routes: [(HTTPMethod, ArraySlice<String>, Route)]) -> Node {
        var handlers: [HTTPMethod: Route] = [:]
        var rest: [HTTPMethod: Route] = [:]
        var literal: [String: [(HTTPMethod, ArraySlice<String>, Route)]] = [:]
        var named: [(HTTPMethod, ArraySlice<String>, Route)] = []
        var name: String?
        for (method, segments, route) in routes {
            guard let first = segments.first else {
                handlers[method] = route
                continue
            }
            if first == "**" {
                rest[method] = route
            } else if first.hasPrefix(":") {
                precondition(name == nil || name == String(first.dropFirst()), "two names for one path parameter")
                name = String(first.dropFirst())
                named.append((method, segments.dropFirst(), route))
            } else {
                literal[first, default: []].append((method, segments.dropFirst(), route))
            }
        }
        return Node(
            children: literal.mapValues(node), parameter: name.map { ($0, node(named)) }, rest: rest, handlers: handlers
        )
    }

    private func match(_ node: Node, _ segments: ArraySlice<String>, _ parameters: inout [String: String])
        -> [HTTPMethod: Route]?
    {
        guard let first = segments.first else {
            return node.handlers.isEmpty ? (node.rest.isEmpty ? nil : node.rest) : node.handlers
        }
        if let child = node.children[first], let found = match(child, segments.dropFirst(), &parameters) {
            return found
        }
        if let (name, child) = node.parameter, !first.isEmpty, let value = PercentEncoding.decode(first) {
            var inner = parameters
            if let found = match(child, segments.dropFirst(), &inner) {
                parameters = inner
                parameters[name] = value
                return found
            }
        }
        return node.rest.isEmpty ? nil : node.rest
    }

    public func respond(to request: HTTPRequest, context: RequestContext) async throws -> HTTPResponse {
        var context = context
        var parameters: [String: String] = [:]
        guard let routes = match(root, Router.segments(request.path)[...], &parameters) else {
            if let fallback { return try await fallback(request, context) }
            return .failure(.notFound, code: "not_found", message: "There is nothing at this address.")
        }
        context[RouteNote.self]?.pattern = routes.values.first?.pattern
        guard let route = routes[request.method] ?? (request.method == .head ? routes[.get] : nil) else {
            var response = HTTPResponse.failure(
                .methodNotAllowed, code: "method_not_allowed",
                message: "This address does not take \(request.method.rawValue).")
            response.fields["Allow"] = routes.keys.map(\.rawValue).sorted().joined(separator: ", ")
            return response
        }
        context.parameters = parameters
        context.route = route.pattern
        return try await route.handler(request, context)
    }
}
