// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Testing

@Suite("Writing and sending")
struct DraftTests {
    private static let id = "0f9c2a51-7d1e-4a2b-9c3d-5e6f70819aab"
    private static let other = "11111111-2222-3333-4444-555555555555"

    private func draft(
        to: [String] = [], subject: String = "Tide tables", text: String = "They are wrong.",
        _ more: [String: JSONValue] = [:]
    ) -> JSONValue {
        var members: [String: JSONValue] = [
            "to": .array(to.map { ["name": "", "email": .string($0)] }), "cc": [], "bcc": [],
            "subject": .string(subject), "text": .string(text),
        ]
        for (key, value) in more { members[key] = value }
        return .object(members)
    }

    @Test("What is saved comes back, saving again makes no second draft, and the list shows it")
    func saved() async throws {
        let server = try await Harness()
        try await server.save(Self.id, draft(to: ["half-an-addr"], subject: "One"))
        let again = try await server.save(Self.id, draft(to: ["bo@mail.example.org"], subject: "Two"))
        #expect(again["subject"] == "Two")
        #expect(try await server.json("drafts/\(Self.id)/") == again)
        let rows = try await server.threads("mailbox=drafts")
        #expect(rows.count == 1)
        #expect(rows.first?["senders"] == [["name": "", "email": "bo@mail.example.org"]])
        #expect(try await server.threads("mailbox=drafts&q=wrong%20two").count == 1)
        #expect(try await server.threads("mailbox=drafts&q=right").isEmpty)
        let box = try await server.json("mailboxes/").array?.first { $0["id"] == "drafts" }
        #expect(box?["total"] == 1)
    }

    @Test("A discarded draft is gone, with its files")
    func discarded() async throws {
        let server = try await Harness()
        try await server.save(Self.id, draft())
        let file = try await server.attach("a.txt", [1, 2], to: Self.id).json
        #expect(try await server.call(.delete, "drafts/\(Self.id)/").status == .ok)
        #expect(try await server.call(.delete, "drafts/\(Self.id)/").status == .notFound)
        #expect(try await server.get("drafts/\(Self.id)/").response.status == .notFound)
        #expect(try await server.get("blob/\(try #require(file["id"]?.string))/").response.status == .notFound)
    }

    @Test("Nobody sees, changes, sends or fills another's draft")
    func isolation() async throws {
        let server = try await Harness()
        try await server.save(Self.id, draft(to: ["bo@mail.example.org"]))
        let file = try await server.attach("a.txt", [1], to: Self.id).json["id"]?.string ?? ""
        _ = try await server.json("mailboxes/", as: "bo")
        for (method, path) in [
            (HTTPMethod.get, "drafts/\(Self.id)/"), (.delete, "drafts/\(Self.id)/"),
            (.post, "drafts/\(Self.id)/send/"), (.get, "blob/\(file)/"),
            (.delete, "drafts/\(Self.id)/attachments/\(file)/"),
        ] {
            #expect(try await server.call(method, path, as: "bo").status == .notFound, "\(method.rawValue) \(path)")
        }
        #expect(try await server.attach("b.txt", [1], to: Self.id, as: "bo").status == .notFound)
        // The same identifier with another person is another draft.
        try await server.save(Self.id, draft(subject: "Bo's"), as: "bo")
        #expect(try await server.json("drafts/\(Self.id)/")["subject"] == "Tide tables")
    }

    @Test("A sent message is in Sent, reaches who has a mailbox here, and says who was not reached")
    func sent() async throws {
        let server = try await Harness()
        _ = try await server.json("mailboxes/", as: "bo")
        try await server.save(
            Self.id,
            draft(
                to: ["BO@mail.example.org", "far@elsewhere.example"],
                ["bcc": [["name": "", "email": "cy@mail.example.org"]]]))
        _ = try await server.json("mailboxes/", as: "cy")
        try await server.attach("../../tide \u{202E}table.txt", Array("high".utf8), to: Self.id)
        let (status, answer, _, _) = try await server.call(.post, "drafts/\(Self.id)/send/")
        #expect(status == .ok)
        #expect(answer["undelivered"] == ["far@elsewhere.example"])
        let mine = try await server.json("threads/\(try #require(answer["thread"]?.string))/")
        #expect(mine["mailbox"] == "sent")
        #expect(try await server.threads("mailbox=sent").first?["subject"] == "Tide tables")
        #expect(try await server.threads("mailbox=drafts").isEmpty)
        for person in ["bo", "cy"] {
            let id = try await server.find("Tide tables wrong", as: person)
            let message = try await server.json("threads/\(id)/", as: person)["messages"]?.array?.first
            #expect(message?["from"] == ["name": "Ada", "email": "ada@mail.example.org"])
            // Nobody learns of a blind copy.
            #expect(message?["cc"] == [])
            #expect(message?["to"]?.array?.count == 2)
            let file = message?["attachments"]?.array?.first
            #expect(file?["name"] == "tide table.txt")
            let (_, bytes) = try await server.get("blob/\(file?["id"]?.string ?? "")/", as: person)
            #expect(bytes == Array("high".utf8))
        }
    }

    @Test("Sending again after a lost answer says the same and sends nothing more; the draft cannot come back")
    func once() async throws {
        let server = try await Harness()
        _ = try await server.json("mailboxes/", as: "bo")
        try await server.save(Self.id, draft(to: ["bo@mail.example.org"]))
        let first = try await server.call(.post, "drafts/\(Self.id)/send/").json
        let second = try await server.call(.post, "drafts/\(Self.id)/send/").json
        #expect(second["thread"] == first["thread"])
        #expect(second["again"] == true)
        #expect(try await server.threads("mailbox=inbox&q=tide%20wrong", as: "bo").count == 1)
        #expect(try await server.threads("mailbox=sent&q=tide%20wrong").count == 1)
        let late = try await server.call(
            .put, "drafts/\(Self.id)/", draft(text: "late").bytes, fields: ["Content-Type": "application/json"])
        #expect(late.status == .notFound)
    }

    @Test("What somebody sends to themselves is in the inbox, once, and under Sent")
    func toSelf() async throws {
        let server = try await Harness()
        try await server.save(Self.id, draft(to: ["ADA@mail.example.org"]))
        let answer = try await server.call(.post, "drafts/\(Self.id)/send/").json
        #expect(answer["undelivered"] == [])
        for mailbox in ["inbox", "sent"] {
            let rows = try await server.threads("mailbox=\(mailbox)&q=tide%20wrong")
            #expect(rows.map { $0["id"] } == [answer["thread"]])
            #expect(rows.first?["count"] == 1)
            #expect(rows.first?["unread"] == true)
        }
    }

    @Test("Twenty requests to send at once send one message")
    func race() async throws {
        let server = try await Harness()
        _ = try await server.json("mailboxes/", as: "bo")
        try await server.save(Self.id, draft(to: ["bo@mail.example.org"]))
        try await withThrowingTaskGroup(of: HTTPStatus.self) { group in
            for _ in 0..<20 {
                group.addTask { try await server.call(.post, "drafts/\(Self.id)/send/").status }
            }
            for try await status in group { #expect(status == .ok) }
        }
        #expect(try await server.threads("mailbox=inbox&q=tide%20wrong", as: "bo").count == 1)
    }

    @Test("An answer joins the conversation, on both sides; it comes back to the inbox")
    func answer() async throws {
        let server = try await Harness()
        _ = try await server.json("mailboxes/", as: "bo")
        try await server.save(Self.id, draft(to: ["bo@mail.example.org"]))
        let thread = try await server.call(.post, "drafts/\(Self.id)/send/").json["thread"]?.string ?? ""
        let theirs = try await server.find("Tide tables wrong", as: "bo")
        let message = try await server.json("threads/\(theirs)/", as: "bo")["messages"]?.array?.first
        try await server.save(
            Self.other,
            draft(
                to: ["ada@mail.example.org"], subject: "Re: Tide tables", text: "So they are.",
                ["in_reply_to": message?["id"] ?? .null]), as: "bo")
        _ = try await server.call(.post, "drafts/\(Self.other)/send/", as: "bo")
        let mine = try await server.json("threads/\(thread)/")
        #expect(mine["messages"]?.array?.compactMap { $0["text"]?.string } == ["They are wrong.", "So they are."])
        #expect(mine["mailbox"] == "inbox")
        #expect(mine["unread"] == true)
        let row = try await server.threads("mailbox=inbox&q=tide%20wrong").first
        #expect(row?["snippet"] == "So they are.")
        #expect(row?["count"] == 2)
        #expect(try await server.json("threads/\(theirs)/", as: "bo")["messages"]?.array?.count == 2)
    }

    @Test("Passing a message on takes its attachments along, once")
    func forward() async throws {
        let server = try await Harness()
        let thread = try await server.json("threads/\(try await server.find("harbour film bell"))/")
        let message = try #require(thread["messages"]?.array?.first)
        let body = draft(["forward_of": message["id"] ?? .null])
        let saved = try await server.save(Self.id, body)
        let again = try await server.save(Self.id, body)
        let names = message["attachments"]?.array?.compactMap { $0["name"]?.string }
        #expect(saved["attachments"]?.array?.compactMap { $0["name"]?.string } == names)
        #expect(again["attachments"] == saved["attachments"])
        // Of somebody else's message nothing comes along.
        let stolen = try await server.save(Self.other, body, as: "bo")
        #expect(stolen["attachments"] == [])
    }

    @Test(
        "What cannot be sent is 400 and says why",
        arguments: [
            ([], "no_recipient"), (["ada"], "bad_recipient"), (["a@b"], "bad_recipient"),
            (["bo@mail.example.org", "x y@z.org"], "bad_recipient"), (["a@b@c.org"], "bad_recipient"),
            (["a@.org"], "bad_recipient"), (["a@x..org"], "bad_recipient"), (["a,b@x.org"], "bad_recipient"),
        ])
    func unsendable(to: [String], code: String) async throws {
        let server = try await Harness()
        try await server.save(Self.id, draft(to: to))
        let (status, json, _, _) = try await server.call(.post, "drafts/\(Self.id)/send/")
        #expect(status == .badRequest)
        #expect(json["code"]?.string == code)
        #expect(try await server.threads("mailbox=drafts").count == 1)
    }

    @Test(
        "A draft that is none is refused by name",
        arguments: [
            (#"{"to":"ada"}"#, "bad_value"), (#"{"to":[{"name":"Ada"}]}"#, "bad_value"),
            (#"{"body":"x"}"#, "unknown_key"),
            (#"{"subject":7}"#, "bad_value"), ("[]", "bad_json"), ("{", "bad_json"),
        ])
    func malformed(body: String, code: String) async throws {
        let answer = try await Harness().call(
            .put, "drafts/\(Self.id)/", Array(body.utf8), fields: ["Content-Type": "application/json"])
        #expect(answer.status == .badRequest)
        #expect(answer.json["code"]?.string == code)
    }

    @Test(
        "An identifier that could be anything is refused",
        arguments: ["short", "a%2Fb-aaaaaaaaaaaaaaaa", "ééééééééééééééééé"])
    func identifiers(id: String) async throws {
        let path = "drafts/\(id.contains("%") ? id : PercentEncoding.encode(id))/"
        let answer = try await Harness().call(
            .put, path, draft().bytes, fields: ["Content-Type": "application/json"])
        #expect(answer.status == .badRequest)
        #expect(answer.json["code"] == "bad_id")
    }

    @Test("A line break in a subject or a name is a space")
    func subjectLine() async throws {
        let saved = try await Harness().save(
            Self.id,
            draft(
                subject: "One\r\nBcc: all@x.org", ["cc": [["name": "A\nB", "email": "a@x.org\r\n"]]]))
        #expect(saved["subject"] == "One  Bcc: all@x.org")
        #expect(saved["cc"] == [["name": "A B", "email": "a@x.org"]])
    }

    @Test("More than 500 drafts are refused, and said")
    func tooMany() async throws {
        let server = try await Harness()
        for number in 0..<500 { try await server.save("draft-number-\(1000 + number)", draft()) }
        let answer = try await server.call(
            .put, "drafts/\(Self.id)/", draft().bytes, fields: ["Content-Type": "application/json"])
        #expect(answer.json["code"] == "too_many_drafts")
    }
}
