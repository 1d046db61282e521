// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import MessagesBackend
import NacreCore
import NacreHTTP
import Testing

@Suite("Whose mailbox")
struct IdentityTests {
    private func request(_ tokens: [String], _ path: String = "mailboxes/") -> HTTPRequest {
        var fields: HTTPFields = ["Cookie": "sessionid=ada", "X-Forwarded-User": "ada"]
        for token in tokens { fields.append("X-Nacre-Identity", token) }
        return HTTPRequest(authority: "upstream", target: "/api/v1.0/" + path, fields: fields)
    }

    @Test(
        "Without exactly one valid identity every address answers 401",
        arguments: [[], ["forged"], ["ada", "ada"], ["ada", "mallory"]],
        ["mailboxes/", "threads/", "threads/x/", "blob/x/", "nowhere/"])
    func refused(tokens: [String], path: String) async throws {
        let (response, bytes) = try await Harness().send(request(tokens, path))
        #expect(response.status == .unauthorized)
        #expect(try JSONParser.parse(bytes)["code"] == "identity_required")
    }

    @Test("Keys that cannot be had are 503, so that nobody is signed out by it")
    func unchecked() async throws {
        let (response, _) = try await Harness().send(request(["down"]))
        #expect(response.status == .serviceUnavailable)
    }

    @Test("People of the same subject at two providers are two people")
    func issuers() async throws {
        let server = try await Harness()
        let id = try await server.find("Sunday lunch", as: "one/ada")
        #expect(try await server.get("threads/\(id)/", as: "one/ada").response.status == .ok)
        #expect(try await server.get("threads/\(id)/", as: "two/ada").response.status == .notFound)
    }

    @Test("Nobody sees or changes another's conversations and attachments")
    func isolation() async throws {
        let server = try await Harness()
        let id = try await server.find("Photos lighthouse", as: "ada")
        let thread = try await server.json("threads/\(id)/", as: "ada")
        let blob = try #require(thread["messages"]?.array?.first?["attachments"]?.array?.first?["id"]?.string)
        #expect(try await server.get("blob/\(blob)/", as: "ada").response.status == .ok)
        #expect(try await server.get("blob/\(blob)/", as: "bo").response.status == .notFound)
        #expect(try await server.get("threads/\(id)/", as: "bo").response.status == .notFound)
        let (status, _) = try await server.post("threads/\(id)/flags/", #"{"mailbox":"trash"}"#, as: "bo")
        #expect(status == .notFound)
        #expect(try await server.json("threads/\(id)/", as: "ada") == thread)
        #expect(try await server.threads("mailbox=trash", as: "bo").count == server.threads("mailbox=trash").count)
    }

    @Test("Mail is addressed to whoever is signed in")
    func addressed() async throws {
        let server = try await Harness()
        let id = try await server.find("Clés de la cave", as: "bo")
        let first = try await server.json("threads/\(id)/", as: "bo")["messages"]?.array?.first
        #expect(first?["to"] == [["name": "Bo", "email": "bo@mail.example.org"]])
    }

    @Test("Fifty first requests at once make one copy of the samples")
    func firstRequests() async throws {
        let server = try await Harness()
        try await withThrowingTaskGroup(of: Int64.self) { group in
            for _ in 0..<50 {
                group.addTask { try await server.json("threads/?mailbox=inbox&limit=1")["total"]?.integer ?? 0 }
            }
            var totals: Set<Int64> = []
            for try await total in group { totals.insert(total) }
            #expect(totals.count == 1)
        }
        #expect(try await server.everything().count < 93)
    }
}
