// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreGateway
import NacreHTTP
import NacreSessions
import NacreTesting
import Testing

@Suite struct OpenAPITests {
    private func document(_ fixture: GatewayFixture) async throws -> JSONValue {
        try await fixture.browser().send(.get, "/api/v1.0/openapi.json").json()
    }

    /// Every `$ref` in a value.
    private func references(_ value: JSONValue) -> [String] {
        switch value {
        case .array(let items): items.flatMap(references)
        case .object(let members):
            (members["$ref"]?.string.map { [$0] } ?? []) + members.values.flatMap(references)
        default: []
        }
    }

    @Test(arguments: [false, true])
    func `the document names exactly the routes of the gateway`(_ everything: Bool) async throws {
        let fixture = try await GatewayFixture { configuration in
            guard everything else { return }
            configuration.tokens.presentations = [.pair, .bearer]
            configuration.tokens.fromCookie = true
            configuration.claimedLinks.links = ["stmessages": try WebURL(GatewayFixture.origin + "/app")]
            configuration.claimedLinks.appleApps = ["A1B2C3D4E5.org.example.app"]
            configuration.claimedLinks.androidApps = ["org.example.app": [String(repeating: "AB:", count: 31) + "AB"]]
        }
        let document = try await document(fixture)
        let written = (document["paths"]?.object ?? [:]).flatMap { path, item in
            (item.object ?? [:]).keys.filter { $0 != "parameters" }.map { "\($0.uppercased()) \(path)" }
        }
        let routes = fixture.gateway.routes.map { route in
            let path = route.pattern.split(separator: "/", omittingEmptySubsequences: false)
                .map { $0.hasPrefix(":") ? "{\($0.dropFirst())}" : String($0) }.joined(separator: "/")
            return "\(route.method.rawValue) \(path)"
        }
        #expect(Set(written) == Set(routes))
        #expect(written.count == routes.count)
        #expect(everything == written.contains("POST /api/token/refresh/"))
        #expect(everything == written.contains("GET /app/auth"))
    }

    @Test func `the document knows its installation, and each of its references leads somewhere`() async throws {
        let fixture = try await GatewayFixture { $0.name = "Say \"hello\"" }
        let document = try await document(fixture)
        #expect(document["info"]?["title"] == "Say \"hello\"")
        #expect(document["info"]?["version"]?.string?.contains("@") == false)
        #expect(document["servers"]?.array?.first?["url"] == .string(GatewayFixture.origin))
        let references = references(document)
        #expect(references.count > 20)
        for reference in Set(references) {
            var value: JSONValue? = document
            for step in reference.split(separator: "/").dropFirst() { value = value?[String(step)] }
            #expect(value != nil, "\(reference)")
        }
    }

    @Test func `each operation has a name, a summary, an answer and the errors that every address may give`()
        async throws
    {
        let document = try await document(try await GatewayFixture())
        var names: Set<String> = []
        for (path, item) in document["paths"]?.object ?? [:] {
            for (method, operation) in item.object ?? [:] {
                let name = try #require(operation["operationId"]?.string)
                #expect(names.insert(name).inserted)
                #expect(operation["summary"]?.string?.isEmpty == false)
                let answers = Set((operation["responses"]?.object ?? [:]).keys)
                #expect(answers.isSuperset(of: ["405", "500", "503"]), "\(method) \(path)")
                #expect(answers.contains { $0.hasPrefix("2") || $0.hasPrefix("3") }, "\(method) \(path)")
            }
        }
    }

    @Test(arguments: [
        "/api/v1.0/config/", "/api/v1.0/users/me/", "/api/v1.0/csrf/", "/healthz", "/readyz", "/api/v1.0/authenticate/",
        "/api/v1.0/callback/", "/api/v1.0/logout/", "/api/v1.0/openapi.json", "/.well-known/jwks.json",
    ])
    func `what an address answers is written down`(_ path: String) async throws {
        let fixture = try await GatewayFixture()
        let document = try await document(fixture)
        let answers = try #require(document["paths"]?[path]?["get"]?["responses"]?.object)
        for browser in [fixture.browser(), try await fixture.signedInBrowser()] {
            for method in [HTTPMethod.get, .post, .delete] {
                let answer = try await browser.send(method, path, fields: ["Accept": "*/*"])
                let known = answers[String(answer.status.rawValue)] != nil
                #expect(known, "\(method.rawValue) \(answer.status.rawValue)")
            }
        }
    }
}
