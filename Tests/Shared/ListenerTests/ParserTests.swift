// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP
import NacreListener
import NacreTesting
import Testing

@Suite("The request parser")
struct ParserTests {
    private func head(_ text: String) throws -> RequestHead {
        var parser = RequestHeadParser()
        var input = ByteQueue(Array(text.utf8))
        return try #require(try parser.parse(&input))
    }

    @Test("A malformed head is refused with the status that fits", arguments: MalformedRequest.heads)
    func malformedHead(_ request: MalformedRequest) {
        var parser = RequestHeadParser()
        var input = ByteQueue(Array(request.text.utf8))
        var status: Int?
        do { _ = try parser.parse(&input) } catch { status = error.status }
        #expect(status == request.status)
    }

    @Test("A malformed chunked body is refused", arguments: MalformedRequest.chunks)
    func malformedChunks(_ request: MalformedRequest) {
        let last = parse(Array(request.text.utf8), cutAt: []).last ?? ""
        #expect(last.hasPrefix("refused \(request.status) "), "\(last)")
    }

    @Test("A plain request is taken apart")
    func plain() throws {
        let head = try head(
            "POST /a%2Fb?c=d|e HTTP/1.1\r\nHost: a.example:8080\r\nX-Y:  v w\t\r\ncontent-length:  5 \r\n\r\nhello")
        #expect(head.method == .post)
        #expect(head.target == "/a%2Fb?c=d|e")
        #expect(head.authority == "a.example:8080")
        #expect(head.fields.fields.map(\.name) == ["X-Y"])
        #expect(head.fields["x-y"] == "v w")
        #expect(head.framing == .length(5))
        #expect(head.wantsKeepAlive)
        #expect(!head.expectsContinue)
    }

    @Test("Connection and Expect are understood")
    func connection() throws {
        #expect(try !head("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n").wantsKeepAlive)
        #expect(try !head("GET / HTTP/1.0\r\n\r\n").wantsKeepAlive)
        #expect(try head("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").wantsKeepAlive)
        #expect(
            try head("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n").expectsContinue)
        #expect(try head("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").target == "*")
    }

    @Test("An absolute target of the same host becomes a path")
    func absolute() throws {
        let head = try head("GET http://A.example/b?c HTTP/1.1\r\nHost: a.example\r\n\r\n")
        #expect(head.target == "/b?c")
        #expect(head.isAbsolute)
        #expect(try self.head("GET http://a HTTP/1.1\r\nHost: a\r\n\r\n").target == "/")
    }

    @Test("CONNECT keeps its authority")
    func connect() throws {
        let head = try head("CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n")
        #expect(head.method == .connect)
        #expect(head.authority == "[::1]:443")
    }

    @Test("One empty line before a request is ignored, two are not")
    func emptyLines() throws {
        #expect(try head("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n").target == "/")
        #expect(parse(Array("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8), cutAt: [])[0].hasPrefix("refused 400"))
    }

    @Test("Bytes that are no UTF-8 are read as Latin-1")
    func latin1() throws {
        var parser = RequestHeadParser()
        var input = ByteQueue(Array("GET / HTTP/1.1\r\nHost: a\r\nX: ".utf8) + [0xE9] + Array("\r\n\r\n".utf8))
        #expect(try parser.parse(&input)?.fields["X"] == "\u{E9}")
    }

    @Test("Pipelined requests with bodies of every framing come out one after the other")
    func pipelined() {
        let text =
            "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"
            + "POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n2;x=y\r\nhi\r\n1\r\n!\r\n0\r\nT: v\r\n\r\n"
        let result = parse(Array(text.utf8), cutAt: [])
        #expect(
            result == [
                "GET /1 a 1 none []", "POST /2 a 1 length(2) []", "body [104, 105]", "POST /3 a 1 chunked []",
                "body [104, 105, 33]", "end",
            ])
    }

    @Test("What stands behind a head is not touched")
    func rest() throws {
        var parser = RequestHeadParser()
        var input = ByteQueue(Array("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n".utf8) + [0x16, 3, 1])
        _ = try parser.parse(&input)
        #expect(input.take(upTo: 10) == [0x16, 3, 1])
    }
}
