// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Testing

@Suite("One conversation")
struct ThreadTests {
    @Test("It has its messages, oldest first, with people, moments and texts")
    func whole() async throws {
        let server = try await Harness()
        let thread = try await server.json("threads/\(try await server.find("Sunday lunch"))/")
        #expect(thread["mailbox"] == "inbox")
        #expect(thread["starred"] == false)
        let messages = try #require(thread["messages"]?.array)
        #expect(messages.count == 4)
        #expect(messages[1]["from"] == ["name": "Ada", "email": "ada@mail.example.org"])
        #expect(messages[1]["to"] == [["name": "Anna Whitlock", "email": "anna@whitlock.example.org"]])
        #expect(messages[1]["cc"] == [])
        #expect(messages[0]["sent_at"] == "2026-01-03T03:12:00.000Z")
        #expect(messages[0]["html"] == nil as JSONValue)
        #expect(messages[0]["attachments"] == [])
        let moments = messages.compactMap { $0["sent_at"]?.string }
        #expect(moments == moments.sorted())
    }

    @Test(
        "Flags change what is named, stay changed, and the answer is the new row",
        arguments: [
            (#"{"unread":false}"#, "unread", JSONValue.bool(false)),
            (#"{"starred":true}"#, "starred", .bool(true)),
            (#"{"mailbox":"archive"}"#, "mailbox", .string("archive")),
        ])
    func flags(body: String, key: String, value: JSONValue) async throws {
        let server = try await Harness()
        let id = try await server.find("Sunday lunch")
        let before = try await server.json("threads/\(id)/")
        let (status, row) = try await server.post("threads/\(id)/flags/", body)
        #expect(status == .ok)
        #expect(row[key] == value)
        let after = try await server.json("threads/\(id)/")
        for name in ["unread", "starred", "mailbox"] {
            #expect(after[name] == (name == key ? value : before[name]))
        }
        #expect(after["messages"] == before["messages"])
    }

    @Test("Counts follow the flags")
    func counts() async throws {
        let server = try await Harness()
        func inbox() async throws -> (unread: Int64, total: Int64) {
            let box = try await server.json("mailboxes/").array?.first { $0["id"] == "inbox" }
            return (box?["unread"]?.integer ?? -1, box?["total"]?.integer ?? -1)
        }
        let before = try await inbox()
        let id = try await server.find("Sunday lunch")
        _ = try await server.post("threads/\(id)/flags/", #"{"unread":false}"#)
        #expect(try await inbox() == (before.unread - 1, before.total))
        _ = try await server.post("threads/\(id)/flags/", #"{"mailbox":"trash","unread":true}"#)
        #expect(try await inbox() == (before.unread - 1, before.total - 1))
    }

    @Test(
        "A change that makes no sense is refused and changes nothing",
        arguments: [
            ("{}", "nothing_to_change"), ("[]", "bad_json"), ("", "bad_json"), (#"{"unread":1}"#, "bad_value"),
            (#"{"unread":"yes"}"#, "bad_value"), (#"{"starred":null}"#, "bad_value"),
            (#"{"stared":true}"#, "unknown_key"),
            (#"{"mailbox":"starred"}"#, "bad_mailbox"), (#"{"mailbox":3}"#, "bad_mailbox"),
            (#"{"unread":false,"unread":true}"#, "bad_json"), (#"{"unread":false,"evil":1}"#, "unknown_key"),
            (#"{"unread":false"#, "bad_json"),
        ])
    func wrongChanges(body: String, code: String) async throws {
        let server = try await Harness()
        let id = try await server.find("Sunday lunch")
        let before = try await server.json("threads/\(id)/")
        let (status, answer) = try await server.post("threads/\(id)/flags/", body)
        #expect(status == .badRequest)
        #expect(answer["code"]?.string == code)
        #expect(answer["message"]?.string?.isEmpty == false)
        #expect(try await server.json("threads/\(id)/") == before)
    }

    @Test(
        "A form of a hostile mail changes nothing", arguments: ["text/plain", "application/x-www-form-urlencoded", ""])
    func foreignForm(type: String) async throws {
        let server = try await Harness()
        let id = try await server.find("Sunday lunch")
        let (status, _) = try await server.post("threads/\(id)/flags/", #"{"mailbox":"trash"}"#, type: type)
        #expect(status == 415)
        #expect(try await server.json("threads/\(id)/")["mailbox"] == "inbox")
    }

    @Test("A body beyond 16 KB is 413")
    func largeBody() async throws {
        let server = try await Harness()
        let id = try await server.find("Sunday lunch")
        let body = #"{"unread":false}"# + String(repeating: " ", count: 16 * 1024)
        let (status, answer) = try await server.post("threads/\(id)/flags/", body)
        #expect(status == .contentTooLarge)
        #expect(answer["code"] == "too_large")
    }

    @Test(
        "What is not there is 404 with a code and a sentence",
        arguments: ["threads/nothing/", "threads/%27%20OR%201=1/", "blob/nothing/", "nowhere/", "threads/x/flags"])
    func missing(path: String) async throws {
        let (response, bytes) = try await Harness().get(path)
        #expect(response.status == .notFound)
        let answer = try JSONParser.parse(bytes)
        #expect(answer["code"] == "not_found")
        #expect(answer["message"]?.string?.isEmpty == false)
    }

    @Test("A change of a conversation that is not there is 404")
    func missingChange() async throws {
        let (status, answer) = try await Harness().post("threads/nothing/flags/", #"{"unread":true}"#)
        #expect(status == .notFound)
        #expect(answer["code"] == "not_found")
    }

    @Test("Another method is 405 with the allowed ones")
    func method() async throws {
        let server = try await Harness()
        for (method, path, allowed) in [("DELETE", "threads/", "GET"), ("GET", "threads/x/flags/", "POST")] {
            let (response, _) = try await server.send(
                HTTPRequest(
                    method: HTTPMethod(rawValue: method), authority: "upstream", target: "/api/v1.0/" + path,
                    fields: ["X-Nacre-Identity": "ada"]))
            #expect(response.status == .methodNotAllowed)
            #expect(response.fields["Allow"] == allowed)
        }
    }
}
