// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreListener
import NacreRouting
import Synchronization
import Testing

@testable import NacrePage

/// The channel between a page and an API that misbehaves.
@Suite("Page channel: an API that misbehaves", .serialized, .timeLimit(.minutes(1)))
struct PageChannelFaultTests {
    @Test("A network that drops mid-body ends the page's request too; it never looks like the whole")
    func dropped() async throws {
        try await PageChannelWorld.run(respond: { _, _ in
            let first = Mutex(true)
            return HTTPResponse(
                body: .stream(
                    ByteStream {
                        if first.withLock({ $0.exchange(false) }) { return Array("half".utf8) }
                        throw NacreError("test.dropped", "The network is gone.")
                    }, length: 1000))
        }) { world in
            let client = try await world.inside(world.api)
            try await client.send(world.apiRequest("GET", "/cut"))
            let seen = try? await client.read(through: "never")
            #expect(seen == nil || seen?.hasSuffix("half<end>") == true)
            #expect(await client.endsSoon())
        }
    }

    @Test(
        "NB-2: a chunked answer that is cut off breaks the page's connection: an end in good order would pass for the whole"
    )
    func cutChunk() async throws {
        try await PageChannelWorld.run(respond: { _, _ in
            let first = Mutex(true)
            return HTTPResponse(
                body: .stream(
                    ByteStream {
                        if first.withLock({ $0.exchange(false) }) { return Array("half".utf8) }
                        throw NacreError("test.dropped", "The network is gone.")
                    }, length: nil))
        }) { world in
            let client = try await world.inside(world.api)
            try await client.send(world.apiRequest("GET", "/cut"))
            await #expect(throws: (any Error).self) {
                while try await client.stream.read() != nil {}
            }
        }
    }

    @Test("An answer without end ends with the page's leaving, and memory does not hold it")
    func endless() async throws {
        let sent = Mutex(0)
        let left = Mutex(false)
        try await PageChannelWorld.run(respond: { _, _ in
            HTTPResponse(
                body: .stream(
                    ByteStream {
                        if Task.isCancelled { left.withLock { $0 = true } }
                        sent.withLock { $0 += 65_536 }
                        return [UInt8](repeating: 7, count: 65_536)
                    }, length: nil))
        }) { world in
            let client = try await world.inside(world.api)
            try await client.send(world.apiRequest("GET", "/endless"))
            _ = try await client.read(through: "\r\n\r\n")
            // Nobody reads: the buffers on the way fill, and then everything stands still.
            var before = -1
            var now = 0
            while now != before {
                before = now
                try await Task.sleep(for: .milliseconds(300))
                now = sent.withLock { $0 }
            }
            #expect(now < 32 << 20, "\(now) bytes were taken for a page that reads none")
            await client.close()
        }
    }

    @Test("NB-6: an early refusal reaches a page that writes its whole body before it reads")
    func earlyRefusal() async throws {
        let answer = HTTPResponse(status: .contentTooLarge, body: .text("too much"))
        try await PageChannelWorld.run(respond: { _, _ in answer }) { world in
            let client = try await world.inside(world.api)
            let size = 24 << 20
            try await client.send(world.apiRequest("POST", "/upload", more: "Content-Length: \(size)\r\n"))
            let piece = [UInt8](repeating: 7, count: 1 << 20)
            for _ in 0..<24 { try await client.stream.write(piece) }
            let head = try await client.read(through: "\r\n\r\n")
            #expect(head.hasPrefix("HTTP/1.1 413"))
        }
    }

    @Test("A loop of redirects is the page's to end: each is an answer, none is followed natively")
    func loop() async throws {
        let calls = Atomic<Int>(0)
        try await PageChannelWorld.run(respond: { request, _ in
            calls.add(1, ordering: .relaxed)
            return .redirect(to: request.target == "/a" ? "/b" : "/a")
        }) { world in
            let client = try await world.inside(world.api)
            for path in ["/a", "/b", "/a"] {
                let answer = try await client.exchange(world.apiRequest("GET", path))
                #expect(answer.head.hasPrefix("HTTP/1.1 302"))
            }
            #expect(calls.load(ordering: .relaxed) == 3)
        }
    }

    @Test("A redirect to another host is passed on as it is: the session stays with the API")
    func elsewhere() async throws {
        try await PageChannelWorld.run(respond: { _, _ in .redirect(to: "https://storage.example/x?signature=1") }) {
            world in
            let answer = try await world.inside(world.api).exchange(world.apiRequest("GET", "/x"))
            #expect(answer.head.contains("Location: https://storage.example/x?signature=1\r\n"))
            #expect(!answer.head.contains("session=native"))
        }
    }

    @Test("1,000 headers reach the page; header text of any kind cannot split the answer")
    func headers() async throws {
        try await PageChannelWorld.run(respond: { _, _ in
            var fields: HTTPFields = ["X-Odd": "caf\u{E9} \u{FFFD} \u{202E}"]
            for index in 0..<1000 { fields.append("X-\(index)", "v") }
            return HTTPResponse(fields: fields, body: .text("ok"))
        }) { world in
            let answer = try await world.inside(world.api).exchange(world.apiRequest("GET", "/x"))
            #expect(answer.head.hasPrefix("HTTP/1.1 200"))
            #expect(answer.head.contains("X-999: v\r\n"))
            #expect(answer.head.contains("X-Odd: caf\u{E9} \u{FFFD} \u{202E}\r\n"))
            #expect(answer.body == "ok")
        }
    }

    @Test("A bomb stays packed: the channel unpacks nothing")
    func bomb() async throws {
        try await PageChannelWorld.run(respond: { _, _ in
            HTTPResponse(fields: ["Content-Encoding": "gzip"], body: .bytes([0x1F, 0x8B, 8, 0]))
        }) { world in
            let answer = try await world.inside(world.api).exchange(world.apiRequest("GET", "/x"))
            #expect(answer.head.contains("Content-Encoding: gzip\r\n"))
            #expect(answer.head.contains("Content-Length: 4\r\n"))
        }
    }

    @Test("The reason of a certificate that is not trusted reaches the page, in words and as a code")
    func certificate() async throws {
        try await PageChannelWorld.run({ $0.trustsUpstream = false }) { world in
            let answer = try await world.inside(world.api).exchange(world.apiRequest("GET", "/"))
            #expect(answer.head.contains("X-Nacre-Detail: tls.self_signed\r\n"))
            #expect(answer.body.contains("self-signed"))
        }
    }

    @Test(
        "SH-2: a development server whose certificate is not trusted is a page in plain words that does not try again by itself"
    )
    func devServerCertificate() async throws {
        try await PageChannelWorld.run({ options in
            options.trustsUpstream = false
            options.isDevServer = true
        }) { world in
            let answer = try await world.page().exchange(
                "GET / HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\nSec-Fetch-Dest: document\r\n\r\n")
            #expect(answer.head.hasPrefix("HTTP/1.1 502"))
            #expect(answer.body.contains("not secure") && answer.body.contains("self-signed"))
            #expect(!answer.body.contains("http-equiv=\"refresh\""))
        }
    }

    @Test("NB-4: a film of the API at the page's host, seeked in, with the session, through real sockets")
    func media() async throws {
        let seen = Mutex<HTTPRequest?>(nil)
        try await PageChannelWorld.run(respond: { request, _ in
            seen.withLock { $0 = request }
            return HTTPResponse(body: .text("0123456789"))
        }) { world in
            let address = MediaProxyURL.path + "?u=" + PercentEncoding.encode("https://\(world.api)/film.mp4")
            let answer = try await world.page().exchange(
                "GET \(address) HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: no-cors\r\n"
                    + "Sec-Fetch-Dest: video\r\nRange: bytes=4-6\r\n\r\n")
            #expect(answer.head.hasPrefix("HTTP/1.1 206"))
            #expect(answer.body == "456")
            let request = try #require(seen.withLock { $0 })
            #expect(request.target == "/film.mp4")
            #expect(request.fields["Cookie"] == "session=native")
        }
    }

    @Test("NB-5: what the app fetches by itself goes the page's way: bundle, API with the session, others without")
    func fetch() async throws {
        let seen = Mutex<[HTTPRequest]>([])
        try await PageChannelWorld.run(respond: { request, _ in
            seen.withLock { $0.append(request) }
            return HTTPResponse(body: .text("from the API"))
        }) { world in
            func text(_ url: String, _ fields: HTTPFields = [:]) async throws -> String {
                let response = try await world.channel.fetch(HTTPRequest(.get, try WebURL(url), fields: fields))
                return String(decoding: try await response.body.collect(upTo: 1000), as: UTF8.self)
            }
            let page = try Origin("https://localhost")
            let file = try await text("https://localhost/app.js")
            let called = try await text("https://\(world.api)/x")
            let wrapped = try await text(MediaProxyURL.wrap("https://\(world.api)/y", page: page))
            #expect(file == "export const a = 1" && called == "from the API" && wrapped == "from the API")
            #expect(seen.withLock { $0 }.map { $0.fields["Cookie"] } == ["session=native", "session=native"])
            // The same server under a name that is not the API's.
            let other = "https://127.0.0.1:\(world.upstreamPort)/z"
            let error = await #expect(throws: NacreError.self) { try await text(other, ["Cookie": "session=1"]) }
            #expect(error?.code == "transport.tls")
        }
    }
}

extension Bool {
    fileprivate mutating func exchange(_ value: Bool) -> Bool {
        defer { self = value }
        return self
    }
}
