// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase

/// A message on its way into a mailbox.
struct NewMessage: Sendable {
    var from: Address
    var to: [Address]
    var cc: [Address]
    var subject: String
    var sentAt: Instant
    var text: String?
    var html: String?
    /// Message-ID (RFC 5322) without angle brackets.
    var messageID: String
    /// Files with their bytes.
    var files: [SampleAttachment] = []
    /// Files that lie with a draft; their bytes never leave the database.
    var draftFiles: [Int64] = []
}

/// Writes messages into mailboxes, inside a transaction.
struct Delivery {
    let sql: any SQLConnection
    let random: any RandomSource

    /// How a mailbox takes a message in.
    struct Manner {
        var mailbox: Mailbox
        var unread: Bool
        /// Whether its owner wrote it.
        var sent: Bool
    }

    /// Adds a message to a conversation, or begins one; answers the conversation's identifier.
    func put(
        _ message: NewMessage, for person: Int64, into thread: Int64?, _ manner: Manner
    ) throws(NacreError) -> String {
        let row = if let thread { thread } else { try begin(message, person, manner) }
        let stored = try sql.query(
            """
            INSERT INTO mail_message (id, thread, sender, recipients, copies, sent_at, body_text, body_html, message_id)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING row
            """,
            [
                .text(random.token(bits: 96)), .integer(row), .text(message.from.json.text), list(message.to),
                list(message.cc), SQLValue(message.sentAt), SQLValue(message.text), SQLValue(message.html),
                .text(message.messageID),
            ])
        let number = try stored.first?.integer("row") ?? 0
        for file in message.files { try put(file, message: number, person) }
        for file in message.draftFiles { try move(file, message: number, person) }
        return try refresh(row, with: message, manner, isNew: thread == nil)
    }

    private func list(_ people: [Address]) -> SQLValue { .text(JSONValue.array(people.map(\.json)).text) }

    private func begin(_ message: NewMessage, _ person: Int64, _ manner: Manner) throws(NacreError) -> Int64 {
        let rows = try sql.query(
            """
            INSERT INTO mail_thread (id, person, subject, snippet, senders, messages, unread, starred,
                has_attachments, mailbox, last_at, search, sent)
            VALUES ($1, $2, $3, '', '[]', 0, 0, 0, 0, $4, $5, $6, 0) RETURNING row
            """,
            [
                .text(random.token(bits: 96)), .integer(person), .text(message.subject),
                .text(manner.mailbox.rawValue), SQLValue(message.sentAt), .text(SearchText.folded(message.subject)),
            ])
        return try rows.first?.integer("row") ?? 0
    }

    private func put(_ file: SampleAttachment, message: Int64, _ person: Int64) throws(NacreError) {
        try sql.execute(
            """
            INSERT INTO mail_attachment (id, message, person, name, type, cid, size, content)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            """,
            [
                .text(random.token(bits: 96)), .integer(message), .integer(person), .text(FileName.safe(file.name)),
                .text(file.type), SQLValue(file.cid), SQLValue(file.bytes.count), .blob(file.bytes),
            ])
    }

    private func move(_ file: Int64, message: Int64, _ person: Int64) throws(NacreError) {
        try sql.execute(
            """
            INSERT INTO mail_attachment (id, message, person, name, type, size, content)
            SELECT $1, $2, $3, name, type, size, content FROM mail_draft_file WHERE row = $4
            """,
            [.text(random.token(bits: 96)), .integer(message), .integer(person), .integer(file)])
    }

    /// Brings the conversation's row up to date with a message more.
    private func refresh(
        _ row: Int64, with message: NewMessage, _ manner: Manner, isNew: Bool
    ) throws(NacreError) -> String {
        let known = try sql.first(
            "SELECT id, senders, last_at, snippet, has_attachments FROM mail_thread WHERE row = $1", [.integer(row)])
        guard let known else { throw NacreError("messages.no_row", "The conversation is not there any more.") }
        var senders = try JSONParser.parse(known.text("senders")).array ?? []
        if !senders.contains(message.from.json) { senders.append(message.from.json) }
        let newest = try known.integer("last_at")
        let isNewest = isNew || newest <= message.sentAt.milliseconds
        let names = try sql.query(
            """
            SELECT a.name, a.cid FROM mail_attachment a JOIN mail_message m ON m.row = a.message WHERE m.thread = $1
            """, [.integer(row)])
        var words = [message.from.name, message.from.email]
        words.append(message.text ?? message.html.map(Snippet.plainText) ?? "")
        for name in names { words.append(try name.text("name")) }
        let snippet =
            isNewest ? Snippet.make(text: message.text, html: message.html) : try known.text("snippet")
        try sql.execute(
            """
            UPDATE mail_thread SET senders = $2, messages = messages + 1, snippet = $3,
                last_at = CASE WHEN last_at < $4 THEN $4 ELSE last_at END, search = search || $5,
                has_attachments = $6, sent = CASE WHEN $7 = 1 THEN 1 ELSE sent END,
                unread = CASE WHEN $8 = 1 THEN 1 ELSE unread END,
                mailbox = CASE WHEN $9 = 1 THEN 'inbox' ELSE mailbox END
            WHERE row = $1
            """,
            [
                .integer(row), .text(JSONValue.array(senders).text), .text(snippet), SQLValue(message.sentAt),
                .text("\n" + SearchText.folded(words.joined(separator: "\n"))),
                SQLValue(names.contains { $0["cid"].isNull }), SQLValue(manner.sent), SQLValue(manner.unread),
                SQLValue(manner.mailbox == .inbox),
            ])
        return try known.text("id")
    }
}
