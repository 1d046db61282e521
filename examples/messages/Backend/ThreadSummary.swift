// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// A row of the list of conversations.
struct ThreadSummary {
    /// The row's number, for cursors only.
    let row: Int64
    let id: String
    let subject: String
    let snippet: String
    /// Who wrote in it, in the order of their first message.
    let senders: JSONValue
    let count: Int64
    let unread: Bool
    let starred: Bool
    let hasAttachments: Bool
    let mailbox: String
    /// Milliseconds since the epoch of the newest message.
    let lastAt: Int64

    var json: JSONValue {
        [
            "id": .string(id), "subject": .string(subject), "snippet": .string(snippet), "senders": senders,
            "count": .integer(count), "unread": .bool(unread), "starred": .bool(starred),
            "has_attachments": .bool(hasAttachments), "mailbox": .string(mailbox),
            "last_at": .string(Instant(milliseconds: lastAt).timestamp),
        ]
    }
}

/// A page of the list.
struct ThreadPage {
    var threads: [ThreadSummary]
    var next: Cursor?
    /// How many conversations match, on all pages.
    var total: Int64
}

/// An attachment, or the part of it that was asked for.
struct Blob {
    let id: String
    let name: String
    let type: String
    /// The length of the whole.
    let size: Int
    /// The part that `bytes` are; nil when they are the whole.
    let range: ByteRange?
    let bytes: [UInt8]
}
