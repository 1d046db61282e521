// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import MessagesBackend
import NacreCurl
import NacreHTTP

extension RemoteAccess {
    /// The largest answer that is read at all, in bytes.
    private static let maximumAnswer = 6 * 1024 * 1024

    /// The public Internet: the system's resolver, and libcurl bound to the address that was checked.
    static func curl() -> RemoteAccess {
        let resolver = SystemResolver()
        return RemoteAccess(
            addresses: { try await resolver.addresses(of: $0) },
            send: { request, address in
                let url = try WebURL(request.url)
                var configuration = CurlConfiguration()
                configuration.connectTimeout = .seconds(5)
                configuration.headTimeout = .seconds(10)
                configuration.resolve = ["\(url.origin.host):\(url.origin.port):\(address)"]
                // One transport for one image: the name is bound to the address for this request alone.
                let transport = CurlTransport(configuration: configuration)
                var response = try await transport.send(request)
                response.body = .bytes(try await response.body.collect(upTo: maximumAnswer))
                return response
            })
    }
}
