// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreRouting

/// What is known of an adopted connection beside its bytes; handlers find it as `context[ConnectionAttributes.self]`.
package struct ConnectionAttributes: Sendable, RequestContext.Key {
    package typealias Value = ConnectionAttributes

    /// The host the client asked its tunnel for, lower case. Requests for another host are refused with 421.
    package var host: String
    /// The port the client asked its tunnel for.
    package var port: Int

    /// The attributes of a tunnel to `host`:`port`.
    package init(host: String, port: Int) {
        self.host = host.lowercased()
        self.port = port
    }

    /// Whether a Host field names this very tunnel's end.
    func matches(authority: String, isTLS: Bool) -> Bool {
        let lowered = authority.lowercased()
        return lowered == "\(host):\(port)" || (lowered == host && port == (isTLS ? 443 : 80))
    }
}
