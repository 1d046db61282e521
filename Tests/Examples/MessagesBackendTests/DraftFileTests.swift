// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Testing

@testable import MessagesBackend

@Suite("Files of a draft")
struct DraftFileTests {
    private static let id = "0f9c2a51-7d1e-4a2b-9c3d-5e6f70819aab"

    private func server() async throws -> Harness {
        let server = try await Harness()
        try await server.save(Self.id, ["subject": "Files"])
        return server
    }

    @Test(
        "A file arrives byte for byte, under a name fit for a disk",
        arguments: [
            ("../../x", "x"), ("CON", "CON"), ("a\u{202E}gpj.exe", "agpj.exe"), ("été.pdf", "été.pdf"),
            (String(repeating: "n", count: 300) + ".txt", String(repeating: "n", count: 116) + ".txt"),
            ("", "attachment"),
        ])
    func names(raw: String, safe: String) async throws {
        let server = try await server()
        let bytes = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let (status, file) = try await server.attach(raw, bytes, type: "application/x-any", to: Self.id)
        #expect(status == .created)
        #expect(file["name"]?.string == safe)
        #expect(file["size"]?.integer == 70_000)
        let (response, back) = try await server.get("blob/\(file["id"]?.string ?? "")/")
        #expect(back == bytes)
        #expect(response.fields["Content-Type"] == "application/x-any")
        #expect(try await server.json("drafts/\(Self.id)/")["attachments"] == [file])
    }

    @Test("Files stand in the order they were chosen in, whichever arrives first")
    func order() async throws {
        let server = try await server()
        for (name, position) in [("second", "2"), ("third", "3"), ("first", "1")] {
            let (status, file) = try await server.attach(name, [1], position: position, to: Self.id)
            #expect(status == .created)
            #expect(file["position"]?.integer == Int64(position))
        }
        let files = try await server.json("drafts/\(Self.id)/")["attachments"]?.array ?? []
        #expect(files.map { $0["name"]?.string } == ["first", "second", "third"])
    }

    @Test(
        "A place that is no whole number is refused, and nothing is stored",
        arguments: ["", "-1", "1.5", "x", "1000001"])
    func badPosition(field: String) async throws {
        let server = try await server()
        let (status, json) = try await server.attach("a", [1], position: field, to: Self.id)
        #expect(status == .badRequest)
        #expect(json["code"] == "bad_position")
        #expect(try await server.json("drafts/\(Self.id)/")["attachments"] == [])
    }

    @Test("A file can be taken off again")
    func removed() async throws {
        let server = try await server()
        let file = try await server.attach("a.txt", [1], to: Self.id).json["id"]?.string ?? ""
        #expect(try await server.call(.delete, "drafts/\(Self.id)/attachments/\(file)/").status == .ok)
        #expect(try await server.call(.delete, "drafts/\(Self.id)/attachments/\(file)/").status == .notFound)
        #expect(try await server.json("drafts/\(Self.id)/")["attachments"] == [])
    }

    @Test("All files together may have 25 MB: the one that would be too much is 413 and stores nothing")
    func total() async throws {
        let server = try await server()
        let large = [UInt8](repeating: 7, count: 15_000_000)
        #expect(try await server.attach("one.bin", large, to: Self.id).status == .created)
        let (status, json) = try await server.attach("two.bin", large, to: Self.id)
        #expect(status == .contentTooLarge)
        #expect(json["code"] == "attachments_too_large")
        #expect(
            try await server.attach("three.bin", [UInt8](repeating: 7, count: 9_000_000), to: Self.id).status
                == .created)
        #expect(try await server.json("drafts/\(Self.id)/")["attachments"]?.array?.count == 2)
    }

    @Test("A single file beyond 25 MB is 413, also when its length was not said")
    func single() async throws {
        let server = try await server()
        let chunk = [UInt8](repeating: 1, count: 1_000_000)
        let count = Counter()
        let stream = ByteStream { await count.next() < 30 ? chunk : nil }
        let (response, _) = try await server.send(
            HTTPRequest(
                method: .post, authority: "upstream", target: "/api/v1.0/drafts/\(Self.id)/attachments/",
                fields: ["X-Nacre-Identity": "ada", "X-File-Name": "big.bin"], body: .stream(stream, length: nil)))
        #expect(response.status == .contentTooLarge)
        #expect(await count.value < 30, "it was not read to its end")
    }

    @Test("Twenty files and no more")
    func count() async throws {
        let server = try await server()
        for number in 0..<20 { #expect(try await server.attach("\(number)", [1], to: Self.id).status == .created) }
        let (status, json) = try await server.attach("20", [1], to: Self.id)
        #expect(status == .contentTooLarge)
        #expect(json["code"] == "too_many_attachments")
    }

    @Test("Without the name field, which no form can send, a file is refused", arguments: [nil, "%zz"] as [String?])
    func field(name: String?) async throws {
        let answer = try await server().call(
            .post, "drafts/\(Self.id)/attachments/", [1], fields: name.map { ["X-File-Name": $0] } ?? [:])
        #expect(answer.status == .badRequest)
        #expect(answer.json["code"] == "no_name")
    }
}

private actor Counter {
    var value = 0
    func next() -> Int {
        value += 1
        return value
    }
}
