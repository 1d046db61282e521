// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

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

/// The resolver's latest answers.
struct ProxyMemory {
    static let lifetime: Duration = .seconds(1)
    private static let most = 64
    private var answers: [String: (uris: [String], at: Instant)] = [:]

    /// What was answered a moment ago, if anything was. A clock that was turned back makes an answer old too.
    func answer(to question: String, now: Instant) -> [String]? {
        guard let known = answers[question], now >= known.at, now - known.at < Self.lifetime else { return nil }
        return known.uris
    }

    mutating func keep(_ uris: [String], to question: String, now: Instant) {
        if answers.count >= Self.most { answers = [:] }
        answers[question] = (uris, now)
    }
}

/// What was said in the log already: a cause once, whatever a script puts into its words.
struct ProxyComplaints {
    private var said: Set<[String]> = []

    mutating func isNew(_ error: NacreError, _ address: String?) -> Bool {
        said.insert([error.code.rawValue, address ?? ""]).inserted
    }
}
