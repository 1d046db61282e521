// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Where a conversation lies.
enum Mailbox: String, CaseIterable {
    case inbox, archive, trash
}

/// What a list shows: a mailbox, or the starred conversations of every mailbox but the trash.
enum MailboxView: String, CaseIterable {
    case inbox, starred, archive, trash

    /// The condition in SQL, on the columns of `threads`.
    var condition: String {
        switch self {
        case .inbox: "mailbox = 'inbox'"
        case .archive: "mailbox = 'archive'"
        case .trash: "mailbox = 'trash'"
        case .starred: "starred = 1 AND mailbox <> 'trash'"
        }
    }
}
