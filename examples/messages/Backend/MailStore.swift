// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase

/// The mailboxes of all people.
struct MailStore: Sendable {
    let database: Database
    let writer: SampleWriter
    let time: any TimeSource

    /// The condition of every look by identifier: what another person owns is not there.
    static let own = "id = $1 AND person = $2"  // guard: own-rows

    init(configuration: MessagesBackend.Configuration, samples: [SampleThread]) async throws {
        time = configuration.time
        // A lost power cut costs a flag of a sample mail: not worth a disk flush per click.
        database = try Database.open(configuration.database, durable: false, time: configuration.time)
        writer = SampleWriter(
            samples: samples, generated: configuration.generatedThreads, publicOrigin: configuration.publicOrigin,
            random: configuration.random)
        try await database.migrate("messages", MailSchema.migrations)
    }

    /// The row of a person; who comes for the first time gets a copy of the samples.
    func person(_ identity: Identity) async throws -> Int64 {
        let find = "SELECT row, email, name FROM mail_person WHERE issuer = $1 AND subject = $2"
        let key: [SQLValue] = [.text(identity.issuer), .text(identity.subject)]
        let known = try await database.read { try $0.first(find, key) }
        if let known, known["email"].text == identity.email, known["name"].text == identity.name {
            return try known.integer("row")
        }
        let now = time.now
        return try await database.write { [writer] sql in
            // Asked again inside the transaction: of two first requests at once, one makes the copy.
            if let row = try sql.first(find, key)?.integer("row") {
                try sql.execute(
                    "UPDATE mail_person SET email = $1, name = $2 WHERE row = $3",
                    [.text(identity.email), .text(identity.name), .integer(row)])
                return row
            }
            let rows = try sql.query(
                """
                INSERT INTO mail_person (issuer, subject, email, name, created_at) VALUES ($1, $2, $3, $4, $5)
                RETURNING row
                """, key + [.text(identity.email), .text(identity.name), SQLValue(now)])
            guard let row = try rows.first?.integer("row") else {
                throw NacreError("messages.no_row", "The database did not answer the new person's row.")
            }
            try writer.fill(row, of: identity, now: now, sql)
            return row
        }
    }

    /// Every mailbox with its counts of conversations.
    func mailboxes(of identity: Identity) async throws -> [JSONValue] {
        let person = try await person(identity)
        return try await database.read { sql in
            try MailboxView.allCases.map { view in
                let counts =
                    view == .drafts
                    ? "SELECT count(*) AS total, 0 AS unread FROM mail_draft"
                    : "SELECT count(*) AS total, coalesce(sum(unread), 0) AS unread FROM mail_thread"
                let row = try sql.first(
                    "\(counts) WHERE person = $1 AND \(view.condition)", [.integer(person)])
                return [
                    "id": .string(view.rawValue), "unread": .integer(try row?.integer("unread") ?? 0),
                    "total": .integer(try row?.integer("total") ?? 0),
                ]
            }
        }
    }

    /// One page of a list, newest first.
    func threads(of identity: Identity, _ query: ListQuery) async throws -> ThreadPage {
        guard query.view != .drafts else { return try await drafts(of: identity, query) }
        let person = try await person(identity)
        let (view, search, cursor, limit) = (query.view, query.search, query.cursor, query.limit)
        return try await database.read { sql in
            var condition = "person = $1 AND \(view.condition)"
            var arguments: [SQLValue] = [.integer(person)]
            for pattern in search {
                arguments.append(.text(pattern))
                condition += " AND search LIKE $\(arguments.count) ESCAPE '\\'"
            }
            let total = try sql.first("SELECT count(*) AS total FROM mail_thread WHERE \(condition)", arguments)
            if let cursor {
                arguments += [.integer(cursor.lastAt), .integer(cursor.row)]
                condition += " AND (last_at, row) < ($\(arguments.count - 1), $\(arguments.count))"
            }
            // One more than asked for tells whether there is a next page.
            arguments.append(SQLValue(limit + 1))
            let rows = try sql.query(
                """
                SELECT \(ThreadSummary.columns) FROM mail_thread WHERE \(condition)
                ORDER BY last_at DESC, row DESC LIMIT $\(arguments.count)
                """, arguments)
            var page = ThreadPage(
                threads: try rows.prefix(limit).map(ThreadSummary.init), next: nil,
                total: try total?.integer("total") ?? 0)
            if rows.count > limit, let last = page.threads.last {
                page.next = Cursor(lastAt: last.lastAt, row: last.row)
            }
            return page
        }
    }

    /// Changes flags or the mailbox of a conversation; nil when the person has none of this id.
    func change(_ id: String, of identity: Identity, _ change: FlagsChange) async throws -> ThreadSummary? {
        let person = try await person(identity)
        let unread = change.unread.map { SQLValue($0) } ?? .null
        let starred = change.starred.map { SQLValue($0) } ?? .null
        let arguments = [.text(id), .integer(person), unread, starred, SQLValue(change.mailbox?.rawValue)]
        return try await database.write { sql -> ThreadSummary? in
            let rows = try sql.query(
                """
                UPDATE mail_thread SET unread = coalesce($3, unread), starred = coalesce($4, starred),
                    mailbox = coalesce($5, mailbox)
                WHERE \(Self.own) RETURNING \(ThreadSummary.columns)
                """, arguments)
            return try rows.first.map { try ThreadSummary($0) }
        }
    }

    /// A conversation with its messages, oldest first; nil when the person has none of this id.
    func thread(_ id: String, of identity: Identity) async throws -> JSONValue? {
        let person = try await person(identity)
        return try await database.read { sql -> JSONValue? in
            let found = try sql.first(
                "SELECT row, id, subject, mailbox, unread, starred FROM mail_thread WHERE \(Self.own)",
                [.text(id), .integer(person)])
            guard let found else { return nil }
            let messages = try Self.messages(of: found.integer("row"), sql)
            return try found.thread(messages: messages)
        }
    }

    private static func messages(of thread: Int64, _ sql: any SQLConnection) throws(NacreError) -> [JSONValue] {
        var attachments: [Int64: [JSONValue]] = [:]
        let found = try sql.query(
            """
            SELECT a.message, a.id, a.name, a.type, a.size, a.cid FROM mail_attachment a
            JOIN mail_message m ON m.row = a.message WHERE m.thread = $1 ORDER BY a.row
            """, [.integer(thread)])
        for row in found { attachments[try row.integer("message"), default: []].append(try row.attachment) }
        let rows = try sql.query(
            """
            SELECT row, id, sender, recipients, copies, sent_at, body_text, body_html, remote_images FROM mail_message
            WHERE thread = $1 ORDER BY sent_at, row
            """, [.integer(thread)])
        var messages: [JSONValue] = []
        for row in rows { messages.append(try row.message(attachments)) }
        return messages
    }
}
