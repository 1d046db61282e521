// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Testing

@testable import NacreListener

@Suite struct UpstreamHeadTests {
    private func read(_ text: String, method: HTTPMethod = .get, piece: Int = .max) throws -> UpstreamHead? {
        var parser = UpstreamHeadParser(method: method)
        var input = ByteQueue()
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            input.append(Array(rest.prefix(piece)))
            rest = rest.dropFirst(piece)
            if let head = try parser.parse(&input) { return head }
        }
        return nil
    }

    @Test(
        "an answer that two readers could take in two ways is none",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chun\u{212A}ed\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
            "HTTP/1.1 200 OK\nContent-Length: 5\n\n", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX : a\r\n\r\n", "HTTP/1.1 200 OK\r\nX\r\n\r\n", "HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX: a\rY: b\r\n\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.2 200 OK\r\n\r\n", "200 OK\r\n\r\n",
            "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 099 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "ICY 200 OK\r\n\r\n",
            "\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n",
        ])
    func ambiguous(text: String) throws {
        for piece in [1, 7, Int.max] {
            let error = #expect(throws: NacreError.self) { try read(text, piece: piece) }
            #expect(error?.code == "transport.protocol")
        }
    }

    @Test(
        "the end of a body is found as RFC 9112 says",
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", UpstreamHead.Framing.length(5), true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n", .length(5), false),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n", .chunked, true),
            ("HTTP/1.1 200 OK\r\n\r\n", .untilClose, false), ("HTTP/1.1 200\r\n\r\n", .untilClose, false),
            ("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", .length(5), false),
            ("HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: Keep-Alive\r\n\r\n", .length(5), true),
            ("HTTP/1.1 204 No Content\r\n\r\n", .none, true),
            ("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", .none, false),
            ("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", .none, false),
            ("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", .none, true),
        ])
    func framing(text: String, framing: UpstreamHead.Framing, keeps: Bool) throws {
        let head = try #require(try read(text))
        #expect(head.framing == framing && head.keepsAlive == keeps)
        let toHead = try #require(try read(text, method: .head))
        #expect(toHead.framing == .none)
    }

    @Test func `a head that is too long or has too many fields is none`() throws {
        let field = "X: " + String(repeating: "a", count: 1000) + "\r\n"
        #expect(throws: NacreError.self) { try read("HTTP/1.1 200 OK\r\n" + String(repeating: field, count: 70)) }
        #expect(throws: NacreError.self) { try read("HTTP/1.1 200 OK\r\nX: " + String(repeating: "a", count: 100_000)) }
        #expect(throws: NacreError.self) {
            try read("HTTP/1.1 200 OK\r\n" + String(repeating: "X: a\r\n", count: 201) + "\r\n")
        }
        #expect(try read("HTTP/1.1 200 OK\r\n" + String(repeating: "X: a\r\n", count: 200) + "\r\n") != nil)
    }

    @Test(
        "a request that would become two is not sent",
        arguments: [
            HTTPRequest(authority: "a", target: "/a b"), HTTPRequest(authority: "a", target: "/a\r\nX: y"),
            HTTPRequest(authority: "a", target: "a"), HTTPRequest(method: "GET /x", authority: "a", target: "/"),
            HTTPRequest(authority: "a\r\nX: y", target: "/"),
            HTTPRequest(authority: "a", target: "/", fields: ["X": "a\r\nY: b"]),
            HTTPRequest(authority: "a", target: "/", fields: ["X\r\nY": "b"]),
        ])
    func splitting(request: HTTPRequest) {
        #expect(throws: NacreError.self) { try UpstreamRequest.head(request) }
    }

    @Test func `framing and Connection are ours, whatever the fields say`() throws {
        let request = HTTPRequest(
            method: .post, authority: "a", target: "/",
            fields: ["Content-Length": "7", "Transfer-Encoding": "chunked", "Connection": "X", "Keep-Alive": "1"],
            body: .bytes([1, 2]))
        #expect(
            String(decoding: try UpstreamRequest.head(request), as: UTF8.self)
                == "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n")
    }
}
