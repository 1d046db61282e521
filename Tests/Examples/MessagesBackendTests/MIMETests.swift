// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import Testing

@testable import MessagesBackend

@Suite("Mail as it is written down")
struct MIMETests {
    @Test(
        "Encoded words (RFC 2047)",
        arguments: [
            ("plain", "plain"), ("=?utf-8?q?caf=C3=A9_noir?=", "café noir"), ("=?ISO-8859-1?B?6ejg?=", "éèà"),
            ("=?utf-8?b?w4k=?= =?utf-8?b?dMOp?=", "Été"), ("=?utf-8?b?w4k=?= and =?utf-8?q?b?=", "É and b"),
            ("=?utf-8?B?4oI=?= =?utf-8?B?rA==?=", "€"), ("=?utf-8*en?q?a?=", "a"), ("=?broken", "=?broken"),
            ("=?utf-8?x?a?=", "=?utf-8?x?a?="), ("a =?windows-1252?q?=80?= b", "a € b"), ("=?x-no?q?=FF?=", "\u{FFFD}"),
        ])
    func encodedWords(raw: String, text: String) { #expect(EncodedWord.decode(raw) == text) }

    @Test(
        "What is written as encoded words reads back, on short lines, and can add no line of its own",
        arguments: ["Été à Köln 🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉", "日本語のとても長い件名です。もっと長くしましょう。", "a\r\nBcc: x@y.org", "=?utf-8?q?x?="])
    func writing(text: String) {
        let written = EncodedWord.encode(text)
        #expect(written.split(separator: "\r\n").allSatisfy { $0.utf8.count <= 76 && $0.utf8.allSatisfy { $0 < 0x7F } })
        #expect(written.split(separator: "\r\n").dropFirst().allSatisfy { $0.hasPrefix(" ") })
        #expect(EncodedWord.decode(written) == String(text.unicodeScalars.map { $0.value < 32 ? " " : Character($0) }))
    }

    @Test(
        "Addresses (RFC 5322)",
        arguments: [
            ("a@x.org", ["|a@x.org"]), ("Ann <a@x.org>, b@x.org", ["Ann|a@x.org", "|b@x.org"]),
            ("\"Doe, J. \\\"Jo\\\"\" <j@x.org>", ["Doe, J. \"Jo\"|j@x.org"]),
            ("=?utf-8?q?L=C3=A9a?= <l@x.org>", ["Léa|l@x.org"]),
            ("a@x.org (Ann (the one))", ["|a@x.org"]), ("Team: a@x.org, b@x.org;", ["|a@x.org", "|b@x.org"]),
            ("undisclosed-recipients:;", []), ("nobody", []), ("", []), ("<>", []), ("Ann <a@x.org", ["|Ann <a@x.org"]),
        ])
    func addresses(raw: String, people: [String]) {
        #expect(AddressList.parse(raw).map { "\($0.name)|\($0.email)" } == people)
    }

    @Test(
        "Dates (RFC 5322 and what came before it)",
        arguments: [
            ("Mon, 5 Jan 2026 08:12:00 +0000", 1_767_600_720), ("5 Jan 2026 09:12 +0100", 1_767_600_720),
            ("Mon, 05 Jan 26 03:12:00 EST", 1_767_600_720), ("Mon, 5 Jan 2026 08:12:00 GMT (UTC)", 1_767_600_720),
            ("Thu, 1 Jan 1970 00:00:00 -0000", 0), ("29 Feb 2024 12:00:00 +0000", 1_709_208_000),
            ("Wed, 31 Dec 1969 23:59:59 +0000", -1), ("yesterday", nil), ("5 Foo 2026 08:12:00", nil),
            ("5 Jan 2026", nil),
            ("99 Jan 2026 08:12:00", nil), ("5 Jan 2026 25:12:00", nil), ("", nil), ("5 Jan -1 0:0:0 0", nil),
        ] as [(String, Int64?)])
    func dates(raw: String, seconds: Int64?) { #expect(MailDate.parse(raw)?.seconds == seconds) }

    @Test("A written date reads back", arguments: [0, 1_767_600_720, 951_782_400, 4_102_444_799] as [Int64])
    func writtenDate(seconds: Int64) {
        #expect(MailDate.parse(MailDate.text(Instant(seconds: seconds))) == Instant(seconds: seconds))
        #expect(MailDate.text(Instant(seconds: 1_767_600_720)) == "Mon, 05 Jan 2026 08:12:00 +0000")
    }

    @Test(
        "Parameters (RFC 2045, RFC 2231)",
        arguments: [
            ("a/b; name=x.txt", "x.txt"), ("a/b; name=\"x; y.txt\"", "x; y.txt"), ("a/b; NAME = \"q\\\"q\"", "q\"q"),
            ("a/b; name*=UTF-8''caf%C3%A9.pdf", "café.pdf"),
            ("a/b; name*0=\"long \"; name*1=\"name.txt\"", "long name.txt"),
            ("a/b; name*0*=utf-8''%C3%A9; name*1=t; name*2*=%C3%A9", "été"),
            ("a/b; name=\"=?utf-8?q?=C3=A9?=.txt\"", "é.txt"),
            ("a/b", nil), ("", nil), (";;;name", nil), ("a/b; name*=iso-8859-1''%E9", "é"),
        ] as [(String, String?)])
    func parameters(raw: String, name: String?) { #expect(HeaderParameters(raw)["name"] == name) }

    @Test("Quoted-printable, with soft line breaks and what is broken left as it is")
    func quotedPrintable() {
        func decoded(_ text: String) -> String {
            String(decoding: TransferEncoding.quotedPrintable(Array(text.utf8)), as: UTF8.self)
        }
        #expect(decoded("caf=C3=A9 =\r\nnoir=3D=20") == "café noir= ")
        #expect(decoded("100=% and =") == "100=% and ")
        #expect(decoded("a=  \nb") == "ab")
    }

    private func mail(_ text: String) throws -> ParsedMail {
        try ParsedMail(
            Array(text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n").utf8))
    }

    @Test("Of two forms of one text both are there; a picture the text shows is inside it, one it does not is a file")
    func alternatives() throws {
        let parsed = try mail(
            """
            From: a@x.org
            Content-Type: multipart/related; boundary=r

            --r
            Content-Type: multipart/alternative; boundary=r-2

            --r-2

            words
            --r-2
            Content-Type: text/html

            <img src="cid:one@x">
            --r-2--
            --r
            Content-Type: image/png
            Content-ID: <one@x>
            Content-Transfer-Encoding: base64

            iVBO Rw==
            --r
            Content-Type: image/png; name=two.png
            Content-ID: <two@x>

            x
            --r--
            this is no part
            """)
        #expect(parsed.text == "words")
        #expect(parsed.html == "<img src=\"cid:one@x\">")
        #expect(parsed.attachments.map(\.name) == ["image-1.png", "two.png"])
        #expect(parsed.attachments.map(\.cid) == ["one@x", nil])
        #expect(parsed.attachments.first?.bytes == [0x89, 0x50, 0x4E, 0x47])
    }

    @Test("A message inside a message is a file of its own; a cut-off one gives what is there")
    func nested() throws {
        let parsed = try mail(
            """
            From: a@x.org
            Content-Type: multipart/mixed; boundary=b

            --b
            Content-Type: message/rfc822

            From: inner@x.org
            Subject: inner

            inner text
            --b
            Content-Type: text/plain
            Content-Disposition: attachment; filename="notes.txt"

            cut off he
            """)
        #expect(parsed.attachments.map(\.name) == ["message-1.eml", "notes.txt"])
        #expect(parsed.attachments.last?.bytes == Array("cut off he".utf8))
        #expect(try ParsedMail(parsed.attachments[0].bytes).subject == "inner")
    }

    @Test("Thousands of header fields are cut, not kept")
    func header() throws {
        let fields = (0..<5000).map { "X-\($0): a" }.joined(separator: "\n")
        let (header, _) = MailHeader.split(Array("From: a@x.org\n\(fields)\n\nbody".utf8)[...])
        #expect(header.fields.count == MailHeader.maximumFields)
        #expect(header["from"] == "a@x.org")
    }

    @Test("Folded fields are one line; either kind of line end")
    func folded() throws {
        let (header, body) = MailHeader.split(Array("Subject: one\n two\r\n\tthree\r\n\r\nbody\n".utf8)[...])
        #expect(header["subject"] == "one two\tthree")
        #expect(Array(body) == Array("body\n".utf8))
    }

    @Test("Names and Message-IDs that came from elsewhere add no field to a file")
    func injection() throws {
        let source = MessageSource(
            message: NewMessage(
                from: Address(name: "A\r\nX-One: 1", email: "a@x.org>\r\nX-Two: 2"), to: [], cc: [],
                subject: "s\r\n\r\nX-Three: 3", sentAt: Instant(seconds: 0), text: "t", html: nil,
                messageID: "i>\r\nX-Four: 4",
                files: [SampleAttachment(name: "f\"\r\nX-Five: 5", type: "a/b\r\nX-Six: 6", cid: nil, bytes: [1])]))
        let text = String(decoding: source.bytes, as: UTF8.self)
        #expect(!text.split(separator: "\r\n").contains { $0.hasPrefix("X-") })
        let (header, _) = MailHeader.split(source.bytes[...])
        #expect(
            Set(header.fields.map(\.name)) == ["from", "subject", "date", "message-id", "mime-version", "content-type"])
    }
}
