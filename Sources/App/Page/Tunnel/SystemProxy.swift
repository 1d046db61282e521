// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreHTTP

/// How to reach a host: the platform's answer (on Linux, GProxyResolver).
package enum ProxyRoute: Hashable, Sendable {
    case direct
    /// An HTTP proxy that takes CONNECT.
    case proxy(host: String, port: Int)

    /// The route that a resolver's answer such as `direct://` or `http://proxy:3128` names.
    ///
    /// - Throws: `page.proxy` for kinds the channel does not speak, such as `socks5://`; never a silent direct connection.
    package init(uri: String) throws(NacreError) {
        if uri.lowercased().hasPrefix("direct:") {
            self = .direct
            return
        }
        guard let url = try? WebURL(uri), url.origin.scheme == "http" else {
            throw NacreError(
                "page.proxy",
                "The system's proxy \(Redaction.url(uri)) is of a kind that is not supported; use an http proxy.")
        }
        self = .proxy(host: url.origin.host, port: url.origin.port)
    }
}

/// Asks the platform for the route to a URL.
package typealias ProxyResolver = @Sendable (_ url: String) async throws -> ProxyRoute
