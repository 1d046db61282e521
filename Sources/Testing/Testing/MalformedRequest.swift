// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// A request that must not be taken, and the status that says so.
package struct MalformedRequest: Sendable, CustomStringConvertible {
    package let name: String
    /// The bytes as UTF-8.
    package let text: String
    /// The status it is refused with.
    package let status: Int
    package var description: String { name }

    init(_ name: String, _ status: Int, _ text: String) {
        self.name = name
        self.text = text
        self.status = status
    }

    private static let get = "GET / HTTP/1.1\r\nHost: a\r\n"
    private static let post = "POST / HTTP/1.1\r\nHost: a\r\n"
    private static let chunked = post + "Transfer-Encoding: chunked\r\n\r\n"

    /// Refused by the head alone.
    package static let heads = [
        MalformedRequest("length and chunked", 400, post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
        MalformedRequest("two lengths", 400, post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n"),
        MalformedRequest("two equal lengths", 400, post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n"),
        MalformedRequest("a length list", 400, post + "Content-Length: 5, 5\r\n\r\n"),
        MalformedRequest("a signed length", 400, post + "Content-Length: +5\r\n\r\n"),
        MalformedRequest("a negative length", 400, post + "Content-Length: -1\r\n\r\n"),
        MalformedRequest("a hexadecimal length", 400, post + "Content-Length: 0x5\r\n\r\n"),
        MalformedRequest("a length with a space inside", 400, post + "Content-Length: 5 5\r\n\r\n"),
        MalformedRequest("an empty length", 400, post + "Content-Length:\r\n\r\n"),
        MalformedRequest("a length beyond 64 bits", 413, post + "Content-Length: 18446744073709551621\r\n\r\n"),
        MalformedRequest("chunked before gzip", 400, post + "Transfer-Encoding: chunked, gzip\r\n\r\n"),
        MalformedRequest("gzip before chunked", 501, post + "Transfer-Encoding: gzip, chunked\r\n\r\n"),
        MalformedRequest("an unknown coding", 501, post + "Transfer-Encoding: xchunked\r\n\r\n"),
        // The Kelvin sign is a K to whoever compares characters or lower-cases them; not to a peer that compares bytes.
        MalformedRequest("a Kelvin sign in chunked", 501, post + "Transfer-Encoding: chun\u{212A}ed\r\n\r\n"),
        MalformedRequest("a vertical tab before chunked", 400, post + "Transfer-Encoding: \u{0B}chunked\r\n\r\n"),
        MalformedRequest("a coding with a parameter", 501, post + "Transfer-Encoding: chunked;a=b\r\n\r\n"),
        MalformedRequest("an empty coding", 501, post + "Transfer-Encoding:\r\n\r\n"),
        MalformedRequest("a folded coding", 400, post + "Transfer-Encoding:\r\n chunked\r\n\r\n"),
        MalformedRequest("a space before the colon of a coding", 400, post + "Transfer-Encoding : chunked\r\n\r\n"),
        MalformedRequest("a space before the colon of a length", 400, post + "Content-Length : 5\r\n\r\n"),
        MalformedRequest("chunked and length", 400, post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"),
        MalformedRequest(
            "another coding and a length", 400, post + "Transfer-Encoding: x\r\nContent-Length: 5\r\n\r\n"),
        MalformedRequest("two lengths in two cases", 400, post + "Content-Length: 5\r\ncONTENT-lENGTH: 5\r\n\r\n"),
        MalformedRequest("a length with a point", 400, post + "Content-Length: 5.0\r\n\r\n"),
        MalformedRequest("a length in other digits", 400, post + "Content-Length: \u{0665}\r\n\r\n"),
        MalformedRequest("identity", 501, post + "Transfer-Encoding: identity\r\n\r\n"),
        MalformedRequest(
            "chunked twice", 400, post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
        MalformedRequest("chunked in HTTP/1.0", 400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
        MalformedRequest("a space before the colon", 400, "GET / HTTP/1.1\r\nHost : a\r\n\r\n"),
        MalformedRequest("bare line feeds", 400, "GET / HTTP/1.1\nHost: a\n\n"),
        MalformedRequest("one bare line feed", 400, get + "X: 1\nY: 2\r\n\r\n"),
        MalformedRequest("a bare line feed after the request line", 400, "GET / HTTP/1.1\nHost: a\r\n\r\n"),
        MalformedRequest("a bare line feed at the end", 400, get + "\n"),
        MalformedRequest("a bare carriage return at the end", 400, get + "\r\r\n"),
        MalformedRequest("NUL after the version", 400, "GET / HTTP/1.1\0\r\nHost: a\r\n\r\n"),
        MalformedRequest("a line folded by a tab", 400, get + "X: 1\r\n\t2\r\n\r\n"),
        MalformedRequest("a bare carriage return in a value", 400, get + "X: 1\rY: 2\r\n\r\n"),
        MalformedRequest("a folded line", 400, get + "X: 1\r\n 2\r\n\r\n"),
        MalformedRequest("a folded first line", 400, "GET / HTTP/1.1\r\n Host: a\r\nHost: a\r\n\r\n"),
        MalformedRequest("no Host", 400, "GET / HTTP/1.1\r\n\r\n"),
        MalformedRequest("two Hosts", 400, get + "Host: a\r\n\r\n"),
        MalformedRequest("an empty Host", 400, "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
        MalformedRequest("two Hosts in two cases", 400, get + "hOST: b\r\n\r\n"),
        MalformedRequest("two Hosts in HTTP/1.0", 400, "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"),
        MalformedRequest("NUL in the Host", 400, "GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n"),
        MalformedRequest("a tab before the colon of the Host", 400, "GET / HTTP/1.1\r\nHost\t: a\r\n\r\n"),
        MalformedRequest("a Host list", 400, "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"),
        MalformedRequest("a Host with user information", 400, "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"),
        MalformedRequest("NUL in a value", 400, get + "X: a\0b\r\n\r\n"),
        MalformedRequest("NUL in a name", 400, get + "X\0Y: a\r\n\r\n"),
        MalformedRequest("NUL in the target", 400, "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"),
        MalformedRequest("an escape character in a value", 400, get + "X: \u{1B}[2J\r\n\r\n"),
        MalformedRequest("a header without a colon", 400, get + "XY\r\n\r\n"),
        MalformedRequest("a header without a name", 400, get + ": a\r\n\r\n"),
        MalformedRequest("a bracket in a name", 400, get + "X(y: a\r\n\r\n"),
        MalformedRequest("a space in the target", 400, "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"),
        MalformedRequest("two spaces", 400, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
        MalformedRequest("a tab in the request line", 400, "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        MalformedRequest("a raw umlaut in the target", 400, "GET /\u{E4} HTTP/1.1\r\nHost: a\r\n\r\n"),
        MalformedRequest("a fragment in the target", 400, "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n"),
        MalformedRequest("a target that is no path", 400, "GET a HTTP/1.1\r\nHost: a\r\n\r\n"),
        MalformedRequest("a star with GET", 400, "GET * HTTP/1.1\r\nHost: a\r\n\r\n"),
        MalformedRequest("a URL of another host", 400, "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        MalformedRequest("a URL without a host", 400, "GET http:///x HTTP/1.0\r\n\r\n"),
        MalformedRequest("another scheme", 400, "GET file:///etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n"),
        MalformedRequest("CONNECT without a port", 400, "CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n"),
        MalformedRequest("a lower-case method", 501, "get / HTTP/1.1\r\nHost: a\r\n\r\n"),
        MalformedRequest("a method that is no word", 400, "G@T / HTTP/1.1\r\nHost: a\r\n\r\n"),
        MalformedRequest("HTTP/0.9", 400, "GET /\r\n\r\n"),
        MalformedRequest("HTTP/1.2", 505, "GET / HTTP/1.2\r\nHost: a\r\n\r\n"),
        MalformedRequest("HTTP/2.0", 505, "GET / HTTP/2.0\r\nHost: a\r\n\r\n"),
        MalformedRequest("a lower-case version", 400, "GET / http/1.1\r\nHost: a\r\n\r\n"),
        MalformedRequest("a version with a letter", 400, "GET / HTTP/1.x\r\nHost: a\r\n\r\n"),
        MalformedRequest("an unknown expectation", 417, get + "Expect: tea\r\n\r\n"),
        MalformedRequest("a TLS hello", 400, "\u{16}\u{03}\u{01}"),
        MalformedRequest(
            "a target of 9 KB", 414, "GET /\(String(repeating: "a", count: 9000)) HTTP/1.1\r\nHost: a\r\n\r\n"),
        MalformedRequest("an endless request line", 414, "GET /" + String(repeating: "a", count: 40_000)),
        MalformedRequest("a value of 40 KB", 431, get + "X: \(String(repeating: "a", count: 40_000))\r\n\r\n"),
        MalformedRequest("a head of 100 KB", 431, get + String(repeating: "X-Filler: 0123456789\r\n", count: 4600)),
        MalformedRequest("a value of 100 KB", 431, get + "Cookie: \(String(repeating: "a=b; ", count: 20_000))"),
        MalformedRequest(
            "101 fields", 431, get + (0..<100).map { "X\($0): a\r\n" }.joined() + "\r\n"),
    ]

    /// Refused by the chunked coding of their body.
    package static let chunks = [
        MalformedRequest("junk after the size", 400, chunked + "5junk\r\nhello\r\n0\r\n\r\n"),
        MalformedRequest("a prefixed size", 400, chunked + "0x5\r\nhello\r\n0\r\n\r\n"),
        MalformedRequest("a space before the size", 400, chunked + " 5\r\nhello\r\n0\r\n\r\n"),
        MalformedRequest("a space after the size", 400, chunked + "5 \r\nhello\r\n0\r\n\r\n"),
        MalformedRequest("a signed size", 400, chunked + "+5\r\nhello\r\n0\r\n\r\n"),
        MalformedRequest("a size with an underscore", 400, chunked + "0_5\r\nhello\r\n0\r\n\r\n"),
        MalformedRequest("a comma after the size", 400, chunked + "5,a=b\r\nhello\r\n0\r\n\r\n"),
        MalformedRequest("a carriage return in an extension", 400, chunked + "5;a\rb\r\nhello\r\n0\r\n\r\n"),
        MalformedRequest("NUL after the size", 400, chunked + "5\0\r\nhello\r\n0\r\n\r\n"),
        MalformedRequest("a bare line feed after the last chunk", 400, chunked + "0\n\r\n"),
        MalformedRequest("a folded trailer", 400, chunked + "0\r\nX: a\r\n b\r\n\r\n"),
        MalformedRequest("a bare line feed in the trailer", 400, chunked + "0\r\nX: a\n\r\n"),
        MalformedRequest("a negative size", 400, chunked + "-1\r\nhello\r\n0\r\n\r\n"),
        MalformedRequest("an empty size", 400, chunked + "\r\nhello\r\n0\r\n\r\n"),
        MalformedRequest("a size beyond 60 bits", 400, chunked + "10000000000000005\r\nhello\r\n0\r\n\r\n"),
        MalformedRequest("a bare line feed after the size", 400, chunked + "5\nhello\r\n0\r\n\r\n"),
        MalformedRequest("a bare line feed after an extension", 400, chunked + "5;a=b\nhello\r\n0\r\n\r\n"),
        MalformedRequest("data beyond the size", 400, chunked + "5\r\nhelloXX0\r\n\r\n"),
        MalformedRequest("no carriage return after the data", 400, chunked + "5\r\nhello\n0\r\n\r\n"),
        MalformedRequest("an endless extension", 400, chunked + "5;" + String(repeating: "a", count: 300)),
        MalformedRequest("NUL in an extension", 400, chunked + "5;\0\r\nhello\r\n0\r\n\r\n"),
        MalformedRequest("a malformed trailer", 400, chunked + "0\r\nX : a\r\n\r\n"),
        MalformedRequest(
            "trailers of 9 KB", 431, chunked + "0\r\nX: \(String(repeating: "a", count: 9000))\r\n\r\n"),
    ]
}
