// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase

/// What came of looking for an attachment.
enum BlobLookup {
    case absent
    case found(Blob)
    /// The range lies behind the end of this many bytes.
    case beyond(size: Int)
}

extension MailStore {
    /// An attachment of a message or a draft, or the range of it that `range` asks for.
    ///
    /// Only the bytes asked for are read, so that a player that seeks in a large file costs little.
    func blob(_ id: String, of identity: Identity, range: String?) async throws -> BlobLookup {
        let person = try await person(identity)
        return try await database.read { sql in
            for table in ["mail_attachment", "mail_draft_file"] {
                let key: [SQLValue] = [.text(id), .integer(person)]
                let found = try sql.first("SELECT name, type, size FROM \(table) WHERE \(Self.own)", key)
                guard let found else { continue }
                let size = Int(try found.integer("size"))
                var part: ByteRange?
                switch ByteRange.read(range, size: size) {
                case .beyond: return .beyond(size: size)
                case .whole: break
                case .part(let range): part = range
                }
                let column = part.map { "substr(content, \($0.first + 1), \($0.count))" } ?? "content"
                let row = try sql.first("SELECT \(column) AS content FROM \(table) WHERE \(Self.own)", key)
                return .found(
                    Blob(
                        id: id, name: try found.text("name"), type: try found.text("type"), size: size, range: part,
                        bytes: try row?.blob("content") ?? []))
            }
            return .absent
        }
    }
}
