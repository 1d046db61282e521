// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase
import NacreHTTP

extension MailStore {
    /// Puts a file to a draft; `position` is its place among the draft's files, first those of the least.
    ///
    /// - Throws: 404 without such a draft, 413 when all files together become too many or too large.
    func attach(
        name: String, type: String, position: Int64, bytes: [UInt8], to draft: String, of identity: Identity
    ) async throws -> JSONValue {
        let person = try await person(identity)
        let id = writer.random.token(bits: 96)
        return try await database.write { sql in
            let found = try sql.first(
                "SELECT row FROM mail_draft WHERE \(Self.own) AND sent_thread IS NULL",
                [.text(draft), .integer(person)])
            guard let row = try found?.integer("row") else { throw APIFailure.noDraft }
            let sum = try sql.first(
                "SELECT count(*) AS files, coalesce(sum(size), 0) AS bytes FROM mail_draft_file WHERE draft = $1",
                [.integer(row)])
            guard try sum?.integer("files") ?? 0 < Int64(DraftLimits.files) else {  // guard: draft-files
                throw APIFailure(
                    status: .contentTooLarge, code: "too_many_attachments",
                    message: "One message may have \(DraftLimits.files) attachments.")
            }
            let size = try sum?.integer("bytes") ?? 0
            guard size + Int64(bytes.count) <= Int64(DraftLimits.total) else {  // guard: draft-size
                throw DraftLimits.tooLarge
            }
            let name = FileName.safe(name)
            let type = BlobAnswer.contentType(type)
            try sql.execute(
                """
                INSERT INTO mail_draft_file (id, draft, person, name, type, size, content, position)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                """,
                [
                    .text(id), .integer(row), .integer(person), .text(name), .text(type), SQLValue(bytes.count),
                    .blob(bytes), .integer(position),
                ])
            return [
                "id": .string(id), "name": .string(name), "type": .string(type), "size": JSONValue(bytes.count),
                "position": .integer(position),
            ]
        }
    }

    /// Takes a file off a draft; false when there is none.
    func detach(_ file: String, from draft: String, of identity: Identity) async throws -> Bool {
        let person = try await person(identity)
        return try await database.write { sql in
            try sql.execute(
                """
                DELETE FROM mail_draft_file WHERE \(Self.own)
                AND draft = (SELECT row FROM mail_draft WHERE id = $3 AND person = $2)
                """, [.text(file), .integer(person), .text(draft)]) > 0
        }
    }
}
