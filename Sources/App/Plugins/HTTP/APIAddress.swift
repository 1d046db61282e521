// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreBridge
package import NacreHTTP

/// How a page's addresses map to those of the network: the API may be cleartext in development, which a page never sees.
package struct APIAddress: Sendable {
    /// The API as it is called.
    package let api: Origin
    /// The API as the page addresses it.
    package let visible: Origin
    /// The page's own origin.
    package let page: Origin
    /// Whether other hosts may be called without TLS: in development only (NB-8).
    package let allowsCleartext: Bool

    package init(api: Origin, visible: Origin, page: Origin, allowsCleartext: Bool) {
        self.api = api
        self.visible = visible
        self.page = page
        self.allowsCleartext = allowsCleartext
    }

    /// The address that a page's `text` means.
    ///
    /// - Throws: a `BridgeRejection` that says what is wrong with it.
    func url(_ text: String) throws -> WebURL {
        let unwrapped = MediaProxyURL.unwrap(text, page: page)
        guard let url = try? WebURL(Self.escaped(unwrapped)) else {
            throw BridgeRejection.invalid("The url must be an absolute http or https address.")
        }
        if url.origin == visible { return WebURL(origin: api, target: url.target) }
        guard url.origin != page else {
            throw BridgeRejection.invalid("The app's own files are not on the network; read them with fetch.")
        }
        try check(url)
        return url
    }

    /// NB-8: nothing but the API of a development run is called without TLS, by no redirect either.
    func check(_ url: WebURL) throws {
        guard url.origin.scheme == "https" || url.origin == api || allowsCleartext else {  // guard: http-cleartext
            throw BridgeRejection(
                code: "http.cleartext", message: "\(url.origin) is without TLS, which a release refuses.")
        }
    }

    /// As the page may see it.
    func shown(_ url: WebURL) -> String {
        url.origin == api ? WebURL(origin: visible, target: url.target).description : url.description
    }

    /// With what a browser would escape by itself.
    private static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain = byte > 0x20 && byte < 0x7F && !"\"<>^`{|}".utf8.contains(byte)
            return isPlain ? String(Unicode.Scalar(byte)) : PercentEncoding.escape(byte)
        }.joined()
    }
}
