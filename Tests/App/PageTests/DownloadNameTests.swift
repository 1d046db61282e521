// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP
import Testing

@testable import NacrePage

@Suite("NB-5: what a download is called")
struct DownloadNameTests {
    @Test(
        "Any text becomes a name that is safe on every system, or nothing",
        arguments: [
            ("report.pdf", "report.pdf"), ("../../x", "x"), ("..\\..\\x.txt", "x.txt"), ("/etc/passwd", "passwd"),
            ("C:\\Windows\\a.dll", "a.dll"), ("a/", "a"), ("..", nil), (".", nil), ("...", nil), ("", nil),
            ("   ", nil),
            ("/", nil), (".bashrc", "bashrc"), ("a.", "a"), ("a. . ", "a"), (" a b ", "a b"), ("CON", "_CON"),
            ("con.txt", "_con.txt"), ("Con .txt", "_Con .txt"), ("nul", "_nul"), ("COM1", "_COM1"),
            ("lpt9.x", "_lpt9.x"),
            ("COM10", "COM10"), ("CONSOLE", "CONSOLE"), ("a\u{0}b", "ab"), ("a\r\nb", "ab"), ("a\u{1F}\u{7F}b", "ab"),
            ("invoice\u{202E}fdp.exe", "invoicefdp.exe"), ("a\u{200B}\u{FEFF}b", "ab"), ("a\u{2028}b", "ab"),
            ("\u{FFFD}", nil), ("été 日本.txt", "été 日本.txt"), ("a<b>:\"|?*c", "a_b______c"), ("100%.txt", "100%.txt"),
        ] as [(String, String?)])
    func sanitize(_ text: String, _ expected: String?) {
        #expect(DownloadName.sanitize(text) == expected)
    }

    @Test(
        "A name of 300 characters is cut, its extension stays, no character is cut in two",
        arguments: ["a", "é", "日", "👩‍🚀"])
    func long(_ letter: String) throws {
        let name = try #require(DownloadName.sanitize(String(repeating: letter, count: 300) + ".tar.gz"))
        #expect(name.utf8.count <= DownloadName.limit)
        #expect(name.hasSuffix(".gz"))
        #expect(!name.unicodeScalars.contains("\u{FFFD}"))
        let bare = try #require(DownloadName.sanitize(String(repeating: letter, count: 300)))
        #expect(bare.utf8.count <= DownloadName.limit)
    }

    @Test(
        "RFC 6266, RFC 8187: what Content-Disposition says",
        arguments: [
            ("attachment", true, nil), ("inline", false, nil), ("INLINE; filename=a.txt", false, "a.txt"),
            ("attachment; filename=a.txt", true, "a.txt"), ("attachment; filename=\"a b;c.txt\"", true, "a b;c.txt"),
            ("attachment; filename=\"a\\\"b.txt\"", true, "a\"b.txt"), ("Attachment;FileName=\"x\"", true, "x"),
            ("attachment; filename*=UTF-8''%e2%82%ac%20rates.txt", true, "€ rates.txt"),
            ("attachment; filename=\"plain.txt\"; filename*=UTF-8'en'na%C3%AFve.txt", true, "naïve.txt"),
            ("attachment; filename*=utf-8''first.txt; filename=second.txt", true, "first.txt"),
            ("attachment; filename*=iso-8859-1''%A3.txt", true, "£.txt"),
            ("attachment; filename*=UTF-8''%ff%fe; filename=ok.txt", true, "ok.txt"),
            ("attachment; filename*=KOI8-R''x; filename=ok.txt", true, "ok.txt"),
            ("attachment; filename*=nonsense; filename=ok.txt", true, "ok.txt"),
            ("attachment; filename=\"na%C3%AFve.txt\"", true, "naïve.txt"),
            ("attachment; filename=\"100%.txt\"", true, "100%.txt"), ("filename=a.txt", false, "a.txt"),
            ("attachment; filename=\"open", true, "open"), ("", false, nil), ("form-data; name=x", true, nil),
            ("attachment; filename=a.txt; filename=b.txt", true, "a.txt"),
        ] as [(String, Bool, String?)])
    func disposition(_ field: String, _ isAttachment: Bool, _ filename: String?) throws {
        let found = try #require(ContentDisposition(field))
        #expect(found.isAttachment == isAttachment)
        #expect(found.filename == filename)
    }

    @Test(
        "The server's word, then the link's, then the address; a missing extension follows from the type",
        arguments: [
            ("attachment; filename=\"../../x.txt\"", "link.txt", "https://a.example/b/c.txt", "text/plain", "x.txt"),
            ("attachment", "link.txt", "https://a.example/b/c.txt", "text/plain", "link.txt"),
            ("attachment", nil, "https://a.example/b/%2e%2e%2fc%20d.txt?x=1", "text/plain", "c d.txt"),
            ("attachment", nil, "https://a.example/", "application/pdf; x=y", "download.pdf"),
            ("attachment; filename=\"..\"", nil, "https://a.example/42", "image/png", "42.png"),
            ("attachment; filename=\"report\"", nil, "https://a.example/42", "application/x-unknown", "report"),
            ("attachment", "", "https://a.example/%ff", nil, "download"),
        ] as [(String, String?, String, String?, String)])
    func choose(_ field: String, _ link: String?, _ url: String, _ type: String?, _ expected: String) throws {
        var fields: HTTPFields = ["Content-Disposition": field]
        fields["Content-Type"] = type
        #expect(DownloadName.choose(fields: fields, url: try WebURL(url), suggested: link) == expected)
    }
}
