// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase

extension MailStore {
    /// The largest message that an import takes, in bytes.
    static let largestImport = 40 * 1024 * 1024

    /// Takes one message of an archive in.
    ///
    /// A message that is there already, by its Message-ID or else by its content, is left as it is: an import that was
    /// broken off is simply done again.
    func bring(_ bytes: [UInt8], into mailbox: Mailbox, of identity: Identity) async throws -> JSONValue {
        let mail = try ParsedMail(bytes)
        let person = try await person(identity)
        let now = time.now
        let id = mail.messageID ?? "\(Hex.encode(SHA256.hash(bytes).prefix(16)))@import.invalid"
        let message = NewMessage(
            from: mail.from, to: mail.to, cc: mail.cc, subject: mail.subject, sentAt: mail.date ?? now,
            text: mail.text, html: mail.html, messageID: id, files: mail.attachments)
        let manner = Delivery.Manner(
            mailbox: mailbox, unread: false, sent: mail.from.email.lowercased() == identity.email.lowercased())
        return try await database.write { [writer] sql in
            if let thread = try Self.thread(with: id, person: person, sql) {  // guard: import-twice
                return ["status": "duplicate", "thread": try Self.identifier(of: thread, sql)]
            }
            var answered: Int64?
            for reference in mail.references.reversed() where answered == nil {
                answered = try Self.thread(with: reference, person: person, sql)
            }
            let thread = try Delivery(sql: sql, random: writer.random).put(
                message, for: person, into: answered, manner)
            return ["status": "imported", "thread": .string(thread), "subject": .string(mail.subject)]
        }
    }

    private static func identifier(of thread: Int64, _ sql: any SQLConnection) throws(NacreError) -> JSONValue {
        JSONValue(try sql.first("SELECT id FROM mail_thread WHERE row = $1", [.integer(thread)])?.text("id"))
    }
}
