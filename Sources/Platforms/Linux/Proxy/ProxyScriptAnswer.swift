// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// From what `FindProxyForURL` answers to GProxyResolver's form.
enum ProxyScriptAnswer {
    /// The kinds that the format and its browsers know: the scheme and the port that is meant where none is written.
    private static let kinds: [String: (scheme: String, port: Int)] = [
        "proxy": ("http", 80), "http": ("http", 80), "https": ("https", 443), "socks": ("socks", 1080),
        "socks4": ("socks4", 1080), "socks5": ("socks5", 1080),
    ]

    /// `PROXY a:3128; SOCKS b:1080; DIRECT` as `http://a:3128`, `socks://b:1080`, `direct://`; nothing is a direct
    /// connection, as the format has it.
    ///
    /// A kind that nobody knows keeps its place as `unknown://`, which no client speaks: without it a `DIRECT` behind it
    /// would come first, and count.
    ///
    /// - Throws: `proxy.script` for what names no host, or no kind that is known.
    static func uris(_ answer: String) throws(NacreError) -> [String] {
        var uris: [String] = []
        for part in answer.split(separator: ";") {
            let words = part.split(whereSeparator: \.isWhitespace)
            guard let word = words.first?.lowercased() else { continue }
            if word == "direct" {
                uris.append("direct://")
                continue
            }
            guard let kind = kinds[word] else {
                uris.append("unknown://")
                continue
            }
            guard words.count == 2, let place = place(words[1], kind.port) else {  // guard: proxy-script-answer
                throw NacreError("proxy.script", "its answer \"\(answer.prefix(100))\" names no host and port")
            }
            uris.append("\(kind.scheme)://\(place)")
        }
        guard let first = uris.first else { return ["direct://"] }
        let known = uris.contains { $0 != "unknown://" && $0 != "direct://" }
        guard known || first == "direct://" else {  // guard: proxy-script-kind
            throw NacreError(
                "proxy.script", "its answer \"\(answer.prefix(100))\" names no kind of proxy that is known")
        }
        return uris
    }

    /// `host` or `host:port` and nothing else: no user, no path.
    private static func place(_ text: Substring, _ port: Int) -> String? {
        guard !text.contains(where: { "@/?#\\".contains($0) }), let origin = try? WebURL("http://\(text)/").origin
        else { return nil }
        let hasPort = text[(text.lastIndex(of: "]") ?? text.startIndex)...].contains(":")
        return "\(origin.host):\(hasPort ? origin.port : port)"
    }
}
