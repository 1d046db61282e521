// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase

extension ThreadSummary {
    static let columns =
        "row, id, subject, snippet, senders, messages, unread, starred, has_attachments, mailbox, last_at"

    init(_ row: SQLRow) throws(NacreError) {
        self.init(
            row: try row.integer("row"), id: try row.text("id"), subject: try row.text("subject"),
            snippet: try row.text("snippet"), senders: try JSONParser.parse(row.text("senders")),
            count: try row.integer("messages"), unread: try row.bool("unread"), starred: try row.bool("starred"),
            hasAttachments: try row.bool("has_attachments"), mailbox: try row.text("mailbox"),
            lastAt: try row.integer("last_at"))
    }
}

extension SQLRow {
    /// A row of `mail_thread` with its messages as the API shows them.
    func thread(messages: [JSONValue]) throws(NacreError) -> JSONValue {
        [
            "id": .string(try text("id")), "subject": .string(try text("subject")),
            "mailbox": .string(try text("mailbox")), "unread": .bool(try bool("unread")),
            "starred": .bool(try bool("starred")), "messages": .array(messages),
        ]
    }

    /// A row of `mail_message` as the API shows it.
    func message(_ attachments: [Int64: [JSONValue]]) throws(NacreError) -> JSONValue {
        [
            "id": .string(try text("id")), "from": try JSONParser.parse(text("sender")),
            "to": try JSONParser.parse(text("recipients")), "cc": try JSONParser.parse(text("copies")),
            "sent_at": .string(try moment("sent_at").timestamp), "text": JSONValue(self["body_text"].text),
            "html": JSONValue(self["body_html"].text), "attachments": .array(attachments[try integer("row")] ?? []),
            "remote_images": .bool(try bool("remote_images")),
        ]
    }

    /// A row of `mail_attachment` as the API shows it.
    var attachment: JSONValue {
        get throws(NacreError) {
            [
                "id": .string(try text("id")), "name": .string(try text("name")), "type": .string(try text("type")),
                "size": .integer(try integer("size")), "inline": .bool(!self["cid"].isNull),
                "cid": JSONValue(self["cid"].text),
            ]
        }
    }
}
