// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP
import Testing

@testable import NacrePage

/// One row per line of the table in design section 4, for both kinds of origin.
struct PageAccessPolicyTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let what: String
        let request: HTTPRequest
        let expected: PageAccess
        init(_ what: String, _ request: HTTPRequest, _ expected: PageAccess) {
            self.what = what
            self.request = request
            self.expected = expected
        }
        var testDescription: String { what }
    }

    static let page = "https://localhost"
    static let sited = "https://app.mail.example.org"

    static func policy(sameSite: Bool, serviceWorkers: Bool = false) throws -> PageAccessPolicy {
        PageAccessPolicy(
            page: try Origin(sameSite ? sited : page), sameSite: sameSite, media: ["/api/v1.0/blob/"],
            serviceWorkers: serviceWorkers)
    }

    // MARK: The page's host

    static let pageRows: [Row] = [
        Row("first load", marked(site: "none", mode: "navigate", destination: "document"), .full),
        Row("own script", marked(site: "same-origin", mode: "cors", destination: "script"), .full),
        Row("own fetch", marked(site: "same-origin", mode: "cors", destination: "empty"), .full),
        Row("own POST", marked(.post, site: "same-origin", mode: "cors", destination: "empty", origin: page), .full),
        Row("own frame", marked(site: "same-origin", mode: "navigate", destination: "iframe"), .full),
        Row("typed image", marked(site: "none", mode: "no-cors", destination: "image"), .files),
        Row("service worker update check", marked(), .files),
        Row("unmarked POST", marked(.post), .refused(.unmarked)),
        Row("unmarked upgrade", marked(more: [("Upgrade", "websocket")]), .refused(.unmarked)),
        Row("service worker script", marked(more: [("Service-Worker", "script")]), .refused(.serviceWorker)),
        Row(
            "service worker registration",
            marked(site: "same-origin", mode: "same-origin", destination: "serviceworker"), .refused(.serviceWorker)),
        Row("sandboxed image", marked(site: "cross-site", mode: "no-cors", destination: "image"), .files),
        Row("sandboxed style", marked(site: "cross-site", mode: "no-cors", destination: "style"), .files),
        Row("sandboxed script", marked(site: "cross-site", mode: "no-cors", destination: "script"), .refused(.foreign)),
        Row(
            "sandboxed fetch", marked(site: "cross-site", mode: "cors", destination: "empty", origin: "null"),
            .refused(.origin)),
        Row(
            "sandboxed no-cors fetch", marked(site: "cross-site", mode: "no-cors", destination: "empty"),
            .refused(.foreign)),
        Row(
            "sandboxed form", marked(.post, site: "cross-site", mode: "navigate", destination: "iframe"),
            .refused(.foreign)),
        Row("self-navigation", marked(site: "cross-site", mode: "navigate", destination: "iframe"), .refused(.foreign)),
        Row(
            "sandboxed beacon with the page's Origin",
            marked(.post, site: "cross-site", mode: "no-cors", destination: "empty", origin: page), .refused(.foreign)),
        Row(
            "sandboxed EventSource", marked(site: "cross-site", mode: "cors", destination: "empty", origin: "null"),
            .refused(.origin)),
        Row(
            "sandboxed WebSocket",
            marked(site: "cross-site", mode: "websocket", origin: "null", more: [("Upgrade", "websocket")]),
            .refused(.origin)),
        Row(
            "own WebSocket",
            marked(site: "same-origin", mode: "websocket", origin: page, more: [("Upgrade", "websocket")]), .full),
        Row(
            "cookies and Referer prove nothing",
            marked(
                .post, site: "cross-site", mode: "no-cors", destination: "empty",
                more: [("Cookie", "strict=1"), ("Referer", "https://localhost/")]), .refused(.foreign)),
        Row("unknown site value", marked(site: "self", mode: "cors", destination: "empty"), .refused(.foreign)),
        Row(
            "two Sec-Fetch-Site", marked(site: "same-origin", more: [("Sec-Fetch-Site", "cross-site")]),
            .refused(.ambiguous)),
        Row(
            "two Origins", marked(site: "same-origin", origin: page, more: [("Origin", "null")]), .refused(.ambiguous)),
    ]

    @Test("NB-10, SH-8: who may use the page's host", arguments: pageRows)
    func pageHost(_ row: Row) throws {
        #expect(try Self.policy(sameSite: false).access(to: .page, for: row.request) == row.expected)
    }

    @Test("SH-1: a service worker is served once the configuration opts in")
    func serviceWorkerOn() throws {
        let policy = try Self.policy(sameSite: false, serviceWorkers: true)
        let registration = marked(site: "same-origin", mode: "same-origin", destination: "serviceworker")
        #expect(policy.access(to: .page, for: registration) == .full)
        #expect(policy.access(to: .page, for: marked(more: [("Service-Worker", "script")])) == .files)
    }

    // MARK: The API, page on https://localhost

    static let blob = "/api/v1.0/blob/7"
    static let users = "/api/v1.0/users/me/"

    static let localRows: [Row] =
        [
            Row(
                "page fetch", marked(.get, users, site: "cross-site", mode: "cors", destination: "empty", origin: page),
                .full),
            Row(
                "page EventSource",
                marked(.get, users, site: "cross-site", mode: "cors", destination: "empty", origin: page),
                .full),
            Row(
                "page WebSocket",
                marked(
                    .get, "/ws", site: "cross-site", mode: "websocket", origin: page, more: [("Upgrade", "websocket")]),
                .full),
            Row(
                "page preflight",
                marked(.options, users, origin: page, more: [("Access-Control-Request-Method", "PUT")]), .preflight),
            Row(
                "sandboxed preflight",
                marked(.options, users, origin: "null", more: [("Access-Control-Request-Method", "PUT")]),
                .refused(.origin)),
            Row(
                "preflight without Origin", marked(.options, users, more: [("Access-Control-Request-Method", "PUT")]),
                .refused(.origin)),
            Row("no marks", marked(.get, users), .refused(.unmarked)),
            Row("no marks but the page's Origin", marked(.get, users, origin: page), .refused(.unmarked)),
            Row(
                "sandboxed fetch",
                marked(.get, users, site: "cross-site", mode: "cors", destination: "empty", origin: "null"),
                .refused(.origin)),
            Row(
                "sandboxed img on an API path",
                marked(.get, users, site: "cross-site", mode: "no-cors", destination: "image"), .refused(.mediaPath)),
            Row(
                "img on a media path", marked(.get, blob, site: "cross-site", mode: "no-cors", destination: "image"),
                .media),
            Row(
                "video on a media path", marked(.get, blob, site: "cross-site", mode: "no-cors", destination: "video"),
                .media),
            Row(
                "audio on a media path", marked(.get, blob, site: "cross-site", mode: "no-cors", destination: "audio"),
                .media),
            Row(
                "script on a media path",
                marked(.get, blob, site: "cross-site", mode: "no-cors", destination: "script"), .refused(.foreign)),
            Row(
                "POST on a media path", marked(.post, blob, site: "cross-site", mode: "no-cors", destination: "image"),
                .refused(.foreign)),
            Row(
                "media path that leads elsewhere",
                marked(.get, "/api/v1.0/blob/../users/me/", site: "cross-site", mode: "no-cors", destination: "image"),
                .refused(.mediaPath)),
            Row(
                "media path that leads elsewhere, encoded",
                marked(
                    .get, "/api/v1.0/blob/%2e%2e/users/me/", site: "cross-site", mode: "no-cors", destination: "image"),
                .refused(.mediaPath)),
            Row(
                "media prefix of another name",
                marked(.get, "/api/v1.0/blobs", site: "cross-site", mode: "no-cors", destination: "image"),
                .refused(.mediaPath)),
            Row(
                "beacon with the page's Origin",
                marked(.post, users, site: "cross-site", mode: "no-cors", destination: "empty", origin: page),
                .refused(.foreign)),
            Row(
                "no-cors fetch", marked(.get, users, site: "cross-site", mode: "no-cors", destination: "empty"),
                .refused(.foreign)),
            Row(
                "form of a sandboxed frame",
                marked(.post, users, site: "cross-site", mode: "navigate", destination: "iframe", origin: "null"),
                .refused(.document)),
            Row(
                "sandboxed WebSocket",
                marked(
                    .get, "/ws", site: "cross-site", mode: "websocket", origin: "null", more: [("Upgrade", "websocket")]
                ),
                .refused(.origin)),
            Row(
                "WebSocket without Origin",
                marked(.get, "/ws", site: "cross-site", mode: "websocket", more: [("Upgrade", "websocket")]),
                .refused(.foreign)),
            Row(
                "frame of the API's own site",
                marked(
                    .get, users, site: "same-site", mode: "cors", destination: "empty",
                    origin: "https://docs.example.org"),
                .refused(.origin)),
            Row(
                "img of the API's own site",
                marked(.get, users, site: "same-site", mode: "no-cors", destination: "image"), .refused(.mediaPath)),
            Row(
                "navigation", marked(.get, users, site: "none", mode: "navigate", destination: "document"),
                .refused(.document)),
        ]
        + ["document", "iframe", "frame", "object", "embed"].map { (destination: String) in
            Row(
                "API as \(destination)",
                marked(.get, users, site: "cross-site", mode: "cors", destination: destination, origin: page),
                .refused(.document))
        }

    @Test("NB-12, NB-13: who may use the API with the page on https://localhost", arguments: localRows)
    func apiFromLocalhost(_ row: Row) throws {
        #expect(try Self.policy(sameSite: false).access(to: .api, for: row.request) == row.expected)
    }

    // MARK: The API, page on the same site

    static let sitedRows: [Row] = [
        Row(
            "page fetch", marked(.get, users, site: "same-site", mode: "cors", destination: "empty", origin: sited),
            .full),
        Row("page img", marked(.get, users, site: "same-site", mode: "no-cors", destination: "image"), .full),
        Row(
            "page beacon",
            marked(.post, users, site: "same-site", mode: "no-cors", destination: "empty", origin: sited), .full),
        Row(
            "page WebSocket",
            marked(.get, "/ws", site: "same-site", mode: "websocket", origin: sited, more: [("Upgrade", "websocket")]),
            .full),
        Row(
            "sandboxed fetch",
            marked(.get, users, site: "cross-site", mode: "cors", destination: "empty", origin: "null"),
            .refused(.origin)),
        Row(
            "sandboxed fetch with the page's Origin",
            marked(.get, users, site: "cross-site", mode: "cors", destination: "empty", origin: sited),
            .refused(.foreign)),
        Row(
            "sandboxed beacon with the page's Origin",
            marked(.post, users, site: "cross-site", mode: "no-cors", destination: "empty", origin: sited),
            .refused(.foreign)),
        Row(
            "sandboxed WebSocket with the page's Origin",
            marked(.get, "/ws", site: "cross-site", mode: "websocket", origin: sited, more: [("Upgrade", "websocket")]),
            .refused(.foreign)),
        Row(
            "sandboxed EventSource",
            marked(.get, users, site: "cross-site", mode: "cors", destination: "empty", origin: "null"),
            .refused(.origin)),
        Row(
            "sandboxed img on a media path",
            marked(.get, blob, site: "cross-site", mode: "no-cors", destination: "image"), .media),
        Row(
            "sandboxed img on an API path",
            marked(.get, users, site: "cross-site", mode: "no-cors", destination: "image"), .refused(.mediaPath)),
        Row(
            "another host of the site, POST",
            marked(
                .post, users, site: "same-site", mode: "cors", destination: "empty", origin: "https://docs.example.org"),
            .refused(.origin)),
        Row("no marks", marked(.get, users), .refused(.unmarked)),
        Row(
            "frame", marked(.get, users, site: "same-site", mode: "navigate", destination: "iframe"),
            .refused(.document)),
        Row(
            "none and image", marked(.get, users, site: "none", mode: "no-cors", destination: "image"),
            .refused(.mediaPath)),
    ]

    @Test("NB-12, NB-13: who may use the API with the page on the same site", arguments: sitedRows)
    func apiFromSameSite(_ row: Row) throws {
        #expect(try Self.policy(sameSite: true).access(to: .api, for: row.request) == row.expected)
    }

    @Test(
        "Sites are the browser's: public suffixes, and localhost by name",
        arguments: [
            ("https://localhost", "https://localhost:8901", true),
            ("https://app.localhost", "https://api.localhost", false),
            ("https://app.localhost", "https://app.localhost:8901", true),
            ("https://app.mail.example.org", "https://mail.example.org", true),
            ("https://app.example.co.uk", "https://other.co.uk", false),
            ("https://a.github.io", "https://b.github.io", false),
            ("https://localhost", "https://mail.example.org", false),
            ("https://127.0.0.1", "https://127.0.0.2", false),
        ])
    func sites(_ page: String, _ api: String, _ expected: Bool) throws {
        #expect(PublicSuffix.isSameSite(try Origin(page), try Origin(api)) == expected)
    }
}
