// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting
import Testing

@Suite("Router")
struct RouterTests {
    private let client = InProcessClient(
        Router { routes in
            for pattern in ["/", "/users/me/", "/users/:id/", "/users/:id/posts/:post", "/files/**"] {
                routes.get(pattern) { _, context in
                    let parameters = context.parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
                    return HTTPResponse(body: .text(([pattern] + parameters).joined(separator: " ")))
                }
            }
            routes.post("/users/me/") { _, _ in HTTPResponse(status: .created) }
        })

    private func get(_ target: String, _ method: HTTPMethod = .get) async throws -> (Int, String, HTTPFields) {
        let response = try await client.send(HTTPRequest(method: method, authority: "h", target: target))
        return (
            response.status.rawValue, String(decoding: try await response.body.collect(upTo: 4096), as: UTF8.self),
            response.fields
        )
    }

    @Test(
        "Literals win over parameters, parameters over the rest",
        arguments: [
            ("/", "/"), ("/users/me/", "/users/me/"), ("/users/42/", "/users/:id/ id=42"),
            ("/users/a%20b/?q=1", "/users/:id/ id=a b"),
            ("/users/me/posts/7", "/users/:id/posts/:post id=me post=7"), ("/files/a/b", "/files/**"),
            ("/files/", "/files/**"),
        ])
    func matching(target: String, expected: String) async throws {
        let (status, body, _) = try await get(target)
        #expect(status == 200)
        #expect(body == expected)
    }

    @Test(
        "Unknown paths are 404, trailing slashes matter",
        arguments: ["/users/me", "/nothing", "/users//", "/users/%zz/"])
    func unknown(target: String) async throws { #expect(try await get(target).0 == 404) }

    @Test("A known path under another method says which it takes")
    func method() async throws {
        let (status, _, fields) = try await get("/users/me/", .delete)
        #expect(status == 405)
        #expect(fields["Allow"] == "GET, POST")
        #expect(try await get("/users/me/", .head).0 == 200)
    }
}
