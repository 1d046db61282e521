// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Testing

@Suite("Lists of conversations")
struct ListTests {
    @Test("A row has what a list shows")
    func row() async throws {
        let server = try await Harness()
        let id = try await server.find("Sunday lunch")
        let row = try #require(try await server.threads("mailbox=inbox").first { $0["id"]?.string == id })
        #expect(row["subject"] == "Sunday lunch?")
        #expect(row["snippet"] == "Small change of plan: the smoker is now a grill. Do not ask in front of Ben.")
        #expect(row["count"] == 4)
        #expect(row["unread"] == true)
        #expect(row["starred"] == false)
        #expect(row["has_attachments"] == false)
        #expect(row["last_at"] == "2026-01-05T06:37:00.000Z")
        #expect(
            row["senders"] == [
                ["name": "Anna Whitlock", "email": "anna@whitlock.example.org"],
                ["name": "Ada", "email": "ada@mail.example.org"],
            ])
    }

    @Test("Pages of any size, joined, are the whole list in its order", arguments: [1, 7, 50, 200])
    func pages(limit: Int) async throws {
        let server = try await Harness()
        let whole = try await server.threads("mailbox=inbox").compactMap { $0["id"]?.string }
        var joined: [String] = []
        var cursor: String? = ""
        while let text = cursor {
            let page = try await server.json("threads/?mailbox=inbox&limit=\(limit)&cursor=\(text)")
            #expect(page["total"]?.integer == Int64(whole.count))
            #expect((page["results"]?.array?.count ?? 0) <= limit)
            joined += (page["results"]?.array ?? []).compactMap { $0["id"]?.string }
            cursor = page["next"]?.string
        }
        #expect(joined == whole)
    }

    @Test("A conversation that leaves the list while somebody scrolls neither repeats nor skips another")
    func keyset() async throws {
        let server = try await Harness()
        let whole = try await server.threads("mailbox=inbox").compactMap { $0["id"]?.string }
        let first = try await server.json("threads/?mailbox=inbox&limit=10")
        _ = try await server.post("threads/\(whole[3])/flags/", #"{"mailbox":"archive"}"#)
        let cursor = try #require(first["next"]?.string)
        let second = try await server.json("threads/?mailbox=inbox&limit=10&cursor=\(cursor)")
        #expect((second["results"]?.array ?? []).compactMap { $0["id"]?.string } == Array(whole[10..<20]))
    }

    @Test("Starred shows every mailbox but the trash")
    func starred() async throws {
        let server = try await Harness()
        let rows = try await server.threads("mailbox=starred")
        #expect(Set(rows.compactMap { $0["mailbox"]?.string }) == ["inbox", "archive"])
        #expect(rows.allSatisfy { $0["starred"] == true })
        let id = try #require(rows.first?["id"]?.string)
        _ = try await server.post("threads/\(id)/flags/", #"{"mailbox":"trash"}"#)
        #expect(try await server.threads("mailbox=starred").count == rows.count - 1)
    }

    @Test(
        "A search finds words anywhere, without case and accents",
        arguments: [
            ("fete tilleuls", "inbox", "Fête de la rue des Tilleuls : qui apporte quoi ?"),
            ("ÉCHARPE verte", "inbox", "Perdu : écharpe verte"),
            ("radis friteuse", "inbox", "Fête de la rue des Tilleuls : qui apporte quoi ?"),
            ("灯塔", "inbox", "关于下周的读书会"),
            ("المشروع", "inbox", "Meeting in חיפה about المشروع, room 3 (B)"),
            ("wielen bike", "inbox", "Your bike"),
            ("reclamation.eml", "inbox", "Fwd: Réclamation reçue ce matin"),
            ("carillon by ear", "archive", "Read later: 7 long articles for the weekend"),
        ])
    func search(words: String, mailbox: String, subject: String) async throws {
        let rows = try await Harness().threads("mailbox=\(mailbox)&q=\(PercentEncoding.encode(words))")
        #expect(rows.compactMap { $0["subject"]?.string } == [subject])
    }

    @Test("Wildcards of SQL are letters in a search", arguments: ["%", "_%_", "100%25 sure", "\\", "' OR 1=1 --"])
    func wildcards(words: String) async throws {
        let server = try await Harness()
        let all = try await server.threads("mailbox=inbox").count
        let found = try await server.threads("mailbox=inbox&q=\(PercentEncoding.encode(words))").count
        #expect(found < all / 3)
    }

    @Test(
        "A wrong parameter is 400 and named",
        arguments: [
            ("mailbox=spam", "bad_mailbox"), ("limit=0", "bad_limit"), ("limit=201", "bad_limit"),
            ("limit=ten", "bad_limit"), ("limit=-1", "bad_limit"), ("cursor=nonsense", "bad_cursor"),
            ("cursor=MTIz", "bad_cursor"), ("cursor=%00", "bad_cursor"), ("q=%ff", "bad_query"),
            ("mailbox=%zz", "bad_query"),
        ])
    func wrongParameters(query: String, code: String) async throws {
        let (response, bytes) = try await Harness().get("threads/?" + query)
        #expect(response.status == .badRequest)
        #expect(try JSONParser.parse(bytes)["code"]?.string == code)
    }

    @Test("A search of 201 bytes is 400, one of 200 is an answer")
    func longSearch() async throws {
        let server = try await Harness()
        #expect(try await server.get("threads/?q=" + String(repeating: "a", count: 200)).response.status == .ok)
        #expect(try await server.get("threads/?q=" + String(repeating: "a", count: 201)).response.status == .badRequest)
    }

    @Test("LK-4: a mailbox of 10,000 conversations more is paged to its end")
    func long() async throws {
        let server = try await Harness(generated: 10_000)
        var seen: Set<String> = []
        var cursor: String? = ""
        var total: Int64 = 0
        while let text = cursor {
            let page = try await server.json("threads/?mailbox=inbox&limit=200&cursor=\(text)")
            total = page["total"]?.integer ?? 0
            seen.formUnion((page["results"]?.array ?? []).compactMap { $0["id"]?.string })
            cursor = page["next"]?.string
        }
        #expect(total > 10_000)
        #expect(seen.count == Int(total))
    }
}
