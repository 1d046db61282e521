// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Testing

@Suite("Bringing archives in")
struct ImportTests {
    private func source(_ lines: String...) -> [UInt8] { Array((lines.joined(separator: "\r\n") + "\r\n").utf8) }

    private func bring(
        _ bytes: [UInt8], _ server: Harness, query: String = "mailbox=archive", type: String = "message/rfc822",
        as person: String = "ada"
    ) async throws -> (status: HTTPStatus, json: JSONValue) {
        let answer = try await server.call(
            .post, "imports/?\(query)", bytes, fields: ["Content-Type": type], as: person)
        return (answer.status, answer.json)
    }

    @Test("A message comes in with its people, date, text and files, read, into the archive")
    func one() async throws {
        let server = try await Harness()
        let (status, answer) = try await bring(
            source(
                "From: =?UTF-8?Q?L=C3=A9a?= <lea@old.example.org>", "To: Ada <ada@mail.example.org>",
                "Date: Tue, 3 Mar 2015 09:00:00 +0100", "Subject: =?UTF-8?B?w4l0w6k=?= zeppelin",
                "Message-ID: <z1@old.example.org>", "MIME-Version: 1.0",
                "Content-Type: multipart/mixed; boundary=\"b\"", "", "--b",
                "Content-Type: text/plain; charset=iso-8859-1",
                "Content-Transfer-Encoding: quoted-printable", "", "Le ballon est arriv=E9.", "--b",
                "Content-Type: application/pdf; name=\"plan.pdf\"", "Content-Disposition: attachment",
                "Content-Transfer-Encoding: base64", "", "JVBERg==", "--b--"), server)
        #expect(status == .created)
        #expect(answer["status"] == "imported")
        let thread = try await server.json("threads/\(try #require(answer["thread"]?.string))/")
        #expect(thread["subject"] == "Été zeppelin")
        #expect(thread["mailbox"] == "archive")
        #expect(thread["unread"] == false)
        let message = thread["messages"]?.array?.first
        #expect(message?["from"] == ["name": "Léa", "email": "lea@old.example.org"])
        #expect(message?["sent_at"] == "2015-03-03T08:00:00.000Z")
        #expect(message?["text"] == "Le ballon est arrivé.")
        #expect(message?["attachments"]?.array?.first?["name"] == "plan.pdf")
        #expect(try await server.find("ete zeppelin arrive plan.pdf", in: "archive") == thread["id"]?.string)
    }

    @Test("Done twice, nothing comes twice; with or without a Message-ID")
    func twice() async throws {
        let server = try await Harness()
        for message in [source("From: a@x.org", "Subject: zeppelin", "", "hi"), source("Message-ID: <1@x>", "", "hi")] {
            let first = try await bring(message, server).json
            let second = try await bring(message, server).json
            #expect(first["status"] == "imported")
            #expect(second["status"] == "duplicate")
            #expect(second["thread"] == first["thread"])
            // What Ada has, Bo has not.
            #expect(try await bring(message, server, as: "bo").json["status"] == "imported")
        }
    }

    @Test("Answers join what they answer, in whatever order")
    func threads() async throws {
        let server = try await Harness()
        let first = try await bring(
            source("From: a@x.org", "Date: Tue, 3 Mar 2015 09:00:00 +0000", "Message-ID: <1@x>", "", "one"), server)
        let second = try await bring(
            source(
                "From: ada@mail.example.org", "Date: Tue, 3 Mar 2015 10:00:00 +0000", "Message-ID: <2@x>",
                "References: <0@x> <1@x>", "", "two"), server)
        #expect(second.json["thread"] == first.json["thread"])
        let thread = try await server.json("threads/\(first.json["thread"]?.string ?? "")/")
        #expect(thread["messages"]?.array?.compactMap { $0["text"]?.string } == ["one\n", "two\n"])
        // One's own answer puts it under Sent as well.
        #expect(try await server.threads("mailbox=sent").contains { $0["id"] == first.json["thread"] })
    }

    @Test(
        "What is no message is 400 with a word for the report",
        arguments: ["", "\r\n\r\n", "just text", "\u{0}\u{1}\u{2}", "PK\u{3}\u{4}", "<html><body>: no</body></html>"])
    func nonsense(text: String) async throws {
        let (status, json) = try await bring(Array(text.utf8), Harness())
        #expect(status == .badRequest)
        #expect(json["code"] == "no_message")
    }

    @Test("A bomb of parts, nested or side by side, is refused")
    func bombs() async throws {
        let server = try await Harness()
        var nested = "From: a@x.org\r\n"
        for depth in 0..<40 { nested += "Content-Type: multipart/mixed; boundary=b\(depth)\r\n\r\n--b\(depth)\r\n" }
        #expect(try await bring(Array(nested.utf8), server).json["code"] == "too_many_parts")
        let wide =
            "From: a@x.org\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
            + String(repeating: "--b\r\n\r\nx\r\n", count: 5000)
        #expect(try await bring(Array(wide.utf8), server).json["code"] == "too_many_parts")
    }

    @Test("Only message/rfc822 is taken, which no form can send; only into the archive or the inbox")
    func form() async throws {
        let server = try await Harness()
        let message = source("From: a@x.org", "", "hi")
        #expect(try await bring(message, server, type: "text/plain").status == 415)
        #expect(try await bring(message, server, query: "mailbox=trash").json["code"] == "bad_mailbox")
        let (_, inbox) = try await bring(message, server, query: "mailbox=inbox")
        #expect(try await server.json("threads/\(inbox["thread"]?.string ?? "")/")["mailbox"] == "inbox")
    }

    @Test("A message saved as a file and brought in by somebody else is the same message")
    func roundTrip() async throws {
        let server = try await Harness()
        for words in ["Photos lighthouse", "harbour film bell", "المشروع", "names nobody"] {
            let thread = try await server.json("threads/\(try await server.find(words))/")
            let message = try #require(thread["messages"]?.array?.last)
            let saved = try await server.call(.get, "messages/\(message["id"]?.string ?? "")/source/")
            #expect(saved.status == .ok)
            #expect(saved.fields["Content-Disposition"]?.hasPrefix("attachment;") == true)
            let lines = String(decoding: saved.bytes, as: UTF8.self).split(separator: "\r\n")
            #expect(lines.allSatisfy { $0.utf8.count <= 998 && $0.utf8.allSatisfy { $0 < 0x7F } })
            let (status, answer) = try await bring(saved.bytes, server, as: "cy")
            #expect(status == .created, "\(answer)")
            let back = try await server.json("threads/\(answer["thread"]?.string ?? "")/", as: "cy")
            let copy = try #require(back["messages"]?.array?.last)
            #expect(back["subject"] == thread["subject"])
            for part in ["from", "to", "cc", "text", "html"] {
                #expect(copy[part] == message[part], "\(words) \(part)")
            }
            let facts = { (one: JSONValue) in
                Set(
                    (one["attachments"]?.array ?? []).map {
                        "\($0["name"]!) \($0["type"]!) \($0["size"]!) \($0["cid"]!)"
                    })
            }
            #expect(facts(copy) == facts(message), "\(words)")
        }
    }

    @Test("The file of another's message is not there")
    func isolation() async throws {
        let server = try await Harness()
        let thread = try await server.json("threads/\(try await server.find("Photos lighthouse"))/")
        let id = thread["messages"]?.array?.first?["id"]?.string ?? ""
        #expect(try await server.get("messages/\(id)/source/", as: "bo").response.status == .notFound)
    }

    @Test("A message that is an attachment can be read")
    func attached() async throws {
        let server = try await Harness()
        let thread = try await server.json("threads/\(try await server.find("harbour film bell"))/")
        let file = thread["messages"]?.array?.first?["attachments"]?.array?.first { $0["type"] == "message/rfc822" }
        let mail = try await server.json("blob/\(file?["id"]?.string ?? "")/message/")
        #expect(mail["subject"] == "The bell – too high?")
        #expect(mail["from"] == ["name": "Ida Holm", "email": "ida@harbour.example.org"])
        #expect(mail["text"]?.string?.contains("foundry") == true)
    }

    @Test("Known people are found by the beginning of a word of name or address")
    func contacts() async throws {
        let server = try await Harness()
        func found(_ words: String) async throws -> [String] {
            let answer = try await server.json("contacts/?q=\(PercentEncoding.encode(words))")
            return answer["results"]?.array?.compactMap { $0["email"]?.string } ?? []
        }
        #expect(try await found("nils") == ["nils@harbour.example.org"])
        #expect(try await found("AAK nil") == ["nils@harbour.example.org"])
        #expect(try await found("harbour aak") == ["nils@harbour.example.org"])
        #expect(try await found("ils").isEmpty)
        #expect(try await found("").isEmpty)
        #expect(!(try await found("ada")).contains("ada@mail.example.org"))
    }
}
