// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Where a conversation lies; `sent` is one that the person began and nobody has answered.
enum Mailbox: String, CaseIterable {
    case inbox, sent, archive, trash
}

/// What a list shows: a mailbox, the drafts, or the starred or sent conversations of every mailbox but the trash.
enum MailboxView: String, CaseIterable {
    case inbox, starred, drafts, sent, archive, trash

    /// The condition in SQL, on the columns of `mail_thread`, for drafts of `mail_draft`.
    var condition: String {
        switch self {
        case .inbox: "mailbox = 'inbox'"
        case .archive: "mailbox = 'archive'"
        case .trash: "mailbox = 'trash'"
        case .drafts: "sent_thread IS NULL"
        case .sent: "sent = 1 AND mailbox <> 'trash'"
        case .starred: "starred = 1 AND mailbox <> 'trash'"
        }
    }
}
