// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreHTTP

#if GTKShell && os(Linux)
    import CGLib

    /// The desktop's proxy settings by GProxyResolver: GNOME's settings, the portal in a sandbox, else what libproxy finds,
    /// such as `https_proxy` and `no_proxy`. Asked for each connection, so that a change counts at once.
    package actor SystemProxyResolver {
        private nonisolated let thread = GLibThread(name: "nacre-proxy")
        private let log: Log
        private var said: Set<String> = []

        package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        package init(log: Log) {
            self.log = log
        }

        /// The proxy for a URL, such as `http://proxy.example.org:3128`; nil is a direct connection.
        ///
        /// - Throws: `proxy.unsupported`, `proxy.lookup`; never a silent direct connection.
        package func proxy(for url: String, client: ProxyClient) async throws(NacreError) -> String? {
            guard let question = try ProxyAnswer.question(url) else { return nil }
            do throws(NacreError) {
                return try ProxyAnswer.choice(try await lookUp(question), client: client)
            } catch {
                // Once a cause: a page opens many connections.
                if said.insert(error.message).inserted {
                    log.warning(
                        "proxy.failed", ["code": .string(error.code.rawValue), "reason": .string(error.message)])
                }
                throw error
            }
        }

        private func lookUp(_ url: String) async throws(NacreError) -> [String] {
            let resolver = g_proxy_resolver_get_default()
            let answer = await awaitGIO { callback, data in
                g_proxy_resolver_lookup_async(resolver, url, nil, callback, data)
            } finish: { result -> Result<[String], GLibFailure> in
                var failure: UnsafeMutablePointer<GError>?
                guard let list = g_proxy_resolver_lookup_finish(resolver, result, &failure) else {
                    return .failure(GLibFailure(taking: failure))
                }
                defer { g_strfreev(list) }
                var found: [String] = []
                var next = list
                while let text = next.pointee {
                    found.append(String(cString: text))
                    next += 1
                }
                return .success(found)
            }
            switch answer {
            case .success(let found): return found
            case .failure(let failure):
                throw NacreError(
                    "proxy.lookup",
                    "The system's proxy settings cannot be read; check them in the desktop's network settings.",
                    cause: failure)
            }
        }
    }
#endif

/// What whoever connects can speak to a proxy.
package enum ProxyClient: Sendable {
    /// CONNECT over HTTP, as the page's raw tunnels do.
    case tunnel
    /// libcurl.
    case curl

    /// The proxy as this client is told of it; nil when it does not speak that kind.
    fileprivate func address(_ scheme: String, _ rest: Substring) -> String? {
        switch (self, scheme) {
        case (_, "http"): "http:" + rest
        case (.curl, "https"): "https:" + rest
        // The forms in which the proxy resolves the name, as it does for CONNECT.
        case (.curl, "socks"), (.curl, "socks5"), (.curl, "socks5h"): "socks5h:" + rest
        case (.curl, "socks4"), (.curl, "socks4a"): "socks4a:" + rest
        default: nil
        }
    }
}

/// From a URL to the resolver's question, and from its answer to one proxy.
enum ProxyAnswer {
    /// What the resolver is asked: the origin alone, since an automatic configuration is a script of somebody's. Nil for
    /// this machine, which no proxy can reach for us.
    static func question(_ url: String) throws(NacreError) -> String? {
        let origin = try WebURL(url).origin
        guard !origin.isLoopback else { return nil }  // guard: proxy-never-loopback
        return origin.description + "/"
    }

    /// The first proxy of the list that the client speaks; nil for a direct connection.
    ///
    /// `direct://` counts where it comes first: behind a proxy it is for when that one has failed, which was not tried.
    static func choice(_ uris: [String], client: ProxyClient) throws(NacreError) -> String? {
        for (index, uri) in uris.enumerated() {
            let scheme = uri.prefix { $0 != ":" }.lowercased()
            if scheme == "direct" {
                guard index > 0 else { return nil }  // guard: proxy-no-silent-direct
                continue
            }
            if let address = client.address(scheme, uri.dropFirst(scheme.count + 1)) { return address }
        }
        guard let first = uris.first else { return nil }
        throw NacreError(
            "proxy.unsupported",
            "The system's proxy is of the kind \"\(first.prefix { $0 != ":" })\", which is not supported here; set an http proxy."
        )
    }
}
