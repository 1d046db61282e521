// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// A message as it lies in an `.eml` file or an archive, taken apart.
struct ParsedMail {
    static let maximumParts = 200
    static let maximumDepth = 12

    var from = Address(name: "", email: "")
    var to: [Address] = []
    var cc: [Address] = []
    var subject = ""
    var date: Instant?
    /// Message-ID without angle brackets.
    var messageID: String?
    /// Message-IDs of what it answers, the nearest last.
    var references: [String] = []
    var text: String?
    var html: String?
    var attachments: [SampleAttachment] = []
    private var parts = 0

    /// Takes a message apart.
    ///
    /// - Throws: 400 when these bytes are no message: no header, or nothing in it that mail has.
    init(_ bytes: [UInt8]) throws(APIFailure) {
        let (header, body) = MailHeader.split(bytes[...])
        guard header["from"] != nil || header["date"] != nil || header["message-id"] != nil || header["subject"] != nil
        else {  // guard: no-message
            throw .badRequest("no_message", "This is no e-mail message: it has no From, Date or Subject.")
        }
        from = AddressList.parse(header["from"] ?? header["sender"]).first ?? from
        to = AddressList.parse(header["to"])
        cc = AddressList.parse(header["cc"])
        subject = EncodedWord.decode(header["subject"] ?? "").unicodeScalars.reduce(into: "") { text, scalar in
            text.unicodeScalars.append(scalar.value < 32 ? " " : scalar)
        }
        date = MailDate.parse(header["date"])
        messageID = Self.identifiers(header["message-id"]).first
        references = Self.identifiers(header["references"]) + Self.identifiers(header["in-reply-to"])
        try walk(header, body, depth: 0)
        settleInline()
    }

    private static func identifiers(_ text: String?) -> [String] {
        (text ?? "").split(separator: "<").compactMap { part in
            guard let end = part.firstIndex(of: ">"), end > part.startIndex, part.utf8.count < 1000 else { return nil }
            return String(part[..<end])
        }.suffix(50)
    }

    private mutating func walk(_ header: MailHeader, _ body: ArraySlice<UInt8>, depth: Int) throws(APIFailure) {
        parts += 1
        guard depth <= Self.maximumDepth, parts <= Self.maximumParts else {  // guard: mime-bomb
            throw .badRequest(
                "too_many_parts", "This message has more than \(Self.maximumParts) parts, or nests them too deep.")
        }
        let type = HeaderParameters(header["content-type"])
        if type.value.hasPrefix("multipart/"), let boundary = type["boundary"], !boundary.isEmpty {
            for part in MultipartBody.parts(of: body, boundary: boundary) {
                let (inner, content) = MailHeader.split(part)
                try walk(inner, content, depth: depth + 1)
            }
            return
        }
        let bytes = TransferEncoding.decode(body, header["content-transfer-encoding"])
        let disposition = HeaderParameters(header["content-disposition"])
        let name = disposition["filename"] ?? type["name"]
        let isText = type.value.isEmpty || type.value == "text/plain"
        if disposition.value != "attachment", name == nil, isText, text == nil {
            text = Self.lines(Charset.decode(bytes, type["charset"]))
        } else if disposition.value != "attachment", name == nil, type.value == "text/html", html == nil {
            html = Charset.decode(bytes, type["charset"])
        } else {
            let kind = type.value.isEmpty ? "text/plain" : BlobAnswer.contentType(type.value)
            attachments.append(
                SampleAttachment(
                    name: name ?? Self.name(for: kind, attachments.count + 1), type: kind,
                    cid: Self.identifiers(header["content-id"]).first, bytes: bytes))
        }
    }

    private static func lines(_ text: String) -> String {
        text.split(separator: "\r\n", omittingEmptySubsequences: false).joined(separator: "\n")
    }

    private static func name(for type: String, _ number: Int) -> String {
        switch type {
        case "message/rfc822": "message-\(number).eml"
        case "text/calendar": "event-\(number).ics"
        case "text/plain": "text-\(number).txt"
        case "text/html": "page-\(number).html"
        default:
            type.hasPrefix("image/")
                ? "image-\(number).\(type.dropFirst(6).prefix { $0 != "+" })" : "attachment-\(number)"
        }
    }

    /// Many programs give every attachment a Content-ID: inside the text is only what the text shows.
    private mutating func settleInline() {
        for index in attachments.indices {
            guard let cid = attachments[index].cid else { continue }
            let isShown = html.map { $0.contains("cid:\(cid)") } ?? false
            if !isShown { attachments[index].cid = nil }
        }
    }
}

extension ParsedMail {
    /// The message as the API shows one; its attachments have names, but no addresses of their own.
    var json: JSONValue {
        [
            "subject": .string(subject), "from": from.json, "to": .array(to.map(\.json)), "cc": .array(cc.map(\.json)),
            "sent_at": JSONValue(date?.timestamp), "text": JSONValue(text), "html": JSONValue(html),
            "attachments": .array(
                attachments.map {
                    [
                        "name": .string(FileName.safe($0.name)), "type": .string($0.type),
                        "size": JSONValue($0.bytes.count), "inline": .bool($0.cid != nil),
                    ]
                }),
        ]
    }
}

/// A body of several parts (RFC 2046 section 5.1).
enum MultipartBody {
    static func parts(of body: ArraySlice<UInt8>, boundary: String) -> [ArraySlice<UInt8>] {
        let mark = Array("--\(boundary)".utf8)
        var parts: [ArraySlice<UInt8>] = []
        var start: Int?
        var lines = MailLines(body)
        while let line = lines.next() {
            guard line.content.starts(with: mark) else { continue }
            let rest = line.content.dropFirst(mark.count)
            let isLast = rest.starts(with: [45, 45])
            // "--boundary-2" is another boundary.
            guard isLast || rest.allSatisfy({ $0 == 32 || $0 == 9 }) else { continue }
            if let start {
                // The line end before a boundary belongs to the boundary.
                var end = line.start
                if end > start, body[end - 1] == 10 { end -= 1 }
                if end > start, body[end - 1] == 13 { end -= 1 }
                parts.append(body[start..<max(start, end)])
            }
            start = isLast ? nil : line.end
            if isLast || parts.count > ParsedMail.maximumParts { return parts }
        }
        // Cut off without its end: what is there counts.
        if let start, start < body.endIndex { parts.append(body[start...]) }
        return parts
    }
}
