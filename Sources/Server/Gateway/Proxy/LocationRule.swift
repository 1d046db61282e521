// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP

/// Where an upstream's redirects lead, as its client must see it.
struct LocationRule: Sendable {
    let upstream: Origin
    let publicOrigin: Origin

    /// An address at the upstream's own origin, or at ours with the wrong scheme, becomes one at our origin. Relative
    /// addresses and those of others stay.
    func rewritten(_ location: String) -> String {
        guard let url = try? WebURL(location) else { return location }
        let isUpstream = url.origin.host == upstream.host && url.origin.port == upstream.port
        // Behind us it speaks plain HTTP and may believe that everybody does.
        let isOursInPlain =
            url.origin.host == publicOrigin.host && url.origin.scheme == "http" && publicOrigin.scheme == "https"
            && (url.origin.port == 80 || url.origin.port == publicOrigin.port)
        guard isUpstream || isOursInPlain else { return location }
        let fragment = location.firstIndex(of: "#").map { String(location[$0...]) } ?? ""
        return publicOrigin.description + url.target + fragment
    }
}
