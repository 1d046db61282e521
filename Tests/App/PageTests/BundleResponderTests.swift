// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreRouting
import Testing

@testable import NacrePage

struct BundleResponderTests {
    private let responder = BundleResponder(MemoryBundle(), api: nil)

    private func get(
        _ target: String, method: HTTPMethod = .get, destination: String? = nil, _ more: [(String, String)] = []
    ) async throws -> HTTPResponse {
        try await responder.respond(to: marked(method, target, destination: destination, more: more))
    }

    @Test("Files come with type, validator and no sniffing")
    func file() async throws {
        let response = try await get("/app.js?v=1")
        #expect(response.status == .ok)
        #expect(response.fields["Content-Type"] == "text/javascript; charset=utf-8")
        #expect(response.fields["Cache-Control"] == "no-cache")
        #expect(response.fields["X-Content-Type-Options"] == "nosniff")
        #expect(try await response.text() == "export {}")
    }

    @Test(
        "SH-1: a route of a single-page app is its index, a missing file is missing",
        arguments: [
            ("/inbox/7", "document", 200), ("/inbox/7", "empty", 404), ("/inbox/7.js", "document", 404),
            ("/missing.png", "image", 404), ("/", "document", 200), ("/docs", "document", 308),
            ("/docs/", "iframe", 200),
            ("/../x", "document", 400), ("/%2e%2e/x", "document", 400), ("/a%00", "document", 400),
        ])
    func fallback(_ path: String, _ destination: String, _ status: Int) async throws {
        #expect(try await get(path, destination: destination).status.rawValue == status)
    }

    @Test("A folder without its slash keeps query and spelling in the redirect")
    func folder() async throws {
        #expect(try await get("/docs?a=%20b").fields["Location"] == "/docs/?a=%20b")
    }

    @Test("Validators: If-None-Match answers 304", arguments: ["\"TAG\"", "W/\"TAG\"", "\"x\", \"TAG\"", "*"])
    func notModified(_ pattern: String) async throws {
        let tag = try #require(try await get("/logo.png").fields["ETag"]?.filter { $0 != "\"" })
        let again = try await get("/logo.png", [("If-None-Match", pattern.replacing("TAG", with: tag))])
        #expect(again.status == .notModified)
        #expect(again.fields["Content-Length"] == "10")
        #expect(try await get("/logo.png", [("If-None-Match", "\"other\"")]).status == .ok)
    }

    @Test("NB-4: ranges give 206 or 416; If-Range of another version gives everything; HEAD ignores them")
    func ranges() async throws {
        let part = try await get("/logo.png", [("Range", "bytes=2-4")])
        #expect(part.status == 206)
        #expect(part.fields["Content-Range"] == "bytes 2-4/10")
        #expect(try await part.text() == "234")
        let none = try await get("/logo.png", [("Range", "bytes=10-")])
        #expect(none.status == 416)
        #expect(none.fields["Content-Range"] == "bytes */10")
        #expect(try await get("/logo.png", [("Range", "bytes=2-4"), ("If-Range", "\"old\"")]).status == .ok)
        let tag = try #require(part.fields["ETag"])
        #expect(try await get("/logo.png", [("Range", "bytes=2-4"), ("If-Range", tag)]).status == 206)
        let head = try await get("/logo.png", method: .head, [("Range", "bytes=2-4")])
        #expect(head.status == .ok)
        #expect(head.body.length == 10)
    }

    @Test("The bundle can only be read")
    func methods() async throws {
        let response = try await get("/app.js", method: .post)
        #expect(response.status == .methodNotAllowed)
        #expect(response.fields["Allow"] == "GET, HEAD")
    }

    @Test("NB-10: a document without a policy gets one, with the hashes of its inline scripts")
    func policy() async throws {
        let script = "\n  go('</x>')\r\nend\n"
        var bundle = MemoryBundle()
        bundle.files["/index.html"] = "<!-- <script>no</script> --><SCRIPT type='module' defer>\(script)</script >"
        let responder = BundleResponder(bundle, api: try Origin("https://api.example.org"))
        let response = try await responder.respond(to: marked(destination: "document"))
        let policy = try #require(response.fields["Content-Security-Policy"])
        let hashed = script.replacing("\r\n", with: "\n")
        #expect(policy.contains("script-src 'self' 'wasm-unsafe-eval' 'sha256-\(Base64.encode(SHA256.hash(hashed)))';"))
        #expect(policy.contains("https://api.example.org wss://api.example.org"))
        #expect(!policy.contains("'unsafe-inline' 'sha256"))
    }

    @Test(
        "NB-10: a policy of the document's own is kept",
        arguments: [
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'self'\">",
            "<META CONTENT=\"default-src 'self'\" HTTP-EQUIV=content-security-policy>",
        ])
    func ownPolicy(_ meta: String) async throws {
        var bundle = MemoryBundle()
        bundle.files["/index.html"] = "<head>\(meta)</head><script>x()</script>"
        let response = try await BundleResponder(bundle, api: nil).respond(to: marked())
        #expect(response.status == .ok)
        #expect(response.fields["Content-Security-Policy"] == nil)
    }

    @Test(
        "Inline scripts are found as HTML has them",
        arguments: [
            ("<script>a</script><script src=x></script><script src=\"y\">b</script>", ["a"]),
            ("<script data-a='>'>a</script>", ["a"]), ("<style><script>no</script></style><script>a</script>", ["a"]),
            ("<title><script></title><script>a</script>", ["a"]), ("<scripty>no</scripty>", []),
            ("<script>open", ["open"]),
            ("a < b <script>a</script>", ["a"]), ("<script/>a</script>", ["a"]), ("<", []), ("<!--", []),
            ("<script", [""]),
        ])
    func scripts(_ html: String, _ expected: [String]) {
        let found = InlineScripts(Array(html.utf8)).scripts.map { String(decoding: $0, as: UTF8.self) }
        #expect(found == expected)
    }
}
