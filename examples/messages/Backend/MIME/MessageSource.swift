// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// Writes a message down as an `.eml` file (RFC 5322, RFC 2045) that any mail program opens.
struct MessageSource {
    var message: NewMessage

    var bytes: [UInt8] {
        var head = ["From: \(Self.people([message.from]))"]
        if !message.to.isEmpty { head.append("To: \(Self.people(message.to))") }
        if !message.cc.isEmpty { head.append("Cc: \(Self.people(message.cc))") }
        head += [
            "Subject: \(EncodedWord.encode(message.subject))", "Date: \(MailDate.text(message.sentAt))",
            "Message-ID: <\(Self.token(message.messageID))>", "MIME-Version: 1.0",
        ]
        return Array((head.joined(separator: "\r\n") + "\r\n" + content.joined(separator: "\r\n") + "\r\n").utf8)
    }

    /// Content headers, an empty line, content.
    private var content: [String] {
        var body: [String]
        switch (message.text, message.html) {
        case (let text?, let html?):
            body = Self.multipart("alternative", [Self.text("plain", text), marked(html)])
        case (nil, let html?): body = marked(html)
        case (let text, nil): body = Self.text("plain", text ?? "")
        }
        let files = message.files.filter { $0.cid == nil }
        if !files.isEmpty { body = Self.multipart("mixed", [body] + files.map(Self.file)) }
        return body
    }

    private func marked(_ html: String) -> [String] {
        let inline = message.files.filter { $0.cid != nil }
        let text = Self.text("html", html)
        return inline.isEmpty ? text : Self.multipart("related", [text] + inline.map(Self.file))
    }

    private static func text(_ kind: String, _ text: String) -> [String] {
        ["Content-Type: text/\(kind); charset=utf-8", "Content-Transfer-Encoding: base64", ""]
            + base64(Array(text.utf8))
    }

    private static func file(_ file: SampleAttachment) -> [String] {
        let name = FileName.safe(file.name)
        var head = [
            "Content-Type: \(BlobAnswer.contentType(file.type))", "Content-Transfer-Encoding: base64",
            "Content-Disposition: \(FileName.disposition(name, inline: file.cid != nil))",
        ]
        if let cid = file.cid { head.append("Content-ID: <\(token(cid))>") }
        return head + [""] + base64(file.bytes)
    }

    /// All content is base64, in which no boundary can occur.
    private static func multipart(_ kind: String, _ parts: [[String]]) -> [String] {
        let boundary = "=_\(kind)"
        return ["Content-Type: multipart/\(kind); boundary=\"\(boundary)\"", ""]
            + parts.flatMap { ["--\(boundary)"] + $0 } + ["--\(boundary)--", ""]
    }

    private static func base64(_ bytes: [UInt8]) -> [String] {
        stride(from: 0, to: bytes.count, by: 57).map { Base64.encode(bytes[$0..<min($0 + 57, bytes.count)]) }
    }

    private static func people(_ people: [Address]) -> String {
        people.map { person in
            let email = token(person.email)
            guard !person.name.isEmpty else { return email }
            let name = EncodedWord.encode(person.name)
            guard name == person.name else { return "\(name) <\(email)>" }
            let quoted = name.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined()
            return "\"\(quoted)\" <\(email)>"
        }.joined(separator: ",\r\n ")
    }

    /// Without what would end a line or an angle bracket.
    private static func token(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.value > 32 && $0 != "<" && $0 != ">" }))
    }
}
