// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreHTTP
package import NacreRouting

/// Finds the client's address behind proxies that are trusted, and believes nobody else.
package struct ClientAddressMiddleware: Middleware {
    private let trustedProxies: [AddressRange]

    /// Trusts these addresses and networks, however they are spelled.
    package init(trustedProxies: Set<String>) { self.trustedProxies = trustedProxies.compactMap { AddressRange($0) } }

    package func respond(
        to request: HTTPRequest, context: RequestContext, next: any HTTPResponder
    ) async throws -> HTTPResponse {
        var context = context
        if !trustedProxies.isEmpty {
            context.clientAddress = Self.address(
                peer: context.clientAddress, forwarded: request.fields.tokens("X-Forwarded-For"),
                trusted: trustedProxies)
        }
        return try await next.respond(to: request, context: context)
    }

    /// The last address of the chain that no trusted proxy vouches for: what stands left of it may be invented.
    static func address(peer: String, forwarded: [String], trusted: [AddressRange]) -> String {
        var address = peer
        for hop in forwarded.reversed() {
            guard trusted.contains(where: { $0.contains(address) }) else { break }  // guard: trusted-proxy
            // Whatever is no address is nobody's word.
            guard let hop = ClientNetwork.canonical(hop) else { break }  // guard: forwarded-address
            address = hop
        }
        return address
    }
}
