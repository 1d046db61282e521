// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    package import NacreCore

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
