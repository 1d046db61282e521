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
        // A form of a hostile mail can post text/plain that is JSON by chance, but this type only after a preflight.
        let type = request.fields["Content-Type"]?.lowercased().prefix { $0 != ";" && $0 != " " }
        guard type == "application/json" else {  // guard: json-only
            throw APIFailure(status: 415, code: "bad_type", message: "Send the change as application/json.")
        }
        let bytes: [UInt8]
        do {
            bytes = try await request.body.collect(upTo: Self.maximumBody)  // guard: flags-body-limit
        } catch let error as NacreError where error.code == "http.body_too_large" {
            throw APIFailure(status: .contentTooLarge, code: "too_large", message: error.message)
        }
        let parsed: JSONValue
        do {
            parsed = try JSONParser.parse(bytes)
        } catch {
            throw APIFailure.badRequest("bad_json", error.message)
        }
        guard let members = parsed.object else {
            throw APIFailure.badRequest("bad_json", "Send a JSON object with \"unread\", \"starred\" or \"mailbox\".")
        }
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
