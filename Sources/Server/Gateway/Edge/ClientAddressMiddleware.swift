// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreHTTP
package import NacreRouting

/// Finds the client's address behind proxies that are trusted, and believes nobody else.
package struct ClientAddressMiddleware: Middleware {
    private let trustedProxies: Set<String>

    /// Trusts these addresses, however they are spelled.
    package init(trustedProxies: Set<String>) {
        self.trustedProxies = Set(trustedProxies.map { ClientNetwork.canonical($0) ?? $0 })
    }

    package func respond(
        to request: HTTPRequest, context: RequestContext, next: any HTTPResponder
    ) async throws -> HTTPResponse {
        var context = context
        context.clientAddress = Self.address(
            peer: context.clientAddress, forwarded: request.fields.tokens("X-Forwarded-For"), trusted: trustedProxies)
        return try await next.respond(to: request, context: context)
    }

    /// The last address of the chain that no trusted proxy vouches for: what stands left of it may be invented.
    static func address(peer: String, forwarded: [String], trusted: Set<String>) -> String {
        var address = peer
        for hop in forwarded.reversed() {
            guard trusted.contains(ClientNetwork.canonical(address) ?? address) else { break }  // guard: trusted-proxy
            address = hop
        }
        return address
    }
}
