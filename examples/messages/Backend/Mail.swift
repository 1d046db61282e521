// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// A name and an address.
struct Address: Equatable, Sendable {
    var name: String
    var email: String

    var json: JSONValue { ["name": .string(name), "email": .string(email)] }

    init(name: String, email: String) {
        self.name = name
        self.email = email
    }

    /// Reads `Name <email>` or a bare address. The name may hold anything, angle brackets too.
    init(_ text: String) {
        guard text.hasSuffix(">"), let open = text.lastIndex(of: "<") else {
            self.init(name: "", email: text)
            return
        }
        var name = text[..<open]
        while name.last == " " { name.removeLast() }
        if name.count > 1, name.first == "\"", name.last == "\"" { name = name.dropFirst().dropLast() }
        self.init(name: String(name), email: String(text[text.index(after: open)...].dropLast()))
    }
}

/// A sample conversation; people are addresses or the word `me`, times are minutes before the copy is made.
struct SampleThread: Sendable {
    var subject: String
    var mailbox: Mailbox
    var starred: Bool
    var unread: Bool
    var messages: [SampleMessage]
}

/// A sample message.
struct SampleMessage: Sendable {
    var from: String
    var to: [String]
    var cc: [String]
    var minutesAgo: Int64
    var text: String?
    var html: String?
    var attachments: [SampleAttachment]
}

/// A sample attachment; one with a `cid` is shown inside the HTML text.
struct SampleAttachment: Sendable {
    var name: String
    var type: String
    var cid: String?
    var bytes: [UInt8]
}
