// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// What a flags request changes; what is nil stays.
struct FlagsChange {
    static let maximumBody = 16 * 1024

    var unread: Bool?
    var starred: Bool?
    var mailbox: Mailbox?

    /// Reads the body of `POST threads/:id/flags/`.
    ///
    /// - Throws: 400, 413 or 415 with what is wrong.
    init(_ request: HTTPRequest) async throws {
        let members = try await RequestBody.object(request, upTo: Self.maximumBody)  // guard: flags-body-limit
        for (key, value) in members { try set(key, value) }
        guard unread != nil || starred != nil || mailbox != nil else {
            throw APIFailure.badRequest(
                "nothing_to_change", "Name at least one of \"unread\", \"starred\", \"mailbox\".")
        }
    }

    private mutating func set(_ key: String, _ value: JSONValue) throws(APIFailure) {
        switch key {
        case "unread": unread = try Self.truth(key, value)
        case "starred": starred = try Self.truth(key, value)
        case "mailbox":
            guard let mailbox = value.string.flatMap(Mailbox.init) else {
                throw .badRequest(
                    "bad_mailbox",
                    "\"mailbox\" must be one of \(Mailbox.allCases.map(\.rawValue).joined(separator: ", ")).")
            }
            self.mailbox = mailbox
        default:
            let hint = nearestWord(to: key, among: ["unread", "starred", "mailbox"]).map { " Did you mean \"\($0)\"?" }
            throw .badRequest("unknown_key", "\"\(key.prefix(40))\" cannot be changed.\(hint ?? "")")
        }
    }

    private static func truth(_ key: String, _ value: JSONValue) throws(APIFailure) -> Bool {
        guard let flag = value.bool else { throw .badRequest("bad_value", "\"\(key)\" must be true or false.") }
        return flag
    }
}
