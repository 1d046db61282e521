// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreListener
import NacreRouting
import Testing

@testable import NacrePage

struct PageHostTests {
    private let context = RequestContext(id: "1", clientAddress: "127.0.0.1")

    private func host(bridge: Bool = true) throws -> PageHostResponder {
        let bundle = BundleResponder(MemoryBundle(), api: nil)
        return PageHostResponder(
            policy: PageAccessPolicy(
                page: try Origin("https://localhost"), sameSite: false, media: [], serviceWorkers: false),
            files: { try await bundle.respond(to: $0) },
            bridge: bridge ? ClosureResponder { _, _ in HTTPResponse(body: .text("native")) } : nil,
            appFiles: AppFilesResponder(folders: []), log: .none)
    }

    @Test(
        "NB-10: the bridge's space is for the page itself, never for frames, documents or unmarked requests",
        arguments: [
            (marked(.get, "/_nacre_/x", site: "same-origin", mode: "cors", destination: "empty"), 200),
            (marked(.post, "/_nacre_/x", site: "same-origin", mode: "cors", origin: "https://localhost"), 200),
            (marked(.get, "/_nacre_/x"), 403),
            (marked(.get, "/_nacre_/x", site: "same-origin", mode: "navigate", destination: "iframe"), 403),
            (marked(.get, "/_nacre_/x", site: "none", mode: "navigate", destination: "document"), 403),
            (marked(.get, "/_nacre_/x", site: "cross-site", mode: "no-cors", destination: "image"), 403),
            (marked(.get, "//_nacre_/x", site: "cross-site", mode: "no-cors", destination: "image"), 403),
            (marked(.get, "/%5fnacre_/x", site: "cross-site", mode: "no-cors", destination: "image"), 403),
            (marked(.post, "/_nacre_/x", site: "cross-site", mode: "no-cors", origin: "https://localhost"), 403),
            (marked(.post, "/_nacre_/x", site: "cross-site", mode: "cors", origin: "null"), 403),
        ])
    func reserved(_ request: HTTPRequest, _ status: Int) async throws {
        #expect(try await host().respond(to: request, context: context).status.rawValue == status)
    }

    @Test("Without a bridge its space is empty, not the app")
    func noBridge() async throws {
        let request = marked(.get, "/_nacre_/x", site: "same-origin", mode: "cors", destination: "empty")
        #expect(try await host(bridge: false).respond(to: request, context: context).status == .notFound)
    }

    @Test("A foreign page cannot frame the app")
    func framing() async throws {
        let request = marked(.get, "/", site: "cross-site", mode: "navigate", destination: "iframe")
        #expect(try await host().respond(to: request, context: context).status == .forbidden)
    }

    // MARK: Development server

    private func devServer(_ upstream: FakeUpstream) throws -> DevServerResponder {
        let loops = try EventLoops()
        loops.stop()
        let dialer = Dialer(
            loops: loops, proxy: { _ in .direct }, trust: try TLSTrust(), privateTargets: [], limit: .seconds(1),
            time: SystemTime())
        return DevServerResponder(
            server: try Origin("http://localhost:5173"), page: try Origin("https://localhost"), transport: upstream,
            sockets: UpgradeRelay(dialer: dialer, idle: .seconds(1)), log: .none)
    }

    @Test("SH-2: the development server sees itself as host and origin")
    func devServerRequest() async throws {
        let upstream = FakeUpstream { _ in HTTPResponse(status: .found, fields: ["Location": "http://localhost:5173/a"])
        }
        let response = try await devServer(upstream)
            .respond(to: marked(.post, "/@vite/client?x", site: "same-origin", origin: "https://localhost"))
        let sent = try #require(upstream.requests.first)
        #expect(sent.url == "http://localhost:5173/@vite/client?x")
        #expect(sent.fields["Origin"] == "http://localhost:5173")
        #expect(response.fields["Location"] == "https://localhost/a")
    }

    @Test("SH-2: an unreachable development server is a page with address, reason and a retry by itself")
    func devServerDown() async throws {
        let upstream = FakeUpstream { _ in
            throw NacreError("transport.unreachable", "Nothing <answers> at localhost:5173.")
        }
        let response = try await devServer(upstream).respond(to: marked(site: "none", destination: "document"))
        let text = try await response.text()
        #expect(response.status == .badGateway)
        #expect(text.contains("http://localhost:5173"))
        #expect(text.contains("Nothing &lt;answers&gt;"))
        #expect(text.contains("http-equiv=\"refresh\""))
        let script = try await devServer(upstream).respond(to: marked(site: "same-origin", destination: "script"))
        #expect(script.fields["Content-Type"] == "application/json")
    }

    // MARK: Configuration

    @Test("NB-8: a cleartext API or development server needs development")
    func cleartext() throws {
        let page = try Origin("https://localhost")
        let plain = try Origin("http://localhost:8901")
        #expect(throws: NacreError.self) { try PageChannelConfiguration(page: page, api: plain).validate() }
        #expect(throws: NacreError.self) {
            try PageChannelConfiguration(page: page, api: nil, devServer: plain).validate()
        }
        try PageChannelConfiguration(page: page, api: plain, devServer: plain, allowsCleartext: true).validate()
    }

    @Test("The page needs an https origin of its own")
    func pageOrigin() throws {
        let api = try Origin("https://mail.example.org")
        #expect(throws: NacreError.self) {
            try PageChannelConfiguration(page: try Origin("http://localhost"), api: api).validate()
        }
        #expect(throws: NacreError.self) { try PageChannelConfiguration(page: api, api: api).validate() }
    }

    @Test(
        "The certificate's hosts are the page's and the API's, once each",
        arguments: [
            ("https://localhost", "http://localhost:8901", ["localhost"]),
            ("https://localhost", "https://mail.example.org", ["localhost", "mail.example.org"]),
        ])
    func hosts(_ page: String, _ api: String, _ expected: [String]) throws {
        let configuration = PageChannelConfiguration(page: try Origin(page), api: try Origin(api))
        #expect(configuration.certificateHosts == expected)
    }
}
