// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase

extension MailStore {
    private static let draftColumns = "row, id, recipients, copies, blind, subject, body, answers, updated_at"

    /// Stores a draft as it is now; the first time, with the attachments of the message it passes on.
    func save(_ draft: DraftContent, as id: String, of identity: Identity) async throws -> JSONValue {
        try DraftLimits.check(id: id)
        let person = try await person(identity)
        let now = time.now
        return try await database.write { [writer] sql in
            let words = [draft.subject, draft.text] + (draft.to + draft.cc).flatMap { [$0.name, $0.email] }
            let values: [SQLValue] = [
                .text(id), .integer(person), Self.people(draft.to), Self.people(draft.cc), Self.people(draft.bcc),
                .text(draft.subject), .text(draft.text), SQLValue(now),
                .text(SearchText.folded(words.joined(separator: "\n"))),
            ]
            let known = try sql.first(
                "SELECT row FROM mail_draft WHERE \(Self.own)", [.text(id), .integer(person)])
            if known != nil {
                try sql.execute(
                    """
                    UPDATE mail_draft SET recipients = $3, copies = $4, blind = $5, subject = $6, body = $7,
                        updated_at = $8, search = $9 WHERE \(Self.own)
                    """, values)
            } else {
                let count = try sql.first(
                    "SELECT count(*) AS total FROM mail_draft WHERE person = $1 AND sent_thread IS NULL",
                    [.integer(person)])
                guard try count?.integer("total") ?? 0 < Int64(DraftLimits.drafts) else {  // guard: draft-count
                    throw APIFailure.badRequest(
                        "too_many_drafts", "There are \(DraftLimits.drafts) drafts already; send or discard some.")
                }
                let made = try sql.query(
                    """
                    INSERT INTO mail_draft (id, person, recipients, copies, blind, subject, body, updated_at, search,
                        answers)
                    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING row
                    """, values + [SQLValue(draft.answers)])
                if let message = draft.forwards, let row = try made.first?.integer("row") {
                    try Self.takeAlong(message, to: row, person: person, random: writer.random, sql)
                }
            }
            // A draft that was sent is none any more, and what was written just now is undone.
            // guard: sent-draft
            guard let stored = try Self.draft(id, person: person, sql) else { throw APIFailure.noDraft }
            return stored
        }
    }

    private static func people(_ people: [Address]) -> SQLValue { .text(JSONValue.array(people.map(\.json)).text) }

    /// Copies the attachments of a message that is passed on; pictures inside its text go as attachments, too.
    private static func takeAlong(
        _ message: String, to draft: Int64, person: Int64, random: any RandomSource, _ sql: any SQLConnection
    ) throws {
        let files = try sql.query(
            """
            SELECT a.row FROM mail_attachment a JOIN mail_message m ON m.row = a.message
            WHERE m.id = $1 AND a.person = $2 ORDER BY a.row
            """, [.text(message), .integer(person)])
        for file in files.prefix(DraftLimits.files) {
            try sql.execute(
                """
                INSERT INTO mail_draft_file (id, draft, person, name, type, size, content)
                SELECT $1, $2, $3, name, type, size, content FROM mail_attachment WHERE row = $4
                """,
                [.text(random.token(bits: 96)), .integer(draft), .integer(person), .integer(try file.integer("row"))])
        }
    }

    /// A draft as the API shows it; nil when the person has none of this id, or has sent it.
    func draft(_ id: String, of identity: Identity) async throws -> JSONValue? {
        let person = try await person(identity)
        return try await database.read { sql in try Self.draft(id, person: person, sql) }
    }

    private static func draft(_ id: String, person: Int64, _ sql: any SQLConnection) throws -> JSONValue? {
        let row = try sql.first(
            "SELECT \(draftColumns) FROM mail_draft WHERE \(own) AND sent_thread IS NULL",
            [.text(id), .integer(person)])
        guard let row else { return nil }
        let files = try sql.query(
            "SELECT id, name, type, size, position FROM mail_draft_file WHERE draft = $1 ORDER BY position, row",
            [.integer(try row.integer("row"))])
        return [
            "id": .string(id), "to": try JSONParser.parse(row.text("recipients")),
            "cc": try JSONParser.parse(row.text("copies")), "bcc": try JSONParser.parse(row.text("blind")),
            "subject": .string(try row.text("subject")), "text": .string(try row.text("body")),
            "in_reply_to": JSONValue(row["answers"].text),
            "updated_at": .string(try row.moment("updated_at").timestamp),
            "attachments": .array(try files.map { try $0.draftFile }),
            "limits": ["bytes": JSONValue(DraftLimits.total), "files": JSONValue(DraftLimits.files)],
        ]
    }

    /// Throws a draft away with its attachments; false when there is none.
    func discard(_ id: String, of identity: Identity) async throws -> Bool {
        let person = try await person(identity)
        return try await database.write { sql in
            let row = try sql.first(
                "SELECT row FROM mail_draft WHERE \(Self.own) AND sent_thread IS NULL", [.text(id), .integer(person)])
            guard let row = try row?.integer("row") else { return false }
            try sql.execute("DELETE FROM mail_draft_file WHERE draft = $1", [.integer(row)])
            try sql.execute("DELETE FROM mail_draft WHERE row = $1", [.integer(row)])
            return true
        }
    }

    /// Drafts as rows of a list, the one changed last first.
    func drafts(of identity: Identity, _ query: ListQuery) async throws -> ThreadPage {
        let person = try await person(identity)
        return try await database.read { sql in
            var condition = "person = $1 AND sent_thread IS NULL"
            var arguments: [SQLValue] = [.integer(person)]
            for pattern in query.search {
                arguments.append(.text(pattern))
                condition += " AND search LIKE $\(arguments.count) ESCAPE '\\'"
            }
            let total = try sql.first("SELECT count(*) AS total FROM mail_draft WHERE \(condition)", arguments)
            if let cursor = query.cursor {
                arguments += [.integer(cursor.lastAt), .integer(cursor.row)]
                condition += " AND (updated_at, row) < ($\(arguments.count - 1), $\(arguments.count))"
            }
            arguments.append(SQLValue(query.limit + 1))
            let rows = try sql.query(
                """
                SELECT \(Self.draftColumns), (SELECT count(*) FROM mail_draft_file f WHERE f.draft = mail_draft.row) AS files
                FROM mail_draft WHERE \(condition) ORDER BY updated_at DESC, row DESC LIMIT $\(arguments.count)
                """, arguments)
            var page = ThreadPage(
                threads: try rows.prefix(query.limit).map { try $0.draftSummary }, next: nil,
                total: try total?.integer("total") ?? 0)
            if rows.count > query.limit, let last = page.threads.last {
                page.next = Cursor(lastAt: last.lastAt, row: last.row)
            }
            return page
        }
    }
}

extension SQLRow {
    /// A row of `mail_draft_file` as the API shows it.
    var draftFile: JSONValue {
        get throws(NacreError) {
            [
                "id": .string(try text("id")), "name": .string(try text("name")), "type": .string(try text("type")),
                "size": .integer(try integer("size")), "position": .integer(try integer("position")),
            ]
        }
    }

    /// A row of `mail_draft` as a row of a list: those it goes to stand where senders do.
    fileprivate var draftSummary: ThreadSummary {
        get throws(NacreError) {
            ThreadSummary(
                row: try integer("row"), id: try text("id"), subject: try text("subject"),
                snippet: Snippet.make(text: try text("body"), html: nil),
                senders: try JSONParser.parse(text("recipients")), count: 1, unread: false, starred: false,
                hasAttachments: try integer("files") > 0, mailbox: "drafts", lastAt: try integer("updated_at"))
        }
    }
}
