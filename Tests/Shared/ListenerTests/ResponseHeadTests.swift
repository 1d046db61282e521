// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Testing

@testable import NacreListener

@Suite("Response heads")
struct ResponseHeadTests {
    private func head(_ method: String = "GET", minor: Int = 1) throws -> RequestHead {
        var parser = RequestHeadParser()
        var input = ByteQueue(Array("\(method) / HTTP/1.\(minor)\r\nHost: a\r\n\r\n".utf8))
        return try #require(try parser.parse(&input))
    }

    private func written(_ response: HTTPResponse, to head: RequestHead) throws -> String {
        let framing = ResponseFraming(response, to: head)
        let date = DateField(time: SystemTime())
        let bytes = try ResponseHead(response: response, framing: framing, connection: nil, date: date).bytes()
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("The framing follows from the body, whatever the handler's fields say")
    func framing() throws {
        let lying: HTTPFields = ["Content-Length": "9", "Transfer-Encoding": "gzip", "Connection": "x", "X": "y"]
        let text = try written(HTTPResponse(fields: lying, body: .text("abc")), to: head())
        #expect(text.contains("Content-Length: 3\r\n"))
        #expect(!text.contains("9\r\n") && !text.contains("gzip") && !text.contains("Connection"))
        #expect(text.contains("X: y\r\n"))
        let stream = HTTPResponse(body: .stream(ByteStream { nil }, length: nil))
        #expect(try written(stream, to: head()).contains("Transfer-Encoding: chunked\r\n"))
        #expect(try ResponseFraming(stream, to: head(minor: 0)) == .untilClose)
    }

    @Test("HEAD tells the length and 204 tells none")
    func noBody() throws {
        #expect(try written(HTTPResponse(body: .text("abc")), to: head("HEAD")).contains("Content-Length: 3\r\n"))
        #expect(try written(HTTPResponse(fields: ["Content-Length": "7"]), to: head("HEAD")).contains("Length: 7\r\n"))
        #expect(try !written(HTTPResponse(status: .noContent), to: head()).contains("Content-Length"))
        #expect(try written(HTTPResponse(), to: head()).contains("Content-Length: 0\r\n"))
    }

    @Test(
        "A field that would split the response is not written",
        arguments: [
            ("X", "a\r\nSet-Cookie: b=c"), ("X", "a\nb"), ("X\r\nY", "a"), ("X", "a\0"), ("X Y", "a"), ("", "a"),
        ])
    func splitting(_ name: String, _ value: String) throws {
        var response = HTTPResponse()
        response.fields.append(name, value)
        #expect(throws: NacreError.self) { try written(response, to: head()) }
    }
}
