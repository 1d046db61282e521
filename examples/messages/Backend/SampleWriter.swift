// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase

/// Writes a person's own copy of the sample mails.
struct SampleWriter: Sendable {
    let samples: [SampleThread]
    let generated: Int
    let publicOrigin: String
    let random: any RandomSource

    /// Fills an empty mailbox, inside the transaction that made the person.
    func fill(_ person: Int64, of identity: Identity, now: Instant, _ sql: any SQLConnection) throws(NacreError) {
        let copy = Copy(writer: self, person: person, identity: identity, now: now, sql: sql)
        for sample in samples { try copy.write(sample) }
        for index in 0..<generated { try copy.write(GeneratedMail.thread(index)) }
    }

    private struct Copy {
        let writer: SampleWriter
        let person: Int64
        let identity: Identity
        let now: Instant
        let sql: any SQLConnection

        private func address(_ text: String) -> Address {
            text == "me" ? Address(name: identity.name, email: identity.email) : Address(text)
        }

        private func list(_ texts: [String]) -> SQLValue {
            .text(JSONValue.array(texts.map { address($0).json }).text)
        }

        private func moment(_ message: SampleMessage) -> Instant { now - .seconds(message.minutesAgo * 60) }

        func write(_ sample: SampleThread) throws(NacreError) {
            let messages = sample.messages.sorted { $0.minutesAgo > $1.minutesAgo }
            guard let newest = messages.last else { return }
            var senders: [Address] = []
            for sender in messages.map({ address($0.from) }) where !senders.contains(sender) { senders.append(sender) }
            let rows = try sql.query(
                """
                INSERT INTO mail_thread (id, person, subject, snippet, senders, messages, unread, starred,
                    has_attachments, mailbox, last_at, search, sent)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING row
                """,
                [
                    .text(writer.random.token(bits: 96)), .integer(person), .text(sample.subject),
                    .text(Snippet.make(text: newest.text, html: newest.html)),
                    .text(JSONValue.array(senders.map(\.json)).text), SQLValue(messages.count),
                    SQLValue(sample.unread), SQLValue(sample.starred),
                    SQLValue(messages.contains { $0.attachments.contains { $0.cid == nil } }),
                    .text(sample.mailbox.rawValue), SQLValue(moment(newest)), .text(searchText(sample, senders)),
                    SQLValue(messages.contains { $0.from == "me" }),
                ])
            let thread = try row(rows)
            for message in messages { try write(message, thread: thread) }
        }

        private func searchText(_ sample: SampleThread, _ senders: [Address]) -> String {
            var parts = [sample.subject] + senders.flatMap { [$0.name, $0.email] }
            for message in sample.messages {
                parts.append(message.text ?? message.html.map(Snippet.plainText) ?? "")
                parts += message.attachments.map(\.name)
            }
            return SearchText.folded(parts.joined(separator: "\n"))
        }

        private func write(_ message: SampleMessage, thread: Int64) throws(NacreError) {
            let html = message.html?.split(separator: "{{api}}", omittingEmptySubsequences: false)
            let rows = try sql.query(
                """
                INSERT INTO mail_message (id, thread, sender, recipients, copies, sent_at, body_text, body_html,
                    message_id)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING row
                """,
                [
                    .text(writer.random.token(bits: 96)), .integer(thread), .text(address(message.from).json.text),
                    list(message.to), list(message.cc), SQLValue(moment(message)), SQLValue(message.text),
                    SQLValue(html?.joined(separator: writer.publicOrigin)),
                    .text("\(writer.random.token(bits: 96))@samples.invalid"),
                ])
            let row = try row(rows)
            for attachment in message.attachments {
                try sql.execute(
                    """
                    INSERT INTO mail_attachment (id, message, person, name, type, cid, size, content)
                    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                    """,
                    [
                        .text(writer.random.token(bits: 96)), .integer(row), .integer(person),
                        .text(FileName.safe(attachment.name)), .text(attachment.type), SQLValue(attachment.cid),
                        SQLValue(attachment.bytes.count), .blob(attachment.bytes),
                    ])
            }
        }

        private func row(_ rows: [SQLRow]) throws(NacreError) -> Int64 {
            guard let row = try rows.first?.integer("row") else {
                throw NacreError("messages.no_row", "The database did not answer the row it inserted.")
            }
            return row
        }
    }
}
