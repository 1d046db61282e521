// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreHTTP

/// Who may use the session and native powers: the one table, pure (design section 4, NB-10, NB-12, NB-13, SH-8).
///
/// The proof is Fetch Metadata, which scripts cannot set. Cookies, `Referer` and `Origin` alone prove nothing: a sandboxed
/// mail frame sends them all.
package struct PageAccessPolicy: Sendable {
    /// Which of the two hosts a request is for.
    package enum Host: Sendable {
        case page, api
    }

    private let page: String
    private let sameSite: Bool
    private let media: [String]
    private let serviceWorkers: Bool

    /// The policy of this page; `sameSite` says whether page and API are of one site.
    package init(page: Origin, sameSite: Bool, media: [String], serviceWorkers: Bool) {
        self.page = page.description
        self.sameSite = sameSite
        self.media = media
        self.serviceWorkers = serviceWorkers
    }

    /// What `request` to `host` may use.
    package func access(to host: Host, for request: HTTPRequest) -> PageAccess {
        guard let facts = Facts(request) else { return .refused(.ambiguous) }
        switch host {
        case .page: return pageAccess(facts)
        case .api: return apiAccess(facts)
        }
    }

    // MARK: The page's host

    private func pageAccess(_ facts: Facts) -> PageAccess {
        let mayRegister = serviceWorkers || !facts.isServiceWorkerScript  // guard: page-service-worker
        guard mayRegister else { return .refused(.serviceWorker) }
        guard let site = facts.site else {
            // A service worker script's own update check has no Sec-Fetch header.
            return facts.isRead && !facts.isUpgrade ? .files : .refused(.unmarked)
        }
        if let origin = facts.origin, origin != page { return .refused(.origin) }
        switch site {
        case "same-origin": return .full
        case "none" where facts.isRead && !facts.isUpgrade: return facts.destination == "document" ? .full : .files
        // A frame with remote content renders as in a browser: it may show the bundle's public files, never run or frame them.
        case "same-site", "cross-site":
            return facts.isRead && !facts.isUpgrade && facts.mode == "no-cors" && facts.isPassive
                ? .files : .refused(.foreign)
        default: return .refused(.foreign)
        }
    }

    // MARK: The API host

    private func apiAccess(_ facts: Facts) -> PageAccess {
        if facts.isPreflight { return facts.origin == page ? .preflight : .refused(.origin) }
        guard let site = facts.site else { return .refused(.unmarked) }  // guard: page-unmarked
        if facts.isFramed { return .refused(.document) }  // guard: page-api-document
        if let origin = facts.origin, origin != page { return .refused(.origin) }  // guard: page-foreign-origin
        if sameSite {
            if site == "same-site" || site == "same-origin" { return .full }
        } else if facts.origin == page, facts.isReadable {
            return .full
        }
        guard facts.isMedia else { return .refused(.foreign) }  // guard: page-foreign-frame
        return isMediaPath(facts.path) ? .media : .refused(.mediaPath)  // guard: page-media-path
    }

    // MARK: The media proxy at the page's host

    /// Whether `request` may have the API's `path` through the page's own host (NB-4): the page itself for what cannot
    /// run there, any frame for the pictures, sounds and films of `api.media` (NB-12).
    package func proxyAccess(for request: HTTPRequest, to path: String) -> PageAccess {
        guard let facts = Facts(request) else { return .refused(.ambiguous) }
        guard let site = facts.site else { return .refused(.unmarked) }
        guard facts.isRead, !facts.isUpgrade else { return .refused(.foreign) }
        if let origin = facts.origin, origin != page { return .refused(.origin) }
        if site == "same-origin" {
            // An answer of the API that ran at the page's origin would be the page.
            return facts.isInert ? .full : .refused(.document)  // guard: proxy-inert-destination
        }
        guard facts.isMedia else { return .refused(.foreign) }  // guard: proxy-foreign-frame
        return isMediaPath(path) ? .media : .refused(.mediaPath)  // guard: proxy-media-path
    }

    /// Compared decoded and without dot segments, so that no spelling of another path passes for a media path.
    private func isMediaPath(_ raw: String) -> Bool {
        guard let path = BundlePath.normalize(raw) else { return false }
        return media.contains { prefix in path.hasPrefix(prefix) && prefix.hasPrefix("/") && prefix != "/" }
    }
}

/// What of a request the table looks at.
private struct Facts {
    let method: HTTPMethod
    let path: String
    let site: String?
    let mode: String?
    let destination: String?
    let origin: String?
    let isUpgrade: Bool
    let isPreflight: Bool
    let isServiceWorkerScript: Bool

    /// Nil when a deciding header came twice: then nobody knows which one counts.
    init?(_ request: HTTPRequest) {
        let fields = request.fields
        let deciding = ["Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "Origin"]
        if deciding.contains(where: { fields.values($0).count > 1 }) { return nil }  // guard: page-ambiguous
        method = request.method
        path = request.path
        site = fields["Sec-Fetch-Site"]
        mode = fields["Sec-Fetch-Mode"]
        destination = fields["Sec-Fetch-Dest"]
        origin = fields["Origin"]
        isUpgrade = fields["Upgrade"] != nil
        isPreflight = request.method == .options && fields["Access-Control-Request-Method"] != nil
        isServiceWorkerScript = fields["Service-Worker"] != nil || destination == "serviceworker"
    }

    var isRead: Bool { method == .get || method == .head }
    /// Modes in which `Origin` is the frame's own: in others (a beacon) a sandboxed frame carries the page's.
    var isReadable: Bool { mode == "cors" || mode == "websocket" }  // guard: page-cross-site-mode
    var isFramed: Bool { ["document", "iframe", "frame", "object", "embed"].contains(destination) }
    var isPassive: Bool { ["image", "style", "font", "audio", "video", "track"].contains(destination) }
    /// What is shown or read, never run: media, and what a script fetches.
    var isInert: Bool { ["image", "audio", "video", "track", "font", "empty"].contains(destination) }
    var isMedia: Bool {
        method == .get && !isUpgrade && mode == "no-cors" && ["image", "audio", "video"].contains(destination)
    }
}
