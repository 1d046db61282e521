// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreListener
import NacreRouting
import Synchronization
import Testing

@testable import NacrePage

@Suite("NB-4: the media proxy at the page's host")
struct MediaProxyTests {
    private let context = RequestContext(id: "1", clientAddress: "127.0.0.1")

    private func host(_ upstream: FakeUpstream, api: String = "https://api.example.org") throws -> PageHostResponder {
        let page = try Origin("https://localhost")
        let origin = try Origin(api)
        let configuration = PageChannelConfiguration(page: page, api: origin, media: ["/blob/"], allowsCleartext: true)
        let visible = try #require(configuration.visibleAPI)
        let loops = try EventLoops()
        loops.stop()
        let dialer = Dialer(
            loops: loops, proxy: { _ in .direct }, trust: try TLSTrust(), privateTargets: [], limit: .seconds(1),
            time: SystemTime())
        let policy = PageAccessPolicy(page: page, sameSite: false, media: ["/blob/"], serviceWorkers: false)
        let responder = APIResponder(
            policy: policy, fields: APIFields(page: page, api: origin, visible: visible), authority: FakeAuthority(),
            transport: upstream, interceptors: [], sockets: UpgradeRelay(dialer: dialer, idle: .seconds(1)), log: .none)
        let bundle = BundleResponder(MemoryBundle(), api: visible)
        return PageHostResponder(
            policy: policy, files: { try await bundle.respond(to: $0) }, bridge: nil,
            media: MediaProxyResponder(
                policy: policy, page: page, origins: [visible, origin], api: responder, log: .none),
            appFiles: AppFilesResponder(folders: []), log: .none)
    }

    private func proxied(_ url: String) -> String { MediaProxyURL.path + "?u=" + PercentEncoding.encode(url) }

    private func ask(
        _ host: PageHostResponder, _ url: String, site: String? = "same-origin", mode: String = "no-cors",
        destination: String? = "video", method: HTTPMethod = .get, origin: String? = nil,
        _ more: [(String, String)] = []
    ) async throws -> HTTPResponse {
        try await host.respond(
            to: marked(
                method, proxied(url), site: site, mode: mode, destination: destination, origin: origin, more: more),
            context: context)
    }

    @Test("It is fetched with the session, Range and all, and comes back as the API sent it")
    func session() async throws {
        let upstream = FakeUpstream { request in
            HTTPResponse(
                status: 206,
                fields: ["Content-Range": "bytes 2-3/9", "Content-Type": "video/mp4", "Set-Cookie": "a=b"],
                body: .text("23"))
        }
        let response = try await ask(
            host(upstream), "https://api.example.org/x/film?q=1", [("Range", "bytes=2-3"), ("Cookie", "c=d")])
        let sent = try #require(upstream.requests.first)
        #expect(sent.url == "https://api.example.org/x/film?q=1")
        #expect(sent.fields["Range"] == "bytes=2-3")
        #expect(sent.fields.values("Cookie") == ["session=native"])
        #expect(sent.fields["Sec-Fetch-Dest"] == nil)
        #expect(response.status == 206)
        #expect(response.fields["Content-Range"] == "bytes 2-3/9")
        #expect(response.fields["Set-Cookie"] == nil)
        #expect(response.fields["Content-Security-Policy"] == "sandbox; default-src 'none'")
        #expect(response.fields["X-Content-Type-Options"] == "nosniff")
        #expect(try await response.text() == "23")
    }

    @Test("A cleartext development API is named as the page sees it or as it is called", arguments: ["http", "https"])
    func cleartext(_ scheme: String) async throws {
        let upstream = FakeUpstream()
        _ = try await ask(host(upstream, api: "http://localhost:8901"), "\(scheme)://localhost:8901/a")
        #expect(upstream.requests.first?.url == "http://localhost:8901/a")
    }

    @Test(
        "Only configured origins, one address, nothing of another form",
        arguments: [
            ("https://evil.example/x", 403), ("https://api.example.org:444/x", 403),
            ("https://api.example.org.evil.example/", 403),
            ("http://api.example.org/x", 403), ("http://127.0.0.1/x", 403), ("https://localhost/app.js", 403),
            ("/x", 400),
            ("file:///etc/passwd", 400), ("", 400), ("https://user@api.example.org/", 400),
        ])
    func origins(_ url: String, _ status: Int) async throws {
        let upstream = FakeUpstream()
        #expect(try await ask(host(upstream), url).status.rawValue == status)
        #expect(upstream.requests.isEmpty)
    }

    @Test(
        "Two addresses or none are refused",
        arguments: ["", "?u=https://api.example.org/a&u=https://api.example.org/b", "?x=1"])
    func addresses(_ query: String) async throws {
        let upstream = FakeUpstream()
        let request = marked(
            .get, MediaProxyURL.path + query, site: "same-origin", mode: "no-cors", destination: "image")
        #expect(try await host(upstream).respond(to: request, context: context).status == .badRequest)
        #expect(upstream.requests.isEmpty)
    }

    struct Asker: Sendable, CustomTestStringConvertible {
        var site: String? = "same-origin"
        var mode = "no-cors"
        var destination: String? = "image"
        var method: HTTPMethod = .get
        var origin: String?
        var path = "/other"
        let status: Int
        var testDescription: String {
            "\(method.rawValue) \(site ?? "-") \(mode) \(destination ?? "-") \(path): \(status)"
        }
    }

    @Test(
        "The page may have anything that is shown or read; other frames pictures, sounds and films of api.media only (NB-12)",
        arguments: [
            Asker(status: 200), Asker(destination: "audio", status: 200),
            Asker(mode: "cors", destination: "empty", status: 200),
            Asker(destination: "track", status: 200), Asker(method: .head, status: 200),
            // What would run or be shown as the page's own.
            Asker(mode: "navigate", destination: "document", status: 403),
            Asker(mode: "navigate", destination: "iframe", status: 403),
            Asker(destination: "script", status: 403), Asker(destination: "worker", status: 403),
            Asker(destination: "style", status: 403),
            Asker(destination: "object", status: 403), Asker(destination: "embed", status: 403),
            Asker(destination: nil, status: 403),
            Asker(destination: "serviceworker", status: 403), Asker(destination: "manifest", status: 403),
            // What would change something.
            Asker(method: .post, status: 403), Asker(method: .delete, origin: "https://localhost", status: 403),
            // Others.
            Asker(site: nil, status: 403), Asker(site: "none", status: 403),
            Asker(site: "none", destination: "document", status: 403),
            Asker(site: "cross-site", status: 403), Asker(site: "cross-site", path: "/blob/1", status: 200),
            Asker(site: "cross-site", destination: "video", path: "/blob/1", status: 200),
            Asker(site: "cross-site", path: "/blob/../other", status: 403),
            Asker(site: "cross-site", path: "/blob/%2e%2e/other", status: 403),
            Asker(site: "cross-site", destination: "empty", path: "/blob/1", status: 403),
            Asker(site: "cross-site", mode: "cors", destination: "image", path: "/blob/1", status: 403),
            Asker(site: "cross-site", destination: "script", path: "/blob/1", status: 403),
            Asker(site: "cross-site", method: .post, path: "/blob/1", status: 403),
            Asker(site: "cross-site", destination: "image", origin: "null", path: "/blob/1", status: 403),
            Asker(site: "same-site", path: "/other", status: 403),
        ])
    func askers(_ asker: Asker) async throws {
        let upstream = FakeUpstream()
        let response = try await ask(
            host(upstream), "https://api.example.org" + asker.path, site: asker.site, mode: asker.mode,
            destination: asker.destination, method: asker.method, origin: asker.origin)
        #expect(response.status.rawValue == asker.status)
        #expect(upstream.requests.count == (asker.status == 200 ? 1 : 0))
    }

    @Test(
        "Its own path has no other spelling that the bundle would answer",
        arguments: ["/%5fcapacitor_http_interceptor_", "//_capacitor_http_interceptor_"])
    func spelling(_ path: String) async throws {
        let upstream = FakeUpstream()
        let request = marked(
            .get, path + "?u=" + PercentEncoding.encode("https://api.example.org/other"), site: "cross-site",
            mode: "no-cors", destination: "image")
        #expect(try await host(upstream).respond(to: request, context: context).status == .forbidden)
    }

    @Test(
        "A server that ignores Range is cut to the part that was asked for",
        arguments: [
            ("bytes=0-1", 206, "01", "bytes 0-1/10"), ("bytes=2-", 206, "23456789", "bytes 2-9/10"),
            ("bytes=-3", 206, "789", "bytes 7-9/10"), ("bytes=9-99", 206, "9", "bytes 9-9/10"),
            ("bytes=10-", 416, "", "bytes */10"), ("bytes=5-3", 200, "0123456789", nil),
            ("bytes=0-1,4-5", 200, "0123456789", nil),
            ("lines=1", 200, "0123456789", nil),
        ] as [(String, Int, String, String?)])
    func ignoredRange(_ range: String, _ status: Int, _ text: String, _ contentRange: String?) async throws {
        let upstream = FakeUpstream { _ in
            let pieces = OncePieces(["012", "3", "456", "789"])
            return HTTPResponse(body: .stream(ByteStream { pieces.next() }, length: 10))
        }
        let response = try await ask(host(upstream), "https://api.example.org/film", [("Range", range)])
        #expect(response.status.rawValue == status)
        #expect(response.fields["Content-Range"] == contentRange)
        #expect(try await response.text() == text)
        if status == 206 { #expect(response.body.length == text.utf8.count) }
    }

    @Test(
        "A redirect within the API stays in the proxy, one elsewhere leaves it without the session",
        arguments: [
            ("/next", "https://localhost/_capacitor_http_interceptor_?u=https%3A%2F%2Fapi.example.org%2Fnext"),
            ("https://storage.example/x?sig=1", "https://storage.example/x?sig=1"), ("javascript:alert(1)", nil),
        ] as [(String, String?)])
    func redirect(_ location: String, _ expected: String?) async throws {
        let upstream = FakeUpstream { _ in HTTPResponse(status: .found, fields: ["Location": location]) }
        let response = try await ask(host(upstream), "https://api.example.org/x")
        #expect(response.status == .found)
        #expect(response.fields["Location"] == expected)
    }

    @Test("A server that cannot be reached is a 502 with its reason")
    func unreachable() async throws {
        let upstream = FakeUpstream { _ in throw NacreError("transport.unreachable", "Nobody there.") }
        let response = try await ask(host(upstream), "https://api.example.org/x")
        #expect(response.status == .badGateway)
        #expect(response.fields["X-Nacre-Reason"] == "transport.unreachable")
    }
}

/// Texts that come one after the other.
private final class OncePieces: Sendable {
    private let left: Mutex<[String]>
    init(_ pieces: [String]) { left = Mutex(pieces.reversed()) }
    func next() -> [UInt8]? { left.withLock { $0.popLast() }.map { Array($0.utf8) } }
}
