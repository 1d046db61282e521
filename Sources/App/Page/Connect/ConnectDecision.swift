// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP
import NacreListener

/// What to do with a request head on a new connection: the channel is a proxy that takes CONNECT and nothing else.
enum ConnectDecision: Equatable {
    /// Open a way to this target.
    case connect(ConnectTarget)
    /// The secret is missing or wrong: ask for it and wait for another head on the same connection.
    case askForSecret
    /// Answer with this status and close.
    case refuse(Int, Reason)

    /// Why a head was refused, for the log.
    enum Reason: String, Equatable {
        case notConnect = "not-a-connect"
        case malformedTarget = "malformed-target"
        case body = "body-on-connect"
    }

    /// Judges a head that has been read.
    static func decide(_ head: RequestHead, secret: ConnectSecret) -> ConnectDecision {
        guard head.method == .connect else { return .refuse(403, .notConnect) }  // guard: connect-only
        guard head.framing == .none else { return .refuse(400, .body) }  // guard: connect-body
        let credentials = head.fields.values("Proxy-Authorization")
        let knows = credentials.count == 1 && secret.matches(credentials[0])  // guard: connect-secret
        guard knows else { return .askForSecret }
        guard let target = ConnectTarget(head.target) else { return .refuse(400, .malformedTarget) }
        return .connect(target)
    }
}

/// `host:port` of a CONNECT.
package struct ConnectTarget: Hashable, Sendable, CustomStringConvertible {
    /// The host in lower case; IPv6 literals in brackets.
    package let host: String
    /// The port.
    package let port: Int

    /// Nil unless it is exactly a host and a port.
    init?(_ text: String) {
        // The https URL of the same authority obeys the same grammar, and WebURL checks it.
        guard let colon = text.lastIndex(of: ":"), !text.contains("/"), !text.contains("?"), !text.contains("#"),
            let port = Int(text[text.index(after: colon)...]), let url = try? WebURL("https://" + text),
            url.origin.port == port
        else { return nil }
        self.host = url.origin.host
        self.port = port
    }

    init(_ origin: Origin) {
        host = origin.host
        port = origin.port
    }

    package var description: String { "\(host):\(port)" }
}
