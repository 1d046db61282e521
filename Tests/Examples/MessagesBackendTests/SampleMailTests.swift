// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import MessagesBackend
import NacreCore
import Testing

@Suite("The sample mails")
struct SampleMailTests {
    private func messages(_ threads: [JSONValue]) -> [JSONValue] { threads.flatMap { $0["messages"]?.array ?? [] } }

    @Test("There are 202 mails in 70 to 92 conversations, one of them 40 long")
    func amount() async throws {
        let threads = try await wholeMailbox.value
        #expect(messages(threads).count == 202)
        #expect((70...92).contains(threads.count))
        #expect(threads.contains { $0["messages"]?.array?.count == 40 })
    }

    @Test("The mailbox looks alive: some unread, some starred, the newest of this hour, every mailbox in use")
    func life() async throws {
        let server = try await Harness()
        for box in try await server.json("mailboxes/").array ?? [] where box["id"] != "drafts" {
            let total = try #require(box["total"]?.integer)
            let unread = try #require(box["unread"]?.integer)
            #expect(total >= 5, "\(box["id"]?.string ?? "")")
            #expect(unread < total)
        }
        let newest = try #require(try await server.threads("mailbox=inbox").first)
        #expect(newest["last_at"]?.string == "2026-01-05T07:32:00.000Z")
    }

    @Test(
        "Every kind of mail that a reader meets is there",
        arguments: [
            "no text part", "no body at all", "empty subject", "very long subject", "inline picture", "attached .ics",
            "attached .webm", "attached .wav",
            "attached .eml", "attached .pdf", "attached .txt", "right-to-left", "Japanese", "emoji", "quoted reply",
            "hostile HTML", "table HTML",
        ])
    func kinds(_ kind: String) async throws {
        let threads = try await wholeMailbox.value
        let all = messages(threads)
        let files = all.flatMap { $0["attachments"]?.array ?? [] }
        func attached(_ ending: String) -> Bool { files.contains { $0["name"]?.string?.hasSuffix(ending) == true } }
        func subject(_ matches: (String) -> Bool) -> Bool { threads.contains { matches($0["subject"]?.string ?? "-") } }
        func html(_ part: String) -> Bool { all.contains { $0["html"]?.string?.contains(part) == true } }
        let found =
            switch kind {
            case "no text part": all.contains { $0["text"]?.isNull == true && $0["html"]?.isNull == false }
            case "no body at all": all.contains { $0["text"]?.isNull == true && $0["html"]?.isNull == true }
            case "empty subject": subject(\.isEmpty)
            case "very long subject": subject { $0.count > 400 }
            case "inline picture": files.contains { $0["inline"]?.bool == true && $0["type"]?.string == "image/png" }
            case "right-to-left": subject { $0.unicodeScalars.contains { (0x590...0x6FF).contains($0.value) } }
            case "Japanese": subject { $0.unicodeScalars.contains { (0x3040...0x30FF).contains($0.value) } }
            case "emoji": subject { $0.contains("🐙") }
            case "quoted reply": html("<blockquote")
            case "hostile HTML": html("<script") && html("onerror=") && html("position:fixed") && html("<base ")
            case "table HTML": html("role=\"presentation\"")
            default: attached(String(kind.dropFirst("attached ".count)))
            }
        #expect(found)
    }

    @Test("Every cid that an HTML text shows is an inline attachment of its message")
    func inlinePictures() async throws {
        var seen = 0
        for message in messages(try await wholeMailbox.value) {
            let known = (message["attachments"]?.array ?? []).compactMap { $0["cid"]?.string }
            for part in (message["html"]?.string ?? "").split(separator: "\"cid:").dropFirst() {
                seen += 1
                #expect(known.contains(String(part.prefix { $0 != "\"" })))
            }
        }
        #expect(seen >= 5)
    }

    @Test("Hostile mails aim at the API's real origin")
    func hostileTarget() async throws {
        let server = try await Harness()
        let id = try await server.find("mailbox's own API")
        let html = try await server.json("threads/\(id)/")["messages"]?.array?.first?["html"]?.string ?? ""
        #expect(html.contains("<img src=\"https://mail.example.org/api/v1.0/users/me/\""))
        #expect(!html.contains("{{api}}"))
    }

    @Test("Only reserved domains appear, so that no test mail names a stranger")
    func domains() async throws {
        for message in messages(try await wholeMailbox.value) {
            for address in [message["from"]] + (message["to"]?.array ?? []).map(Optional.some) {
                let email = try #require(address?["email"]?.string)
                let isReserved = email.hasSuffix(".example.org") || email.hasSuffix(".test")
                #expect(isReserved, "\(email)")
            }
        }
    }

    @Test("A folder without mails stops the start with a sentence that names it")
    func missingFolder() async throws {
        let failure = await #expect(throws: NacreError.self) { try await Harness(samples: "/nonexistent/seed") }
        #expect(failure?.code == "messages.seed")
        #expect(failure?.message.contains("/nonexistent/seed") == true)
    }
}
