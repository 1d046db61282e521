// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Testing

@testable import MessagesBackend

@Suite("Attachments")
struct BlobTests {
    private func attachment(
        _ words: String, _ name: String, _ server: Harness
    ) async throws -> (meta: JSONValue, response: HTTPResponse, bytes: [UInt8]) {
        let thread = try await server.json("threads/\(try await server.find(words))/")
        let all = (thread["messages"]?.array ?? []).flatMap { $0["attachments"]?.array ?? [] }
        let meta = try #require(all.first { $0["name"]?.string == name }, "\(all.map { $0["name"] })")
        let (response, bytes) = try await server.get("blob/\(try #require(meta["id"]?.string))/")
        return (meta, response, bytes)
    }

    @Test("A picture may be shown in place and arrives whole")
    func picture() async throws {
        let (meta, response, bytes) = try await attachment("Photos lighthouse", "sunrise.png", Harness())
        #expect(meta["inline"] == true)
        #expect(meta["cid"] == "sunrise@whitlock.example.org")
        #expect(meta["size"]?.integer == Int64(bytes.count))
        #expect(bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        #expect(response.fields["Content-Type"] == "image/png")
        #expect(response.fields["Content-Disposition"]?.hasPrefix("inline;") == true)
        #expect(response.fields["X-Content-Type-Options"] == "nosniff")
        #expect(response.fields["Cache-Control"] == "no-store")
    }

    @Test(
        "What could act as a page is a download in a sandbox",
        arguments: [
            ("invoice.html", "text/html; charset=utf-8"), ("logo.svg", "image/svg+xml"),
            ("_passwd_gpj.exe", "application/x-msdownload"),
        ])
    func dangerous(name: String, type: String) async throws {
        let (_, response, _) = try await attachment("Invoice attached: invoice.html", name, Harness())
        #expect(response.fields["Content-Type"] == type)
        #expect(response.fields["Content-Disposition"]?.hasPrefix("attachment;") == true)
        #expect(response.fields["X-Content-Type-Options"] == "nosniff")
        #expect(response.fields["Content-Security-Policy"]?.contains("sandbox") == true)
        #expect(response.fields["Content-Security-Policy"]?.contains("default-src 'none'") == true)
    }

    @Test(
        "Names of all sorts become names that a header and a disk survive",
        arguments: [
            ("report.pdf", "report.pdf"), ("../../etc/passwd", "passwd"), ("C:\\Windows\\run.exe", "run.exe"),
            ("line\r\nSet-Cookie: a=b.txt", "Set-Cookie: a=b.txt"), ("cv\u{202E}fdp.exe", "cvfdp.exe"),
            ("a\"b;c.txt", "a_b_c.txt"), ("", "attachment"), ("..", "attachment"), ("nul\0l.txt", "null.txt"),
            (String(repeating: "é", count: 300) + ".txt", String(repeating: "é", count: 116) + ".txt"),
        ])
    func names(raw: String, safe: String) {
        #expect(FileName.safe(raw) == safe)
        let value = FileName.disposition(FileName.safe(raw), inline: false)
        #expect(value.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
        #expect(value.split(separator: "\"").count == 3)
    }

    @Test(
        "A type that is no type becomes any bytes",
        arguments: [
            ("image/PNG", "image/png"), ("text/html\r\nSet-Cookie: a=b", "application/octet-stream"),
            ("text", "application/octet-stream"), ("", "application/octet-stream"),
            ("a/b/c", "application/octet-stream"), ("text/html; charset=utf-7", "application/octet-stream"),
        ])
    func types(raw: String, sent: String) { #expect(BlobAnswer.contentType(raw) == sent) }
}
