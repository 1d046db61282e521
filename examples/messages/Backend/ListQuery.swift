// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP

/// What a list request asks for.
struct ListQuery {
    static let maximumLimit = 200
    static let maximumWords = 200

    var view = MailboxView.inbox
    var search: [String] = []
    var cursor: Cursor?
    var limit = 50

    /// Reads the query of `GET threads/`.
    ///
    /// - Throws: a 400 that names the wrong parameter.
    init(_ request: HTTPRequest) throws(APIFailure) {
        guard let form = FormFields(decoding: request.query ?? "") else {
            throw .badRequest("bad_query", "The query is not UTF-8 in percent-encoding; encode every parameter.")
        }
        if let word = form["mailbox"], !word.isEmpty {
            guard let view = MailboxView(rawValue: word) else {
                throw .badRequest(
                    "bad_mailbox",
                    "\"mailbox\" must be one of \(MailboxView.allCases.map(\.rawValue).joined(separator: ", ")).")
            }
            self.view = view
        }
        if let text = form["q"] {
            guard text.utf8.count <= Self.maximumWords else {  // guard: long-search
                throw .badRequest("bad_search", "\"q\" may have \(Self.maximumWords) bytes at most; search for less.")
            }
            search = SearchText.patterns(text)
        }
        if let text = form["cursor"], !text.isEmpty { cursor = try Cursor(text) }
        if let text = form["limit"] {
            guard let number = Int(text), (1...Self.maximumLimit).contains(number) else {  // guard: list-limit
                throw .badRequest("bad_limit", "\"limit\" must be a whole number from 1 to \(Self.maximumLimit).")
            }
            limit = number
        }
    }
}
