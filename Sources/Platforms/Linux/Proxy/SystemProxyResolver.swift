// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    package import NacreCore
    import Synchronization

    /// The desktop's proxy settings by GProxyResolver: GNOME's settings, the portal in a sandbox, else what libproxy finds,
    /// such as `https_proxy` and `no_proxy`. An automatic configuration is read and run by ourselves.
    ///
    /// An answer is good for a second: a page that calls two hundred times at once does not ask two hundred times, and a
    /// change still counts at once for a person.
    package actor SystemProxyResolver {
        private nonisolated let thread = GLibThread(name: "nacre-proxy")
        private let log: Log
        private nonisolated let time: any TimeSource
        private nonisolated let memory = Mutex(ProxyMemory())
        private let automatic: AutomaticProxy
        private lazy var setting = AutomaticSetting()
        private var said = ProxyComplaints()

        package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        /// - Parameter automatic: reads and runs automatic configurations.
        package init(automatic: AutomaticProxy, time: any TimeSource = SystemTime(), log: Log) {
            self.automatic = automatic
            self.time = time
            self.log = log
        }

        /// The proxy for a URL, such as `http://proxy.example.org:3128`; nil is a direct connection.
        ///
        /// - Throws: `proxy.unsupported`, `proxy.lookup`, `proxy.configuration`; never a silent direct connection.
        package nonisolated func proxy(for url: String, client: ProxyClient) async throws(NacreError) -> String? {
            guard let question = try ProxyAnswer.question(url) else { return nil }
            let now = time.now
            if let known = memory.withLock({ $0.answer(to: question, now: now) }) {
                return try ProxyAnswer.choice(known, client: client)
            }
            return try await ask(question, client)
        }

        private func ask(_ question: String, _ client: ProxyClient) async throws(NacreError) -> String? {
            let address = setting.address
            do throws(NacreError) {
                let answer = try await lookUp(question, address)
                let choice = try ProxyAnswer.choice(answer, client: client)
                let now = time.now
                memory.withLock { $0.keep(answer, to: question, now: now) }
                return choice
            } catch {
                // Once a cause: a page opens many connections.
                if said.isNew(error, address) {
                    log.warning(
                        "proxy.failed", ["code": .string(error.code.rawValue), "reason": .string(error.message)])
                }
                throw error
            }
        }

        private func lookUp(_ url: String, _ address: String?) async throws(NacreError) -> [String] {
            if let address {
                return try await automatic.proxies(for: url, by: address)
            }
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
