// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// The address at the page's own origin under which media of the API is fetched natively with the session, as Capacitor
/// has it: `<page origin>/_capacitor_http_interceptor_?u=<url>` (NB-4). Outside the shell it means nothing, so whoever
/// hands an address on unwraps it first.
public enum MediaProxyURL {
    /// Its path; no bundle can have such a file.
    public static let path = "/_capacitor_http_interceptor_"
    /// Its older name for https, which pages may still hold; nothing is served there.
    private static let older = "/_capacitor_https_interceptor_"
    /// The name of the one query parameter.
    public static let parameter = "u"

    /// The proxy's address for `url`.
    public static func wrap(_ url: String, page: Origin) -> String {
        "\(page)\(path)?\(parameter)=\(PercentEncoding.encode(url))"
    }

    /// The address that `text` stands for: what it wraps where it is a proxy address of this page, else itself. For
    /// whatever takes an address from the page: requests, downloads, shares.
    public static func unwrap(_ text: String, page: Origin) -> String {
        var text = text
        // A page that wraps what is wrapped already means the innermost.
        for _ in 0..<4 {
            let absolute = text.hasPrefix("/") && !text.hasPrefix("//") ? "\(page)\(text)" : text
            guard let url = try? WebURL(absolute), url.origin == page, let inner = target(of: url) else { return text }
            text = inner
        }
        return text
    }

    /// What a URL of this form wraps; nil for any other, and for one without exactly one `u`.
    public static func target(of url: WebURL) -> String? {
        guard url.path == path || url.path == older else { return nil }
        return target(query: url.query)
    }

    /// What the query of a proxy address wraps, or nil.
    public static func target(query: String?) -> String? {
        guard let query, let values = FormFields(decoding: query)?.values(parameter), values.count == 1 else {
            return nil
        }
        return values[0]
    }
}
