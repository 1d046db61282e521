// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Testing

@testable import MessagesBackend

@Suite("Parts of a file")
struct RangeTests {
    @Test(
        "NB-4: a range is read as RFC 9110 has it",
        arguments: [
            (nil, .whole), ("bytes=0-9", .part(ByteRange(first: 0, count: 10))),
            ("bytes=90-", .part(ByteRange(first: 90, count: 10))), ("bytes=-5", .part(ByteRange(first: 95, count: 5))),
            ("bytes=-500", .part(ByteRange(first: 0, count: 100))),
            ("bytes=0-", .part(ByteRange(first: 0, count: 100))),
            ("bytes=99-200", .part(ByteRange(first: 99, count: 1))), ("bytes=100-", .beyond),
            ("bytes=100-200", .beyond),
            ("bytes=99999999999999999999-", .beyond), ("bytes=-0", .beyond), ("bytes=9-2", .whole), ("bytes=-", .whole),
            ("bytes=a-b", .whole), ("bytes=1-2,5-6", .whole), ("lines=1-2", .whole), ("bytes=+1-2", .whole),
            ("", .whole),
        ] as [(String?, ByteRange.Reading)])
    func reading(field: String?, meaning: ByteRange.Reading) {
        #expect(ByteRange.read(field, size: 100) == meaning)
    }

    @Test("Of an empty file there is no part") func empty() { #expect(ByteRange.read("bytes=0-", size: 0) == .beyond) }

    private func film() async throws -> (server: Harness, id: String, whole: [UInt8]) {
        let server = try await Harness()
        let thread = try await server.json("threads/\(try await server.find("harbour film bell"))/")
        let file = thread["messages"]?.array?.first?["attachments"]?.array?.first { $0["type"] == "video/webm" }
        let id = try #require(file?["id"]?.string)
        let (response, whole) = try await server.get("blob/\(id)/")
        #expect(response.fields["Accept-Ranges"] == "bytes")
        return (server, id, whole)
    }

    @Test("NB-4: a player gets the part it asks for, with 206, and the parts joined are the whole")
    func parts() async throws {
        let (server, id, whole) = try await film()
        var joined: [UInt8] = []
        while joined.count < whole.count {
            let answer = try await server.call(
                .get, "blob/\(id)/", fields: ["Range": "bytes=\(joined.count)-\(joined.count + 4999)"])
            #expect(answer.status == 206)
            let last = min(joined.count + 4999, whole.count - 1)
            #expect(answer.fields["Content-Range"] == "bytes \(joined.count)-\(last)/\(whole.count)")
            joined += answer.bytes
        }
        #expect(joined == whole)
    }

    @Test("A range behind the end is 416 and says how long the file is")
    func beyond() async throws {
        let (server, id, whole) = try await film()
        let answer = try await server.call(.get, "blob/\(id)/", fields: ["Range": "bytes=\(whole.count)-"])
        #expect(answer.status == 416)
        #expect(answer.fields["Content-Range"] == "bytes */\(whole.count)")
    }

    @Test("A download goes on only where the file is still the same")
    func condition() async throws {
        let (server, id, whole) = try await film()
        let same = try await server.call(
            .get, "blob/\(id)/", fields: ["Range": "bytes=10-", "If-Range": "\"\(id)\""])
        #expect(same.status == 206)
        let other = try await server.call(.get, "blob/\(id)/", fields: ["Range": "bytes=10-", "If-Range": "\"other\""])
        #expect(other.status == .ok)
        #expect(other.bytes == whole)
    }

    @Test("Asked for as a download, a picture is one too")
    func download() async throws {
        let server = try await Harness()
        let thread = try await server.json("threads/\(try await server.find("harbour film bell"))/")
        let file = thread["messages"]?.array?.first?["attachments"]?.array?.first { $0["type"] == "image/png" }
        let id = try #require(file?["id"]?.string)
        let shown = try await server.call(.get, "blob/\(id)/")
        let saved = try await server.call(.get, "blob/\(id)/?download=1")
        #expect(shown.fields["Content-Disposition"]?.hasPrefix("inline") == true)
        #expect(saved.fields["Content-Disposition"]?.hasPrefix("attachment; filename=\"harbour at seven.png\"") == true)
    }
}
