// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreListener
import NacreRouting
import NacreTesting
import Testing

extension ListenerSocketTests {
    @Suite("Requests")
    struct Requests {
        @Test("Every malformed request is refused over the wire and its connection closed")
        func malformed() async throws {
            try await ListenerWorld.run { request, _ in
                _ = try await request.body.collect(upTo: 1000)
                return HTTPResponse(body: .text("ACCEPTED"))
            } body: { world in
                for request in MalformedRequest.heads + MalformedRequest.chunks {
                    let answer = try await world.exchange(request.text)
                    // What a handler finds out about a body is a plain 400; the head's own words come from the parser.
                    let status = MalformedRequest.chunks.contains { $0.name == request.name } ? 400 : request.status
                    #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(request.name): \(answer)")
                    #expect(answer.contains("Connection: close\r\n"), "\(request.name)")
                    #expect(!answer.contains("ACCEPTED") && !answer.contains("<reset>"), "\(request.name): \(answer)")
                }
            }
        }

        @Test("A smuggled second request is never answered")
        func smuggling() async throws {
            let seen = Counter()
            try await ListenerWorld.run { _, _ in
                seen.add()
                return HTTPResponse()
            } body: { world in
                let inner = "GET /inner HTTP/1.1\r\nHost: a\r\n\r\n"
                _ = try await world.exchange(
                    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(inner.utf8.count + 5)\r\n"
                        + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner)
                #expect(seen.value == 0)
            }
        }

        @Test("Pipelined requests are answered in order on one connection")
        func pipelining() async throws {
            try await ListenerWorld.run { request, _ in
                if request.target == "/1" { try await Task.sleep(for: .milliseconds(50)) }
                return HTTPResponse(body: .text("<\(request.target)>"))
            } body: { world in
                let answer = try await world.exchange(
                    "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"
                        + "GET /3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                let targets = answer.split(separator: "<").compactMap { $0.split(separator: ">").first }.dropFirst()
                #expect(targets == ["/1", "/2", "/3"], "\(answer)")
            }
        }

        @Test("HEAD and 204 have no body, and the next response follows at once")
        func noBody() async throws {
            try await ListenerWorld.run { request, _ in
                request.target == "/204" ? HTTPResponse(status: .noContent) : HTTPResponse(body: .text("abc"))
            } body: { world in
                let answer = try await world.exchange(
                    "HEAD / HTTP/1.1\r\nHost: a\r\n\r\nGET /204 HTTP/1.1\r\nHost: a\r\n\r\n"
                        + "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                let parts = answer.split(separator: "HTTP/1.1 ").map(String.init)
                #expect(parts.count == 3)
                #expect(parts[0].contains("Content-Length: 3\r\n") && parts[0].hasSuffix("\r\n\r\n"))
                #expect(parts[1].hasPrefix("204 ") && parts[1].hasSuffix("\r\n\r\n"))
                #expect(parts[2].hasSuffix("abc"))
                #expect(answer.contains("Date: "))
            }
        }

        @Test("100 Continue comes only when the handler wants the body")
        func expectation() async throws {
            try await ListenerWorld.run { request, _ in
                guard request.target == "/take" else { return HTTPResponse(status: .forbidden) }
                return HTTPResponse(body: .bytes(try await request.body.collect(upTo: 10)))
            } body: { world in
                let head = " HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
                let taken = try await world.connect()
                try await taken.write("PUT /take" + head)
                #expect(try await taken.read(through: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
                try await taken.write("hi")
                #expect(try await taken.read(through: "hi").contains("HTTP/1.1 200 OK"))
                let refused = try await world.exchange("PUT /no" + head)
                #expect(refused.hasPrefix("HTTP/1.1 403 ") && refused.contains("Connection: close"))
            }
        }

        @Test(
            "An answer that comes long before the end of the body says that the connection ends with it",
            arguments: [
                ("Content-Length: 10\r\n\r\n0123456789", "/no", false),
                ("Content-Length: 2000000\r\n\r\n01234", "/no", true),
                ("Transfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n", "/no", true),
                ("Content-Length: 2000000\r\n\r\n01234", "/reading", true),
                ("Content-Length: 2\r\n\r\nhi", "/whole", false),
                ("Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", "/whole", false),
            ])
        func saysThatItEnds(rest: String, target: String, ends: Bool) async throws {
            try await ListenerWorld.run { request, _ in
                guard target != "/no" else { return HTTPResponse(status: .forbidden) }
                guard target == "/reading" else {
                    return HTTPResponse(body: .bytes(try await request.body.collect(upTo: 10)))
                }
                // Somebody waits for more of it as the answer goes out.
                let body = request.body
                let reading = Task { _ = try await body.collect(upTo: 2_000_000) }
                try await Task.sleep(for: .milliseconds(100))
                return HTTPResponse(
                    status: .forbidden,
                    body: .stream(
                        ByteStream {
                            reading.cancel()
                            return nil
                        }, length: 0))
            } body: { world in
                let socket = try await world.connect()
                try await socket.write("POST \(target) HTTP/1.1\r\nHost: a\r\n" + rest)
                let head = try await socket.read(through: "\r\n\r\n")
                #expect(head.contains("Connection: close\r\n") == ends)
            }
        }

        @Test("An early answer reaches a client that is still sending")
        func earlyAnswer() async throws {
            try await ListenerWorld.run { request, _ in
                _ = try await request.body.collect(upTo: 1000)
                return HTTPResponse()
            } body: { world in
                let body = [UInt8](repeating: 120, count: 2_000_000)
                let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n"
                let answer = try await world.exchange(Array(head.utf8) + body)
                #expect(answer.hasPrefix("HTTP/1.1 413 "), "\(answer)")
                #expect(!answer.contains("<reset>"))
            }
        }

        @Test("A handler's error is a 500 without its words; the connection lives on")
        func handlerError() async throws {
            try await ListenerWorld.run { request, _ in
                if request.target == "/bad" { throw NacreError("x.y", "secret detail") }
                if request.target == "/split" { return HTTPResponse(fields: ["X": "a\r\nSet-Cookie: b=c"]) }
                return HTTPResponse(body: .text("fine"))
            } body: { world in
                let answer = try await world.exchange(
                    "GET /bad HTTP/1.1\r\nHost: a\r\n\r\nGET /split HTTP/1.1\r\nHost: a\r\n\r\n"
                        + "GET / HTTP/1.0\r\n\r\n")
                #expect(answer.components(of: "HTTP/1.1 500 ") == 2)
                #expect(!answer.contains("secret") && !answer.contains("Set-Cookie"))
                #expect(answer.hasSuffix("fine"))
            }
        }

        @Test("Peer address, scheme and request id reach the handler")
        func context() async throws {
            try await ListenerWorld.run { request, context in
                HTTPResponse(body: .text("\(request.url) \(context.clientAddress) \(context.id.isEmpty)"))
            } body: { world in
                let answer = try await world.exchange("GET /x?y HTTP/1.1\r\nHost: h:1\r\nConnection: close\r\n\r\n")
                #expect(answer.hasSuffix("http://h:1/x?y 127.0.0.1 false"))
            }
        }
    }
}

extension String {
    /// How often `part` stands in here.
    func components(of part: String) -> Int { split(separator: part, omittingEmptySubsequences: false).count - 1 }
}
