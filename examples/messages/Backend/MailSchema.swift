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
            """),
        Migration(
            2,
            """
            ALTER TABLE mail_message ADD COLUMN message_id TEXT;
            ALTER TABLE mail_message ADD COLUMN remote_images BIGINT NOT NULL DEFAULT 0;
            ALTER TABLE mail_thread ADD COLUMN sent BIGINT NOT NULL DEFAULT 0;
            CREATE INDEX mail_message_known ON mail_message (message_id);
            CREATE INDEX mail_thread_sent ON mail_thread (person, sent, last_at, row);
            CREATE TABLE mail_draft (
                row {id}, id TEXT NOT NULL, person BIGINT NOT NULL REFERENCES mail_person (row),
                recipients TEXT NOT NULL, copies TEXT NOT NULL, blind TEXT NOT NULL, subject TEXT NOT NULL,
                body TEXT NOT NULL, answers TEXT, updated_at BIGINT NOT NULL, search TEXT NOT NULL, sent_thread TEXT,
                UNIQUE (person, id));
            CREATE INDEX mail_draft_list ON mail_draft (person, updated_at, row);
            CREATE TABLE mail_draft_file (
                row {id}, id TEXT NOT NULL UNIQUE, draft BIGINT NOT NULL REFERENCES mail_draft (row),
                person BIGINT NOT NULL REFERENCES mail_person (row), name TEXT NOT NULL, type TEXT NOT NULL,
                size BIGINT NOT NULL, content BYTEA NOT NULL);
            CREATE INDEX mail_draft_file_draft ON mail_draft_file (draft, row);
            """),
        // Two files on their way at once may come in either order; the one they were chosen in is kept.
        Migration(3, "ALTER TABLE mail_draft_file ADD COLUMN position BIGINT NOT NULL DEFAULT 0"),
    ]
}
