// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP

/// What crosses between the page and the API, and what does not.
struct APIFields: Sendable {
    private let page: String
    private let api: Origin
    private let visible: Origin

    init(page: Origin, api: Origin, visible: Origin) {
        self.page = page.description
        self.api = api
        self.visible = visible
    }

    // MARK: Towards the API

    /// The page's request as it goes upstream: without the browser's own idea of who asks (NB-1).
    func upstream(_ request: HTTPRequest) -> HTTPRequest {
        var out = request
        out.scheme = api.scheme
        out.authority = api.authority
        out.fields.removeHopByHop()
        out.fields.removeAll { name in
            ["cookie", "origin", "referer", "host", "service-worker"].contains(name)  // guard: api-page-cookie
                || name.hasPrefix("sec-fetch-") || name.hasPrefix("access-control-") || name.hasPrefix("proxy-")
        }
        return out
    }

    // MARK: Towards the page

    /// The API's answer as the page gets it: never a cookie, never stored by the web view, CORS of our own.
    func toPage(_ response: HTTPResponse, readable: Bool) -> HTTPResponse {
        var out = response
        out.fields.removeHopByHop()
        out.fields.removeAll { name in
            [
                "set-cookie",  // guard: api-set-cookie
                "set-cookie2", "strict-transport-security", "public-key-pins", "alt-svc", "clear-site-data",
                "report-to",
                "nel", "cross-origin-resource-policy", "timing-allow-origin", "cache-control", "expires", "pragma",
                "age",
            ].contains(name) || name.hasPrefix("access-control-")  // guard: api-foreign-cors
        }
        if let location = out.fields["Location"], location.hasPrefix(api.description + "/") {
            out.fields["Location"] = visible.description + location.dropFirst(api.description.count)
        }
        out.fields["Cache-Control"] = "no-store"
        // The page may show it wherever it likes; what it may read is CORS's matter.
        out.fields["Cross-Origin-Resource-Policy"] = "cross-origin"
        if readable { allowPage(&out.fields) }
        return out
    }

    /// Lets the page, and only the page, read an answer with all its fields.
    private func allowPage(_ fields: inout HTTPFields) {
        let names = fields.fields.map { $0.name.lowercased() }
        fields["Access-Control-Allow-Origin"] = page
        fields["Access-Control-Allow-Credentials"] = "true"
        fields["Access-Control-Expose-Headers"] = names.joined(separator: ", ")
        fields["Timing-Allow-Origin"] = page
        let vary = fields.values("Vary")
        fields["Vary"] = (vary + ["Origin"]).joined(separator: ", ")
    }

    /// The answer to the page's preflight, which never goes further.
    func preflight(_ request: HTTPRequest) -> HTTPResponse {
        var fields: HTTPFields = [
            "Access-Control-Allow-Origin": page, "Access-Control-Allow-Credentials": "true",
            "Access-Control-Max-Age": "600", "Cache-Control": "no-store", "Vary": "Origin",
        ]
        if let method = request.fields["Access-Control-Request-Method"] {
            fields["Access-Control-Allow-Methods"] = method
        }
        if let names = request.fields["Access-Control-Request-Headers"] {
            fields["Access-Control-Allow-Headers"] = names
        }
        // Not 204: WebKitGTK closes the connection behind an answer without a length.
        return HTTPResponse(status: .ok, fields: fields)
    }
}
