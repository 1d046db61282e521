// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreDatabase

/// The tables of the mailbox. Every row below `mail_person` belongs to one person, and every query says whose.
enum MailSchema {
    static let migrations = [
        Migration(
            1,
            """
            CREATE TABLE mail_person (
                row {id}, issuer TEXT NOT NULL, subject TEXT NOT NULL, email TEXT NOT NULL, name TEXT NOT NULL,
                created_at BIGINT NOT NULL, UNIQUE (issuer, subject));
            CREATE TABLE mail_thread (
                row {id}, id TEXT NOT NULL UNIQUE, person BIGINT NOT NULL REFERENCES mail_person (row),
                subject TEXT NOT NULL, snippet TEXT NOT NULL, senders TEXT NOT NULL, messages BIGINT NOT NULL,
                unread BIGINT NOT NULL, starred BIGINT NOT NULL, has_attachments BIGINT NOT NULL,
                mailbox TEXT NOT NULL, last_at BIGINT NOT NULL, search TEXT NOT NULL);
            CREATE INDEX mail_thread_list ON mail_thread (person, mailbox, last_at, row);
            CREATE INDEX mail_thread_starred ON mail_thread (person, starred, last_at, row);
            CREATE TABLE mail_message (
                row {id}, id TEXT NOT NULL UNIQUE, thread BIGINT NOT NULL REFERENCES mail_thread (row),
                sender TEXT NOT NULL, recipients TEXT NOT NULL, copies TEXT NOT NULL, sent_at BIGINT NOT NULL,
                body_text TEXT, body_html TEXT);
            CREATE INDEX mail_message_thread ON mail_message (thread, sent_at, row);
            CREATE TABLE mail_attachment (
                row {id}, id TEXT NOT NULL UNIQUE, message BIGINT NOT NULL REFERENCES mail_message (row),
                person BIGINT NOT NULL REFERENCES mail_person (row), name TEXT NOT NULL, type TEXT NOT NULL,
                cid TEXT, size BIGINT NOT NULL, content BYTEA NOT NULL);
            CREATE INDEX mail_attachment_message ON mail_attachment (message, row);
            """)
    ]
}
