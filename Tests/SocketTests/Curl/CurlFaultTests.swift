// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreCrypto
import NacreCurl
import NacreHTTP
import NacreRouting
import Testing

@testable import NacreListener

/// Answers that a server should not give, and connections that should not be trusted.
@Suite("libcurl transport: what may come back", .timeLimit(.minutes(1)))
struct CurlFaultTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let bytes: String
        /// Status and body, or the code of the error with what was readable before it.
        let outcome: String
        var method: HTTPMethod = .get
        var testDescription: String { name }
    }

    private static let many = (0..<1000).map { "X-\($0): v\r\n" }.joined()
    private static let endless = String(repeating: "X-A: " + String(repeating: "y", count: 8000) + "\r\n", count: 100)
    private static let lines = String(repeating: "X: y\r\n", count: 5000)

    @Test(
        "Every answer comes to an outcome, none is taken for more than it is",
        arguments: [
            Row(name: "the right length", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", outcome: "200 ok"),
            Row(
                name: "shorter than announced", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
                outcome: "200 ok!transport.protocol"),
            Row(
                name: "longer than announced", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more",
                outcome: "200 ok"),
            Row(name: "no length", bytes: "HTTP/1.1 200 OK\r\n\r\nok", outcome: "200 ok"),
            Row(
                name: "a length that is none", bytes: "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok",
                outcome: "!transport.protocol"),
            Row(
                name: "a negative length", bytes: "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nok",
                outcome: "!transport.protocol"),
            Row(
                name: "whole chunks",
                bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", outcome: "200 ok"),
            Row(
                name: "a chunk cut off", bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok",
                outcome: "200 ok!transport.protocol"),
            Row(
                name: "no last chunk", bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
                outcome: "200 ok!transport.protocol"),
            Row(
                name: "a chunk size that is none",
                bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok",
                outcome: "200 !transport.protocol"),
            Row(name: "nothing", bytes: "", outcome: "!transport.protocol"),
            Row(name: "a head cut off", bytes: "HTTP/1.1 200 OK\r\nContent-Le", outcome: "!transport.protocol"),
            Row(name: "no HTTP at all", bytes: "SSH-2.0-OpenSSH\r\n\r\n", outcome: "!transport.protocol"),
            Row(
                name: "1,000 headers", bytes: "HTTP/1.1 200 OK\r\n\(many)Content-Length: 2\r\n\r\nok", outcome: "200 ok"
            ),
            Row(
                name: "5,000 headers", bytes: "HTTP/1.1 200 OK\r\n\(lines)Content-Length: 2\r\n\r\nok",
                outcome: "!transport.protocol"),
            Row(
                name: "a head of 800 KB", bytes: "HTTP/1.1 200 OK\r\n\(endless)Content-Length: 2\r\n\r\nok",
                outcome: "!transport.protocol"),
            Row(
                name: "interim answers first",
                bytes:
                    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
                outcome: "200 ok"),
            Row(name: "interim answers only", bytes: "HTTP/1.1 100 Continue\r\n\r\n", outcome: "!transport.protocol"),
            Row(name: "204 with a body", bytes: "HTTP/1.1 204 No Content\r\n\r\nbody", outcome: "204 "),
            Row(
                name: "HEAD with a body", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", outcome: "200 ",
                method: .head),
            Row(
                name: "a redirect",
                bytes: "HTTP/1.1 302 Found\r\nLocation: http://evil.invalid/\r\nContent-Length: 0\r\n\r\n",
                outcome: "302 "),
            Row(
                name: "a compressed body stays as it is",
                bytes: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok", outcome: "200 ok"),
        ])
    func answers(_ row: Row) async throws {
        let loops = try EventLoops()
        let acceptor = SocketAcceptor(loops: loops) { socket in
            _ = try? await socket.readHead(until: .after(.seconds(10)))
            try? await socket.write(Array(row.bytes.utf8))
            socket.closeNow()
        }
        let port = try await acceptor.start()
        var outcome = ""
        do {
            let response = try await CurlTransport().send(
                HTTPRequest(method: row.method, authority: "127.0.0.1:\(port)", target: "/"))
            outcome = "\(response.status.rawValue) "
            while let chunk = try await response.body.stream.next() {
                outcome += String(decoding: chunk, as: UTF8.self)
            }
        } catch let error as NacreError {
            outcome += "!" + error.code.rawValue
        }
        acceptor.stop()
        loops.stop()
        #expect(outcome == row.outcome)
    }

    @Test(
        "Header bytes that are no UTF-8 are read as Latin-1; UTF-8 stays what it is",
        arguments: [
            ([0x66, 0xE9, 0x65] as [UInt8], "fée"), (Array("fée".utf8), "fée"), ([0xFF, 0xFE], "ÿþ"),
        ])
    func oddBytes(_ bytes: [UInt8], _ expected: String) async throws {
        let loops = try EventLoops()
        let acceptor = SocketAcceptor(loops: loops) { socket in
            _ = try? await socket.readHead(until: .after(.seconds(10)))
            let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Name: ".utf8) + bytes + Array("\r\n\r\n".utf8)
            try? await socket.write(head)
            socket.closeNow()
        }
        let port = try await acceptor.start()
        let response = try await CurlTransport().send(HTTPRequest(authority: "127.0.0.1:\(port)", target: "/"))
        #expect(response.fields["X-Name"] == expected)
        acceptor.stop()
        loops.stop()
    }

    // MARK: Certificates

    @Test(
        "A certificate that proves nothing is refused with its reason in plain words",
        arguments: [
            ("tls.self_signed", "localhost", 0, false, "self-signed"),
            ("tls.expired", "localhost", -60, true, "expired"),
            ("tls.not_yet_valid", "localhost", 60, true, "not valid yet"),
            ("tls.wrong_host", "other.example", 0, true, "another name"),
        ])
    func certificates(_ code: String, _ name: String, _ days: Int64, _ trusted: Bool, _ words: String) async throws {
        let moment = SystemTime().now + .seconds(days * 86_400)
        let made = try SelfSignedCertificate(names: [name], now: moment)
        let listener = HTTPListener(
            configuration: ListenerConfiguration(
                host: "127.0.0.1", port: 0,
                tls: try TLSServerIdentity(certificatePEM: made.certificatePEM, privateKeyPEM: made.privateKeyPEM)),
            responder: ClosureResponder { _, _ in HTTPResponse(body: .text("secret")) }, log: .none)
        let port = try await listener.start()
        let file = FileManager.default.temporaryDirectory.path + "/nacre-authority-" + SystemRandom().identifier()
        try Data(made.certificatePEM.utf8).write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        var configuration = CurlConfiguration()
        configuration.resolve = ["localhost:\(port):127.0.0.1"]
        if trusted { configuration.authoritiesFile = file }
        let transport = CurlTransport(configuration: configuration)
        let request = HTTPRequest(scheme: "https", authority: "localhost:\(port)", target: "/")
        let error = await #expect(throws: NacreError.self) { try await transport.send(request) }
        #expect(error?.code == "transport.tls")
        #expect(error.flatMap(CertificateFault.init)?.rawValue == code)
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("localhost") == true)
        await listener.stop(grace: .zero)
    }
}
