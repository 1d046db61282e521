// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// What the person has written so far, as the page sends it.
struct DraftContent: Sendable {
    static let maximumBody = 1024 * 1024
    static let maximumPeople = 200

    var to: [Address] = []
    var cc: [Address] = []
    var bcc: [Address] = []
    var subject = ""
    var text = ""
    /// The message that this one answers or passes on.
    var answers: String?
    /// The message whose attachments the new draft takes along.
    var forwards: String?

    /// Reads the body of `PUT drafts/:id/`.
    ///
    /// - Throws: 400, 413 or 415 with what is wrong.
    init(_ request: HTTPRequest) async throws {
        for (key, value) in try await RequestBody.object(request, upTo: Self.maximumBody) {
            switch key {
            case "to": to = try Self.people(key, value)
            case "cc": cc = try Self.people(key, value)
            case "bcc": bcc = try Self.people(key, value)
            case "subject": subject = Self.oneLine(try Self.text(key, value))
            case "text": text = try Self.text(key, value)
            case "in_reply_to": answers = value.isNull ? nil : try Self.text(key, value)
            case "forward_of": forwards = value.isNull ? nil : try Self.text(key, value)
            default: throw APIFailure.badRequest("unknown_key", "\"\(key.prefix(40))\" is no part of a draft.")
            }
        }
    }

    /// A subject with a line break in it would be able to add headers of its own.
    private static func oneLine(_ text: String) -> String {
        let isControl = { (scalar: Unicode.Scalar) in scalar.value < 32 || scalar.value == 127 }
        return String(text.unicodeScalars.map { isControl($0) ? " " : Character($0) })  // guard: subject-line
    }

    private static func text(_ key: String, _ value: JSONValue) throws(APIFailure) -> String {
        guard let text = value.string else { throw .badRequest("bad_value", "\"\(key)\" must be text.") }
        return text
    }

    /// Addresses as they were typed: a draft may hold half of one; sending checks them.
    private static func people(_ key: String, _ value: JSONValue) throws(APIFailure) -> [Address] {
        guard let items = value.array, items.count <= maximumPeople else {
            throw .badRequest("bad_value", "\"\(key)\" must be a list of at most \(maximumPeople) people.")
        }
        var people: [Address] = []
        for item in items {
            guard let email = item["email"]?.string, email.utf8.count <= 320 else {
                throw .badRequest("bad_value", "Each person in \"\(key)\" needs an \"email\".")
            }
            let name = oneLine(String((item["name"]?.string ?? "").prefix(200)))
            people.append(Address(name: name, email: oneLine(email).trimmingSpaces()))
        }
        return people
    }
}

/// Where drafts live and what they may hold.
enum DraftLimits {
    /// All attachments of one message together, in bytes.
    static let total = 25_000_000
    static let files = 20
    static let drafts = 500

    static var tooLarge: APIFailure {
        APIFailure(
            status: .contentTooLarge, code: "attachments_too_large",
            message: "The attachments of one message may have \(total / 1_000_000) MB together.")
    }

    /// Identifiers are made by the page, so that saving again after a lost answer makes no second draft.
    static func check(id: String) throws(APIFailure) {
        let isPlain =
            (16...64).contains(id.utf8.count)
            && id.utf8.allSatisfy {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                    || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "-")
            }
        guard isPlain else {  // guard: draft-id
            throw .badRequest("bad_id", "A draft's identifier has 16 to 64 letters, digits or hyphens.")
        }
    }
}

extension APIFailure {
    static let noDraft = APIFailure(
        status: .notFound, code: "not_found", message: "This draft is gone: it was sent or discarded.")

    static let noMessage = APIFailure(
        status: .notFound, code: "not_found", message: "This message is not in your mailbox.")
}
