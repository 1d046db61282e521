// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// Where the next page of a list starts: after this conversation, newest first.
///
/// A keyset, not an offset: a mail that arrives while somebody scrolls neither repeats nor skips a row.
struct Cursor: Equatable {
    /// Milliseconds since the epoch of the last row's newest message.
    let lastAt: Int64
    /// The row's number, which orders rows of the same moment.
    let row: Int64

    init(lastAt: Int64, row: Int64) {
        self.lastAt = lastAt
        self.row = row
    }

    /// Reads what `text` wrote.
    init(_ text: String) throws(APIFailure) {
        guard text.utf8.count <= 64, let bytes = Base64URL.decode(text) else { throw Self.malformed }
        let parts = String(decoding: bytes, as: UTF8.self).split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let lastAt = Int64(parts[0]), let row = Int64(parts[1]) else {
            throw Self.malformed
        }
        self.init(lastAt: lastAt, row: row)
    }

    var text: String { Base64URL.encode(Array("\(lastAt).\(row)".utf8)) }

    private static let malformed = APIFailure.badRequest(
        "bad_cursor", "\"cursor\" must be the \"next\" of an earlier page; ask for the first page again.")
}
