// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP

/// What the page channel serves and whom it lets through.
package struct PageChannelConfiguration: Sendable {
    /// The page's origin (`app.origin`); the browser engine never looks it up. Always https.
    package var page: Origin
    /// The API origin as it is called upstream, or nil while the app has none. Cleartext only in development (NB-8).
    package var api: Origin?
    /// Path prefixes of the API whose images, sounds and films any frame may show (`api.media`, NB-12).
    package var media: [String]
    /// Whether the page may register a service worker (SH-1).
    package var serviceWorkers: Bool
    /// A development server that takes the bundle's place (SH-2).
    package var devServer: Origin?
    /// `host:port` targets on loopback or private networks that raw tunnels may reach all the same.
    package var privateTargets: Set<String>
    /// Folders whose files the page may show by `convertFileSrc`, absolute.
    package var files: [String]
    /// Whether cleartext upstreams are allowed at all: never in a release (NB-8).
    package var allowsCleartext: Bool
    /// How much of everything is allowed at once.
    package var limits: PageChannelLimits

    /// A channel for this page.
    package init(
        page: Origin, api: Origin?, media: [String] = [], serviceWorkers: Bool = false, devServer: Origin? = nil,
        privateTargets: Set<String> = [], files: [String] = [], allowsCleartext: Bool = false,
        limits: PageChannelLimits = PageChannelLimits()
    ) {
        self.page = page
        self.api = api
        self.media = media
        self.serviceWorkers = serviceWorkers
        self.devServer = devServer
        self.privateTargets = privateTargets
        self.files = files
        self.allowsCleartext = allowsCleartext
        self.limits = limits
    }

    /// The API origin as the page sees it: always https, so that a secure page may call a cleartext development server.
    package var visibleAPI: Origin? {
        guard let api else { return nil }
        let port = api.scheme == "http" && api.port == 80 ? 443 : api.port
        return Origin(scheme: "https", host: api.host, port: port)
    }

    /// Refuses what cannot work or must not be.
    ///
    /// - Throws: `page.configuration` that names the setting.
    package func validate() throws(NacreError) {
        guard page.scheme == "https" else {
            throw NacreError("page.configuration", "app.origin must be an https origin such as https://localhost.")
        }
        if let seen = visibleAPI, seen.authority == page.authority {
            throw NacreError(
                "page.configuration",
                "app.origin and api.origin are both \(page); give the page a host of its own, such as https://localhost."
            )
        }
        let cleartext = [("api.origin", api), ("bundle.devServer", devServer)].first { $0.1?.scheme == "http" }
        if let cleartext, !allowsCleartext {  // guard: page-cleartext
            throw NacreError(
                "page.cleartext", "\(cleartext.0) is a cleartext http address, which a release refuses; use https.")
        }
    }
}

/// How much of everything is allowed at once, and for how long.
package struct PageChannelLimits: Sendable {
    /// Connections in all, whatever they carry.
    package var connections = 512
    /// Raw tunnels to other hosts.
    package var rawTunnels = 192
    /// Bytes of a CONNECT head.
    package var headBytes = 8192
    /// Time for a whole CONNECT head.
    package var headTime: Duration = .seconds(5)
    /// CONNECT heads refused on one connection before it is closed.
    package var refusals = 4
    /// Time to reach a host.
    package var connectTime: Duration = .seconds(15)
    /// Time a raw tunnel may stand with neither side sending.
    package var idleTunnel: Duration = .seconds(600)

    /// The usual limits.
    package init() {}
}
