// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreTesting
import Synchronization
import Testing

@testable import NacrePage

@Suite("NB-1, NB-2: requests that a page's script hands over")
struct PatchedFetchTests {
    private static let api = "https://api.example.org"

    private static func options(_ more: [String: JSONValue] = [:]) -> JSONValue {
        .object(["id": "a", "method": "GET", "url": .string(api + "/x?y=1")].merging(more) { $1 })
    }

    static func request(_ more: [String: JSONValue] = [:]) throws -> PatchedRequest {
        try PatchedRequest(options(more))
    }

    private func patched(
        _ limits: PatchedFetch.Limits = PatchedFetch.Limits(), time: any TimeSource = SystemTime(),
        send: @escaping PatchedFetch.Send = { _, _ in HTTPResponse(body: .text("ok")) }
    ) throws -> PatchedFetch {
        let api = try Origin(Self.api)
        return PatchedFetch(isAPI: { $0 == api }, limits: limits, time: time, log: .none, send: send)
    }

    private func text(_ body: HTTPBody?) async throws -> String? {
        guard let body else { return nil }
        return String(decoding: try await body.collect(upTo: 1 << 20), as: UTF8.self)
    }

    private func claimed(_ patched: PatchedFetch, _ token: String?) async throws -> String? {
        try await text(await patched.claim(try #require(token)))
    }

    // MARK: What a page may describe

    @Test("The browser's own fields are not the page's to set, those of the page go as they are")
    func fields() throws {
        let request = try Self.request([
            "headers": [
                ["X-Test", "1"], ["Cookie", "a=b"], ["Host", "evil"], ["Sec-Fetch-Site", "none"],
                ["Content-Length", "9"],
                ["Proxy-Authorization", "x"], ["Origin", "null"], ["x-test", "2"], ["Accept-Encoding", "br"],
            ]
        ])
        #expect(request.fields.values("X-Test") == ["1", "2"])
        #expect(
            Set(request.fields.fields.map { $0.name.lowercased() }) == ["x-test", "accept", "accept-encoding"])
        #expect(request.fields["Accept-Encoding"] == "gzip, deflate")
    }

    @Test(
        "A field that would be another line is refused", arguments: ["a\r\nCookie: b", "a\nb", "a\u{0}b", "a\u{7F}"])
    func injection(_ value: String) throws {
        #expect(throws: NacreError.self) { try Self.request(["headers": [["X-Test", .string(value)]]]) }
        #expect(throws: NacreError.self) { try Self.request(["headers": [[.string("X" + value), "1"]]]) }
    }

    @Test(
        "No page may tunnel or trace, nor use what is no method", arguments: ["CONNECT", "trace", "TRACK", "A B", ""])
    func methods(_ method: String) throws {
        #expect(throws: NacreError.self) { try Self.request(["method": .string(method)]) }
    }

    @Test("Messages that are none of the script's")
    func malformed() throws {
        let wrong: [[String: JSONValue]] = [
            ["id": ""], ["id": .string(String(repeating: "a", count: 65))], ["url": "file:///etc/passwd"],
            ["url": "/x"], ["headers": [["only"]]], ["body": 3], ["body": "not base64!"], ["body": ["length": -1]],
        ]
        for change in wrong { #expect(throws: NacreError.self, "\(change)") { try Self.request(change) } }
        #expect(try Self.request(["body": ["length": nil]]).body == .pieces(length: nil))
        #expect(try Self.request(["body": "aGk="]).body == .whole(Array("hi".utf8)))
    }

    @Test("NB-1: only the API's origin is asked")
    func foreign() async throws {
        let asked = Mutex(0)
        let patched = try patched { _, _ in
            asked.withLock { $0 += 1 }
            return HTTPResponse()
        }
        let error = await #expect(throws: NacreError.self) {
            _ = try await patched.open(Self.request(["url": "https://evil.example/"]), load: 1)
        }
        #expect(error?.code == "page.origin")
        #expect(asked.withLock { $0 } == 0)
    }

    // MARK: Answers

    @Test("The head comes first, the body waits under a name that works once")
    func body() async throws {
        let patched = try patched { request, session in
            #expect(request.url == Self.api + "/x?y=1")
            #expect(session)
            return HTTPResponse(status: 418, fields: ["X-Answer": "é"], body: .text("tea"))
        }
        let head = try await patched.open(Self.request(), load: 1)
        #expect(head.status == 418)
        #expect(head.json["headers"] == [["x-answer", "Ã©"]])
        let token = try #require(head.token)
        #expect(try await text(await patched.claim(token + "x")) == nil)
        #expect(try await text(await patched.claim(token)) == "tea")
        #expect(try await text(await patched.claim(token)) == nil)
        try await until { await patched.count == 0 }
    }

    @Test("Answers without a body keep nothing", arguments: [204, 205, 304])
    func empty(_ status: Int) async throws {
        let patched = try patched { _, _ in HTTPResponse(status: HTTPStatus(rawValue: status), body: .text("x")) }
        #expect(try await patched.open(Self.request(), load: 1).token == nil)
        #expect(await patched.count == 0)
    }

    @Test("credentials: omit goes without the session")
    func omit() async throws {
        let patched = try patched { _, session in HTTPResponse(body: .text("\(session)")) }
        let head = try await patched.open(Self.request(["credentials": "omit"]), load: 1)
        #expect(try await claimed(patched, head.token) == "false")
    }

    // MARK: Bodies

    @Test("A body in pieces arrives whole and in order, with its length")
    func upload() async throws {
        let patched = try patched { request, _ in
            #expect(request.body.length == 6)
            return HTTPResponse(body: .bytes(try await request.body.collect(upTo: 100)))
        }
        let head = Task { try await patched.open(Self.request(["method": "PUT", "body": ["length": 6]]), load: 1) }
        try await until { await patched.count == 1 }
        try await patched.write("a", Array("one".utf8), load: 1)
        try await patched.write("a", Array("two".utf8), load: 1)
        try await patched.finish("a", load: 1)
        #expect(try await claimed(patched, head.value.token) == "onetwo")
    }

    @Test("A piece waits for room, and the one after it for the piece")
    func backPressure() async throws {
        var limits = PatchedFetch.Limits()
        limits.window = 4
        let gate = BytePipe()
        let patched = try patched(limits) { request, _ in
            _ = try await gate.read()
            return HTTPResponse(body: .bytes(try await request.body.collect(upTo: 100)))
        }
        let head = Task { try await patched.open(Self.request(["method": "PUT", "body": ["length": nil]]), load: 1) }
        try await until { await patched.count == 1 }
        try await patched.write("a", Array("first".utf8), load: 1)
        let done = Mutex(false)
        let second = Task {
            try await patched.write("a", Array("second".utf8), load: 1)
            done.withLock { $0 = true }
        }
        try await until { await patched.isWriting("a") }
        // One that is let in would wait for room, and for ever: it is waited for here, but not long.
        let refused = Mutex(false)
        Task {
            do {
                try await patched.write("a", Array("third".utf8), load: 1)
            } catch {
                refused.withLock { $0 = true }
            }
        }
        let end = ContinuousClock.now + .seconds(5)
        while !refused.withLock({ $0 }), ContinuousClock.now < end { await Task.yield() }
        try #require(refused.withLock { $0 })
        #expect(!done.withLock { $0 })
        try await gate.write([1])
        try await second.value
        try await patched.finish("a", load: 1)
        #expect(try await claimed(patched, head.value.token) == "firstsecond")
    }

    @Test("A body longer than it was said to be ends the request")
    func tooLong() async throws {
        let patched = try patched { request, _ in
            HTTPResponse(body: .bytes(try await request.body.collect(upTo: 100)))
        }
        let head = Task { try await patched.open(Self.request(["method": "PUT", "body": ["length": 3]]), load: 1) }
        try await until { await patched.count == 1 }
        await #expect(throws: NacreError.self) { try await patched.write("a", Array("four".utf8), load: 1) }
        let left = await patched.count
        await patched.cancel("a", load: 1)
        await #expect(throws: (any Error).self) { _ = try await head.value }
        #expect(left == 0)
    }

    @Test("A body shorter than it was said to be is not sent as a whole one")
    func tooShort() async throws {
        let patched = try patched { request, _ in
            HTTPResponse(body: .bytes(try await request.body.collect(upTo: 100)))
        }
        let head = Task { try await patched.open(Self.request(["method": "PUT", "body": ["length": 3]]), load: 1) }
        try await until { await patched.count == 1 }
        try await patched.write("a", [1, 2], load: 1)
        await #expect(throws: NacreError.self) { try await patched.finish("a", load: 1) }
        await #expect(throws: (any Error).self) { _ = try await head.value }
    }

    @Test("A server that answers early and takes no more keeps neither the page nor the app waiting")
    func early() async throws {
        let patched = try patched { _, _ in HTTPResponse(status: 413, body: .text("too much")) }
        let head = try await patched.open(Self.request(["method": "PUT", "body": ["length": nil]]), load: 1)
        let large = [UInt8](repeating: 0, count: 600_000)
        try await patched.write("a", large, load: 1)
        let waiting = Task { try await patched.write("a", large, load: 1) }
        try await until { await patched.isWriting("a") }
        #expect(try await claimed(patched, head.token) == "too much")
        await #expect(throws: NacreError.self) { try await waiting.value }
        try await until { await patched.count == 0 }
    }

    @Test("A piece larger than a message may be is refused")
    func largePiece() async throws {
        let patched = try patched { request, _ in
            HTTPResponse(body: .bytes(try await request.body.collect(upTo: 100)))
        }
        let head = Task { try await patched.open(Self.request(["method": "PUT", "body": ["length": nil]]), load: 1) }
        try await until { await patched.count == 1 }
        let large = [UInt8](repeating: 0, count: PatchedRequest.largestPiece + 1)
        await #expect(throws: NacreError.self) { try await patched.write("a", large, load: 1) }
        await patched.cancel("a", load: 1)
        await #expect(throws: (any Error).self) { _ = try await head.value }
    }

    // MARK: Ends

    @Test("An abort cancels the native request")
    func cancel() async throws {
        let cancelled = Mutex(false)
        let patched = try patched { _, _ in
            let pipe = BytePipe()
            do {
                _ = try await pipe.read()
            } catch {
                cancelled.withLock { $0 = true }
                throw error
            }
            return HTTPResponse()
        }
        let head = Task { try await patched.open(Self.request(), load: 1) }
        try await until { await patched.count == 1 }
        await patched.cancel("a", load: 1)
        await #expect(throws: (any Error).self) { _ = try await head.value }
        #expect(cancelled.withLock { $0 })
        #expect(await patched.count == 0)
    }

    @Test("NB-13: at sign-out a body on its way ends, and so does the API's exchange")
    func signOut() async throws {
        let source = BytePipe()
        let patched = try patched { _, _ in HTTPResponse(body: .stream(source.stream, length: nil)) }
        let head = try await patched.open(Self.request(), load: 1)
        let token = try #require(head.token)
        let body = try #require(await patched.claim(token))
        try await source.write([1])
        #expect(try await body.stream.next() == [1])
        let waiting = Task { try await body.stream.next() }
        await Task.yield()
        await patched.cancelAll()
        await #expect(throws: (any Error).self) { _ = try await waiting.value }
        await #expect(throws: (any Error).self) { _ = try await body.stream.next() }
        #expect(await patched.count == 0)
    }

    @Test("NB-10: a page that has been left neither asks nor gets anything any more")
    func leaving() async throws {
        let patched = try patched()
        let old = try #require(try await patched.open(Self.request(), load: 1).token)
        _ = try await patched.open(Self.request(["id": "b"]), load: 2)
        #expect(try await text(await patched.claim(old)) == nil)
        let error = await #expect(throws: NacreError.self) {
            _ = try await patched.open(Self.request(["id": "c"]), load: 1)
        }
        #expect(error?.code == "page.left")
        await patched.cancel("b", load: 1)
        #expect(await patched.count == 1)
    }

    @Test("What is kept alive goes on when its page has gone; anything else ends")
    func keepAlive() async throws {
        let ended = Mutex<[String: Bool]>([:])
        let gate = BytePipe()
        let patched = try patched { request, _ in
            let name = request.fields["X-Name"] ?? ""
            do {
                _ = name == "kept" ? try await gate.read() : try await BytePipe().read()
                ended.withLock { $0[name] = true }
            } catch {
                ended.withLock { $0[name] = false }
                throw error
            }
            return HTTPResponse()
        }
        func open(_ name: String, _ keepalive: Bool) -> Task<Void, Never> {
            Task {
                _ = try? await patched.open(
                    Self.request([
                        "id": .string(name), "keepalive": .bool(keepalive), "headers": [["X-Name", .string(name)]],
                    ]), load: 1)
            }
        }
        let (kept, lost) = (open("kept", true), open("lost", false))
        try await until { await patched.count == 2 }
        kept.cancel()
        lost.cancel()
        // Any word of the next page is the end of this one.
        await patched.cancel("nothing", load: 2)
        await lost.value
        try await gate.write([1])
        await kept.value
        #expect(ended.withLock { $0["lost"] } == false)
        #expect(ended.withLock { $0["kept"] } == true)
    }

    @Test("What is kept alive has at most 64 KB, counts among the requests, and ends with the session")
    func keptLimits() async throws {
        let pieces: JSONValue = ["keepalive": true, "method": "POST", "body": ["length": 10]]
        #expect(throws: NacreError.self) { try Self.request(pieces.object ?? [:]) }
        let large = Base64.encode([UInt8](repeating: 1, count: 70_000))
        #expect(throws: NacreError.self) {
            try Self.request(["keepalive": true, "method": "POST", "body": .string(large)])
        }
        var limits = PatchedFetch.Limits()
        limits.requests = 1
        let ended = Mutex(false)
        let patched = try patched(limits) { _, _ in
            do { _ = try await BytePipe().read() } catch {
                ended.withLock { $0 = true }
                throw error
            }
            return HTTPResponse()
        }
        let kept = Task { _ = try? await patched.open(Self.request(["keepalive": true]), load: 1) }
        try await until { await patched.count == 1 }
        await patched.cancel("nothing", load: 2)
        let error = await #expect(throws: NacreError.self) { _ = try await patched.open(Self.request(), load: 2) }
        #expect(error?.code == "page.busy")
        await patched.cancelAll()
        await kept.value
        #expect(ended.withLock { $0 })
        await #expect(throws: Never.self) { try await until { await patched.count == 0 } }
    }

    // MARK: Limits

    @Test("Beyond so many requests, or so many bodies on their way, a page is told to wait")
    func limits() async throws {
        var limits = PatchedFetch.Limits()
        limits.requests = 2
        let patched = try patched(limits)
        _ = try await patched.open(Self.request(), load: 1)
        await #expect(throws: NacreError.self, "one id twice") { _ = try await patched.open(Self.request(), load: 1) }
        let second = try await patched.open(Self.request(["id": "b"]), load: 1)
        let error = await #expect(throws: NacreError.self) {
            _ = try await patched.open(Self.request(["id": "c"]), load: 1)
        }
        try #require(error?.code == "page.busy")
        _ = try await claimed(patched, second.token)
        try await until { await patched.count == 1 }
        _ = try await patched.open(Self.request(["id": "c"]), load: 1)
    }

    @Test("An answer that nobody fetches is given up")
    func unclaimed() async throws {
        let time = ManualTime()
        let patched = try patched(time: time)
        let token = try #require(try await patched.open(Self.request(), load: 1).token)
        time.advance(by: .seconds(61))
        _ = try await patched.open(Self.request(["id": "b"]), load: 1)
        #expect(try await text(await patched.claim(token)) == nil)
    }
}
