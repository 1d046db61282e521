// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreListener
import NacreRouting
import Synchronization
import Testing

@testable import NacrePage

/// What the page gets once it is in.
@Suite("Page channel: page and API", .serialized)
struct PageChannelAPITests {
    private static let document =
        "GET / HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\nSec-Fetch-Dest: document\r\n\r\n"

    @Test("SH-1: the page's host serves the bundle over the launch's certificate, connection kept")
    func bundle() async throws {
        try await PageChannelWorld.run { world in
            let client = try await world.page()
            let page = try await client.exchange(Self.document)
            #expect(page.head.hasPrefix("HTTP/1.1 200"))
            #expect(page.head.contains("Content-Security-Policy: default-src 'self'"))
            #expect(page.body.contains("Nacre page"))
            let part = try await client.exchange(
                "GET /film.mp4 HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\nRange: bytes=999998-\r\n\r\n"
            )
            #expect(part.head.hasPrefix("HTTP/1.1 206"))
            #expect(part.body == "89")
            let whole = try await client.exchange(
                "GET /film.mp4 HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\n\r\n")
            #expect(whole.body.utf8.count == 1_000_000)
        }
    }

    @Test("A Host other than the tunnel's is refused on both hosts")
    func hostMismatch() async throws {
        try await PageChannelWorld.run { world in
            let onPage = try await world.page().exchange(
                Self.document.replacing("Host: localhost", with: "Host: \(world.api)"))
            #expect(onPage.head.hasPrefix("HTTP/1.1 421"))
            let onAPI = try await world.inside(world.api)
                .exchange(world.apiRequest("GET", "/").replacing("Host: \(world.api)", with: "Host: localhost"))
            #expect(onAPI.head.hasPrefix("HTTP/1.1 421"))
        }
    }

    @Test("NB-1: the API is called natively, with the session, over checked TLS; cookies stay outside the page")
    func api() async throws {
        let seen = Mutex<HTTPRequest?>(nil)
        try await PageChannelWorld.run(respond: { request, _ in
            seen.withLock { $0 = request }
            return HTTPResponse(fields: ["Set-Cookie": "session=2; HttpOnly"], body: .text("mail"))
        }) { world in
            let client = try await world.inside(world.api)
            let answer = try await client.exchange(world.apiRequest("GET", "/x?y=%20z", more: "Cookie: page=1\r\n"))
            #expect(answer.head.hasPrefix("HTTP/1.1 200"))
            #expect(answer.body == "mail")
            #expect(!answer.head.lowercased().contains("set-cookie"))
            #expect(answer.head.contains("Access-Control-Allow-Origin: https://localhost\r\n"))
            #expect(answer.head.contains("no-store"))
            #expect(world.authority.setCookies == ["session=2; HttpOnly"])
            let request = try #require(seen.withLock { $0 })
            #expect(request.target == "/x?y=%20z")
            #expect(request.fields.values("Cookie") == ["session=native"])
            #expect(request.fields["Sec-Fetch-Site"] == nil)
        }
    }

    @Test("NB-6: an upload streams through")
    func upload() async throws {
        try await PageChannelWorld.run(respond: { request, _ in
            var count = 0
            while let bytes = try await request.body.stream.next() { count += bytes.count }
            return HTTPResponse(body: .text("\(count)"))
        }) { world in
            let client = try await world.inside(world.api)
            let total = 8_000_000
            try await client.send(
                world.apiRequest("PUT", "/up", more: "Content-Length: \(total)\r\nContent-Type: a/b\r\n"))
            let piece = [UInt8](repeating: 1, count: 100_000)
            for _ in 0..<(total / piece.count) { try await client.stream.write(piece) }
            #expect(try await client.exchange("").body == "\(total)")
        }
    }

    @Test("NB-13: events arrive one by one, and leaving ends the upstream's stream")
    func events() async throws {
        let pipe = BytePipe()
        let left = Mutex(false)
        try await PageChannelWorld.run(respond: { _, _ in
            HTTPResponse(
                fields: ["Content-Type": "text/event-stream"],
                body: .stream(
                    ByteStream {
                        do {
                            return try await pipe.read()
                        } catch {
                            left.withLock { $0 = true }
                            throw error
                        }
                    }, length: nil))
        }) { world in
            let client = try await world.inside(world.api)
            try await client.send(world.apiRequest("GET", "/events"))
            _ = try await client.read(through: "\r\n\r\n")
            for number in 0..<3 {
                try await pipe.write(Array("data: \(number)\n\n".utf8))
                #expect(try await client.read(through: "data: \(number)\n\n").contains("data: \(number)"))
            }
            await client.close()
            #expect(try await settled(at: true) { left.withLock { $0 } })
        }
    }

    @Test("An upstream whose certificate is not trusted is a 502 with its reason, never a retry without checking")
    func untrusted() async throws {
        try await PageChannelWorld.run({ $0.trustsUpstream = false }) { world in
            let answer = try await world.inside(world.api).exchange(world.apiRequest("GET", "/"))
            #expect(answer.head.hasPrefix("HTTP/1.1 502"))
            #expect(answer.head.contains("X-Nacre-Reason: transport.tls\r\n"))
            #expect(answer.body.contains("transport.tls"))
        }
    }

    @Test("SH-8: requests of a sandboxed frame get 403 and never reach the API")
    func sandboxed() async throws {
        let calls = Atomic<Int>(0)
        try await PageChannelWorld.run(respond: { _, _ in
            calls.add(1, ordering: .relaxed)
            return HTTPResponse()
        }) { world in
            let client = try await world.inside(world.api)
            let origins = ["Origin: null\r\n", "Origin: https://localhost\r\n", ""]
            for origin in origins {
                let text = world.apiRequest("GET", "/x", site: "cross-site")
                    .replacing("Origin: https://localhost\r\n", with: origin)
                #expect(try await client.exchange(text).head.hasPrefix("HTTP/1.1 403"))
            }
            let preflight =
                "OPTIONS /x HTTP/1.1\r\nHost: \(world.api)\r\nOrigin: https://localhost\r\n"
                + "Access-Control-Request-Method: PUT\r\n\r\n"
            #expect(try await client.exchange(preflight).head.hasPrefix("HTTP/1.1 200"))
            #expect(calls.load(ordering: .relaxed) == 0)
            #expect(world.events.contains("page.refused"))
        }
    }

    // MARK: Leaving and signing out

    @Test("A page that leaves cancels the request upstream")
    func abort() async throws {
        let cancelled = Mutex(false)
        let started = Mutex(false)
        try await PageChannelWorld.run(respond: { _, _ in
            started.withLock { $0 = true }
            do {
                try await Task.sleep(for: .seconds(60))
            } catch {
                cancelled.withLock { $0 = true }
                throw error
            }
            return HTTPResponse()
        }) { world in
            let client = try await world.inside(world.api)
            try await client.send(world.apiRequest("GET", "/slow"))
            #expect(try await settled(at: true) { started.withLock { $0 } })
            await client.close()
            #expect(try await settled(at: true) { cancelled.withLock { $0 } })
        }
    }

    @Test("NB-13: at sign-out every connection to the API ends, and the next one is served")
    func signOut() async throws {
        let pipe = BytePipe()
        try await PageChannelWorld.run(respond: { request, _ in
            if request.target == "/events" { return HTTPResponse(body: .stream(pipe.stream, length: nil)) }
            if request.fields["Upgrade"] != nil { return PageChannelSocketTests.echo }
            return HTTPResponse(body: .text("fresh"))
        }) { world in
            let events = try await world.inside(world.api)
            try await events.send(world.apiRequest("GET", "/events"))
            _ = try await events.read(through: "\r\n\r\n")
            let socket = try await world.inside(world.api)
            try await socket.send(PageChannelSocketTests.handshake(world.api))
            #expect(try await socket.read(through: "hello ").hasPrefix("HTTP/1.1 101"))
            let idle = try await world.inside(world.api)
            let page = try await world.page()
            await world.channel.closeAPIConnections()
            #expect(await events.endsSoon())
            #expect(await socket.endsSoon())
            #expect(await idle.endsSoon())
            #expect(try await page.exchange(Self.document).head.hasPrefix("HTTP/1.1 200"))
            let again = try await world.inside(world.api).exchange(world.apiRequest("GET", "/"))
            #expect(again.body == "fresh")
        }
    }
}
