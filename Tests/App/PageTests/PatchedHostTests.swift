// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting
import Testing

@testable import NacrePage

@Suite("The page's host of the patched channel")
struct PatchedHostTests {
    private let context = RequestContext(id: "1", clientAddress: "127.0.0.1")

    private func host(patched: PatchedFetch? = nil) throws -> PageHostResponder {
        let bundle = BundleResponder(MemoryBundle(), api: nil)
        return PageHostResponder(
            policy: PageAccessPolicy(
                page: try Origin("https://localhost"), sameSite: false, media: [], serviceWorkers: false),
            files: { try await bundle.respond(to: $0) },
            bridge: patched.map { PatchedResponder(patched: $0, script: "patch()") },
            appFiles: AppFilesResponder(folders: []), log: .none, isPatched: patched != nil)
    }

    private func patched() throws -> PatchedFetch {
        PatchedFetch(isAPI: { _ in true }, log: .none) { _, _ in HTTPResponse(body: .text("secret")) }
    }

    private func worker(_ target: String, site: String = "same-origin") -> HTTPRequest {
        marked(.get, target, site: site, mode: "same-origin", destination: "worker")
    }

    @Test("NB-10: a body is for the page itself, once, and for no frame, document or foreign page")
    func bodies() async throws {
        let patched = try patched()
        let token = try #require(try await patched.open(PatchedFetchTests.request(), load: 1).token)
        let host = try host(patched: patched)
        let target = "/_nacre_/exchange/" + token
        for refused in [
            marked(.get, target, site: "cross-site", mode: "no-cors", destination: "image"), marked(.get, target),
            marked(.get, target, site: "same-origin", mode: "navigate", destination: "iframe"),
            marked(.get, target, site: "same-site", mode: "cors", destination: "empty", origin: "https://localhost:1"),
        ] {
            #expect(try await host.respond(to: refused, context: context).status == .forbidden)
        }
        let own = marked(.get, target, site: "same-origin", mode: "cors", destination: "empty")
        let answer = try await host.respond(to: own, context: context)
        #expect(answer.fields["Content-Type"] == "application/octet-stream")
        #expect(answer.fields["Cache-Control"] == "no-store")
        #expect(try await answer.text() == "secret")
        #expect(try await host.respond(to: own, context: context).status == .notFound)
    }

    @Test("A worker's patch comes before the worker, whose address stays its own")
    func workers() async throws {
        let host = try host(patched: patched())
        let script = try await host.respond(
            to: marked(.get, "/_nacre_/page-fetch.js", site: "same-origin", mode: "no-cors", destination: "script"),
            context: context)
        #expect(try await script.text() == "patch()")
        let classic = try await host.respond(to: worker("/a/w.js?v=1&nacre-worker=classic"), context: context)
        #expect(try await classic.text() == "importScripts(\"/_nacre_/page-fetch.js\", \"/a/w.js?v=1\");\n")
        let module = try await host.respond(to: worker("/w.js?nacre-worker=module"), context: context)
        #expect(try await module.text() == "import \"/_nacre_/page-fetch.js\";\nimport \"/w.js\";\n")
        for target in ["/app.js", "/app.js?nacre-worker=other", "/app.js?nacre-worker=classic&x=1"] {
            #expect(try await host.respond(to: worker(target), context: context).text() == "export {}", "\(target)")
        }
        #expect(
            try await host.respond(to: worker("/w.js?nacre-worker=classic", site: "cross-site"), context: context)
                .status
                == .forbidden)
    }

    @Test("Without the patch the marked address is a file like any other")
    func unpatched() async throws {
        let answer = try await host().respond(to: worker("/app.js?nacre-worker=classic"), context: context)
        #expect(try await answer.text() == "export {}")
    }

    @Test(
        "An address cannot end the text it stands in",
        arguments: [
            "/a\";evil();\"?nacre-worker=classic", "/a\\?nacre-worker=module",
            "//evil.example/a.js?nacre-worker=classic",
        ])
    func quoting(_ target: String) {
        #expect(PatchedWorker.stub(for: worker(target)) == nil)
    }

    @Test("The channel: patched requests get the session, the policy's answers and the API's failures; omit gets none")
    func channel() async throws {
        let upstream = FakeUpstream { request in
            if request.path == "/down" { throw NacreError("transport.unreachable", "No network.") }
            return HTTPResponse(fields: ["Set-Cookie": "a=b", "X-Seen": request.fields["Cookie"] ?? "none"])
        }
        let channel = try PageChannel(
            configuration: PageChannelConfiguration(
                page: try Origin("https://localhost"), api: try Origin("https://api.example.org")),
            bundle: MemoryBundle(), authority: FakeAuthority(), transport: upstream, patch: "patch()", log: .none)
        let patched = try #require(channel.patched)
        let with = try await patched.open(PatchedFetchTests.request(["headers": [["Cookie", "page=1"]]]), load: 1)
        #expect(with.fields["X-Seen"] == "session=native")
        #expect(with.fields["Set-Cookie"] == nil)
        let without = try await patched.open(
            PatchedFetchTests.request(["id": "b", "credentials": "omit"]), load: 1)
        #expect(without.fields["X-Seen"] == "none")
        let down = try await patched.open(
            PatchedFetchTests.request(["id": "c", "url": "https://api.example.org/down"]), load: 1)
        #expect(down.status == .badGateway)
        #expect(down.fields["X-Nacre-Reason"] == "transport.unreachable")
    }
}
