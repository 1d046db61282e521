// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase

extension MailStore {
    /// A message with everything in it, for a file of its own; nil when the person has none of this id.
    func whole(_ id: String, of identity: Identity) async throws -> NewMessage? {
        let person = try await person(identity)
        return try await database.read { sql in
            let row = try sql.first(
                """
                SELECT m.row, m.sender, m.recipients, m.copies, m.sent_at, m.body_text, m.body_html, m.message_id,
                    t.subject FROM mail_message m JOIN mail_thread t ON t.row = m.thread
                WHERE m.id = $1 AND t.person = $2
                """, [.text(id), .integer(person)])
            guard let row else { return nil }
            var message = NewMessage(
                from: Self.address(try JSONParser.parse(row.text("sender"))),
                to: (try JSONParser.parse(row.text("recipients")).array ?? []).map(Self.address),
                cc: (try JSONParser.parse(row.text("copies")).array ?? []).map(Self.address),
                subject: try row.text("subject"), sentAt: try row.moment("sent_at"), text: row["body_text"].text,
                html: row["body_html"].text, messageID: row["message_id"].text ?? "\(id)@messages.invalid")
            message.files = try sql.query(
                "SELECT name, type, cid, content FROM mail_attachment WHERE message = $1 ORDER BY row",
                [.integer(try row.integer("row"))]
            ).map {
                SampleAttachment(
                    name: try $0.text("name"), type: try $0.text("type"), cid: $0["cid"].text,
                    bytes: try $0.blob("content"))
            }
            return message
        }
    }

    private static func address(_ value: JSONValue) -> Address {
        Address(name: value["name"]?.string ?? "", email: value["email"]?.string ?? "")
    }

    /// Remembers that the person wants to see the remote images of a message; false without such a message.
    func allowRemoteImages(_ id: String, of identity: Identity) async throws -> Bool {
        let person = try await person(identity)
        return try await database.write { sql in
            guard let message = try Self.message(id, person: person, sql) else { return false }
            try sql.execute("UPDATE mail_message SET remote_images = 1 WHERE row = $1", [.integer(message.row)])
            return true
        }
    }

    /// Whether the person has this message and wants to see its remote images.
    func showsRemoteImages(_ id: String, of identity: Identity) async throws -> Bool {
        let person = try await person(identity)
        return try await database.read { sql in
            let row = try sql.first(
                """
                SELECT m.remote_images FROM mail_message m JOIN mail_thread t ON t.row = m.thread
                WHERE m.id = $1 AND t.person = $2
                """, [.text(id), .integer(person)])
            return try row?.bool("remote_images") ?? false
        }
    }

    /// People the person has had mail with, most often first, whose name or address has a word that begins so.
    func contacts(_ words: String, of identity: Identity) async throws -> [JSONValue] {
        let person = try await person(identity)
        let pieces = SearchText.folded(words).split(whereSeparator: \.isWhitespace)
        guard !pieces.isEmpty else { return [] }
        let senders = try await database.read { sql in
            try sql.query(
                "SELECT senders FROM mail_thread WHERE person = $1 ORDER BY last_at DESC LIMIT 2000",
                [.integer(person)]
            ).map { try $0.text("senders") }
        }
        var counts: [String: (address: Address, count: Int)] = [:]
        for text in senders {
            for value in (try JSONParser.parse(text)).array ?? [] {
                let address = Self.address(value)
                let key = address.email.lowercased()
                guard key != identity.email.lowercased(), address.isPlausible else { continue }
                let folded = SearchText.folded("\(address.name) \(address.email)")
                let parts = folded.split { " .-_@".contains($0) }
                guard pieces.allSatisfy({ piece in folded.hasPrefix(piece) || parts.contains { $0.hasPrefix(piece) } })
                else { continue }
                counts[key] = (counts[key]?.address ?? address, (counts[key]?.count ?? 0) + 1)
            }
        }
        return counts.values.sorted { ($1.count, $0.address.email) < ($0.count, $1.address.email) }.prefix(8)
            .map(\.address.json)
    }
}
