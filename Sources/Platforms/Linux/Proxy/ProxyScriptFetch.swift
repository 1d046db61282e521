// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    package import NacreCore
    package import NacreHTTP

    /// Fetches automatic proxy configurations.
    package enum ProxyScriptFetch {
        /// The largest configuration that is read, in bytes.
        static let most = 1 << 20
        private static let redirects = 5

        /// A fetch by a transport that asks no proxy.
        ///
        /// - Throws (the fetch): `proxy.fetch`, `http.body_too_large`, `transport.*`.
        package static func by(
            _ transport: any HTTPTransport, within limit: Duration = .seconds(10), time: any TimeSource
        ) -> AutomaticProxy.Fetch {
            { address in
                try await withTimeLimit(
                    limit, time: time,
                    timeout: { NacreError("transport.timeout", "its server does not answer in time") },
                    operation: { try await fetch(address, transport) })
            }
        }

        private static func fetch(_ address: String, _ transport: any HTTPTransport) async throws -> [UInt8] {
            if address.lowercased().hasPrefix("file://") { return try await file(address) }
            var url = try WebURL(address)
            for _ in 0...redirects {
                let response = try await transport.send(HTTPRequest(.get, url))
                if (300..<400).contains(response.status.rawValue), let next = response.fields["Location"] {
                    guard let target = url.resolving(next) else {
                        throw NacreError("proxy.fetch", "its server redirects to no address")
                    }
                    url = target
                    continue
                }
                guard response.status.rawValue == 200 else {
                    throw NacreError("proxy.fetch", "its server answers \(response.status.rawValue)")
                }
                return try await response.body.collect(upTo: most)
            }
            throw NacreError("proxy.fetch", "its server redirects too often")
        }

        private static func file(_ address: String) async throws -> [UInt8] {
            guard let name = g_filename_from_uri(address, nil, nil) else {
                throw NacreError("proxy.fetch", "its address names no file of this machine")
            }
            defer { g_free(name) }
            let path = String(cString: name)
            return try await WorkThreads(limit: 1).run {
                guard let content = try PrivateFile.read(path, upTo: most) else {
                    throw NacreError("proxy.fetch", "there is no such file")
                }
                return content
            }
        }
    }
#endif
