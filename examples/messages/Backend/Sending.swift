// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase

/// What came of sending a draft.
struct SendResult {
    let thread: String
    /// Addresses nobody on this server has.
    let elsewhere: [String]
    /// Whether it had been sent before, by a request whose answer was lost.
    let again: Bool

    var json: JSONValue {
        [
            "thread": .string(thread), "undelivered": .array(elsewhere.map(JSONValue.string)), "again": .bool(again),
        ]
    }
}

extension MailStore {
    /// Sends a draft: a copy for the sender, and one for everybody it goes to who has a mailbox here.
    ///
    /// Repeated after a lost answer it answers the same and sends nothing more. People are found among those of the
    /// sender's own identity provider: another provider could claim any address.
    ///
    /// - Throws: 404 without such a draft, 400 when it goes to nobody or to what is no address.
    func send(_ id: String, of identity: Identity) async throws -> SendResult {
        let person = try await person(identity)
        let now = time.now
        return try await database.write { [writer] sql in
            let row = try sql.first(
                """
                SELECT row, recipients, copies, blind, subject, body, answers, sent_thread FROM mail_draft
                WHERE \(Self.own)
                """, [.text(id), .integer(person)])
            guard let row else { throw APIFailure.noDraft }
            if let thread = row["sent_thread"].text {  // guard: sent-once
                return SendResult(thread: thread, elsewhere: [], again: true)
            }
            let draft = try row.integer("row")
            let message = NewMessage(
                from: Address(name: identity.name, email: identity.email),
                to: try Self.addresses(row, "recipients"), cc: try Self.addresses(row, "copies"),
                subject: try row.text("subject"), sentAt: now, text: try row.text("body"), html: nil,
                messageID: "\(writer.random.token(bits: 96))@messages.invalid",
                draftFiles: try sql.query(
                    "SELECT row FROM mail_draft_file WHERE draft = $1 ORDER BY position, row", [.integer(draft)]
                ).map { try $0.integer("row") })
            let everybody = message.to + message.cc + (try Self.addresses(row, "blind"))
            try Self.check(everybody)
            let delivery = Delivery(sql: sql, random: writer.random)
            let answered = try row["answers"].text.flatMap { try Self.message($0, person: person, sql) }
            let toSelf = everybody.contains { $0.email.lowercased() == identity.email.lowercased() }
            let thread = try delivery.put(
                message, for: person, into: answered?.thread,
                .init(mailbox: toSelf ? .inbox : .sent, unread: toSelf, sent: true))
            var elsewhere: [String] = []
            var reached: Set<Int64> = [person]
            for address in everybody {
                let people = try sql.query(
                    "SELECT row FROM mail_person WHERE issuer = $1 AND lower(email) = lower($2)",
                    [.text(identity.issuer), .text(address.email)]
                ).map { try $0.integer("row") }
                if people.isEmpty { elsewhere.append(address.email) }
                for other in people where reached.insert(other).inserted {
                    let theirs = try answered?.messageID.flatMap { try Self.thread(with: $0, person: other, sql) }
                    _ = try delivery.put(
                        message, for: other, into: theirs, .init(mailbox: .inbox, unread: true, sent: false))
                }
            }
            try sql.execute("DELETE FROM mail_draft_file WHERE draft = $1", [.integer(draft)])
            // What remains only answers a repeated request.
            try sql.execute(
                """
                UPDATE mail_draft SET sent_thread = $2, recipients = '[]', copies = '[]', blind = '[]', subject = '',
                    body = '', search = '' WHERE row = $1
                """, [.integer(draft), .text(thread)])
            return SendResult(thread: thread, elsewhere: elsewhere, again: false)
        }
    }

    private static func addresses(_ row: SQLRow, _ column: String) throws -> [Address] {
        (try JSONParser.parse(row.text(column)).array ?? []).map {
            Address(name: $0["name"]?.string ?? "", email: $0["email"]?.string ?? "")
        }
    }

    private static func check(_ people: [Address]) throws(APIFailure) {
        guard !people.isEmpty else {
            throw .badRequest("no_recipient", "Say whom the message goes to, then send it.")
        }
        for person in people where !person.isPlausible {  // guard: recipient
            throw .badRequest("bad_recipient", "\"\(person.email.prefix(80))\" is no address such as ann@example.org.")
        }
    }

    /// Conversation and Message-ID of one of the person's messages.
    static func message(
        _ id: String, person: Int64, _ sql: any SQLConnection
    ) throws(NacreError) -> (row: Int64, thread: Int64, messageID: String?)? {
        let row = try sql.first(
            """
            SELECT m.row, m.thread, m.message_id FROM mail_message m JOIN mail_thread t ON t.row = m.thread
            WHERE m.id = $1 AND t.person = $2
            """, [.text(id), .integer(person)])
        return try row.map { row throws(NacreError) in
            (try row.integer("row"), try row.integer("thread"), row["message_id"].text)
        }
    }

    /// The person's conversation that has a message of this Message-ID.
    static func thread(
        with messageID: String, person: Int64, _ sql: any SQLConnection
    ) throws(NacreError) -> Int64? {
        try sql.first(
            """
            SELECT m.thread FROM mail_message m JOIN mail_thread t ON t.row = m.thread
            WHERE m.message_id = $1 AND t.person = $2
            """, [.text(messageID), .integer(person)])?.integer("thread")
    }
}

extension Address {
    /// Whether it has the form of an address somebody could have; whether somebody has it, only sending shows.
    var isPlausible: Bool {
        let halves = email.split(separator: "@", omittingEmptySubsequences: false)
        return halves.count == 2 && !halves[0].isEmpty && halves[1].contains(".") && !halves[1].hasPrefix(".")
            && !halves[1].hasSuffix(".") && !halves[1].contains("..")
            && email.unicodeScalars.allSatisfy {
                $0.value > 32 && $0.value != 127 && !"<>,;:\\\"()[]".unicodeScalars.contains($0)
            }
    }
}
