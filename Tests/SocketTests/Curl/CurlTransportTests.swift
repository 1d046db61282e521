// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCurl
import NacreHTTP
import NacreListener
import NacreRouting
import Synchronization
import Testing

@Suite("libcurl transport", .timeLimit(.minutes(1)))
struct CurlTransportTests {
    /// Runs `body` with a listener that answers by `responder`; returns when both have ended.
    private func withServer(
        _ responder: @escaping @Sendable (HTTPRequest, RequestContext) async throws -> HTTPResponse,
        _ body: (CurlTransport, String) async throws -> Void
    ) async throws {
        let listener = HTTPListener(
            configuration: ListenerConfiguration(host: "127.0.0.1", port: 0), responder: ClosureResponder(responder),
            log: .none)
        let port = try await listener.start()
        do {
            try await body(CurlTransport(), "127.0.0.1:\(port)")
        } catch {
            await listener.stop(grace: .seconds(1))
            throw error
        }
        await listener.stop(grace: .seconds(1))
    }

    @Test(
        "Method, path, fields and body arrive as sent, and nothing else",
        arguments: ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
    func echo(method: String) async throws {
        try await withServer { request, _ in
            let body = try await request.body.collect(upTo: 1000)
            let names = request.fields.fields.map { $0.name.lowercased() }.sorted().joined(separator: ",")
            let head = "\(request.method.rawValue) \(request.target) \(names) "
            return HTTPResponse(fields: ["X-Two": "a", "Set-Cookie": "s=1"], body: .bytes(Array(head.utf8) + body))
        } _: { transport, authority in
            let hasBody = method != "GET" && method != "OPTIONS"
            let response = try await transport.send(
                HTTPRequest(
                    method: HTTPMethod(rawValue: method), authority: authority, target: "/a%2Fb/../c?x=%20",
                    fields: ["X-One": "1"], body: hasBody ? .bytes([0, 255, 10]) : .none))
            let bytes = try await response.body.collect(upTo: 1000)
            #expect(
                bytes == Array("\(method) /a%2Fb/../c?x=%20 accept,user-agent,x-one ".utf8)
                    + (hasBody ? [0, 255, 10] : []))
            #expect(response.fields["X-Two"] == "a")
            #expect(response.fields.values("Set-Cookie") == ["s=1"])
        }
    }

    @Test("Redirects are answers, never followed")
    func redirect() async throws {
        try await withServer { _, _ in
            .redirect(to: "http://127.0.0.1:1/elsewhere")
        } _: { transport, authority in
            let response = try await transport.send(HTTPRequest(authority: authority, target: "/"))
            #expect(response.status == .found)
        }
    }

    @Test("A large body streams both ways and arrives byte for byte")
    func largeBodies() async throws {
        let total = 3_000_000
        try await withServer { request, _ in
            HTTPResponse(body: .stream(request.body.stream, length: request.body.length))
        } _: { transport, authority in
            let sent = Mutex(0)
            let upload = ByteStream {
                sent.withLock { sent in
                    guard sent < total else { return nil }
                    defer { sent += 50_000 }
                    return (sent..<sent + 50_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
                }
            }
            let response = try await transport.send(
                HTTPRequest(method: .put, authority: authority, target: "/", body: .stream(upload, length: total)))
            var position = 0
            for try await chunk in response.body.stream {
                for byte in chunk {
                    guard byte == UInt8(truncatingIfNeeded: position &* 31) else {
                        Issue.record("byte \(position) differs")
                        return
                    }
                    position += 1
                }
            }
            #expect(position == total)
        }
    }

    @Test("Dropping the body unread ends the exchange on the server")
    func dropped() async throws {
        let (ended, continuation) = AsyncStream.makeStream(of: Void.self)
        try await withServer { _, _ in
            let pipe = BytePipe()
            Task {
                do {
                    while true { try await pipe.write(Array(repeating: 1, count: 100_000)) }
                } catch { continuation.yield() }
            }
            let guarded = DropNotice { pipe.cancel() }
            return HTTPResponse(
                body: .stream(
                    ByteStream {
                        _ = guarded
                        return try await pipe.read()
                    }, length: nil))
        } _: { transport, authority in
            do {
                let response = try await transport.send(HTTPRequest(authority: authority, target: "/"))
                _ = try await response.body.stream.next()
            }
            for await _ in ended { break }
        }
    }

    @Test("Cancelling the task ends a request that waits for its answer")
    func cancellation() async throws {
        try await withServer { _, _ in
            try await Task.sleep(for: .seconds(30))
            return HTTPResponse()
        } _: { transport, authority in
            let task = Task { try await transport.send(HTTPRequest(authority: authority, target: "/")) }
            try await Task.sleep(for: .milliseconds(100))
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test("Who cannot be reached, and who is slow, are told apart")
    func failures() async throws {
        let unreachable = await #expect(throws: NacreError.self) {
            try await CurlTransport().send(HTTPRequest(authority: "127.0.0.1:1", target: "/"))
        }
        #expect(unreachable?.code == "transport.unreachable")
        var configuration = CurlConfiguration()
        configuration.connectTimeout = .milliseconds(200)
        configuration.headTimeout = .milliseconds(200)
        try await withServer { _, _ in
            try await Task.sleep(for: .seconds(20))
            return HTTPResponse()
        } _: { [configuration] _, authority in
            let slow = await #expect(throws: NacreError.self) {
                try await CurlTransport(configuration: configuration)
                    .send(HTTPRequest(authority: authority, target: "/"))
            }
            #expect(slow?.code == "transport.timeout")
        }
    }

    @Test("Two hundred requests at once all come back")
    func concurrent() async throws {
        try await withServer { request, _ in
            HTTPResponse(body: .text(request.target))
        } _: { transport, authority in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<200 {
                    group.addTask {
                        let response = try await transport.send(HTTPRequest(authority: authority, target: "/\(index)"))
                        return try await response.body.collect(upTo: 100) == Array("/\(index)".utf8)
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
        }
    }
}

/// Calls back when nobody holds it any more.
private final class DropNotice: Sendable {
    private let onDrop: @Sendable () -> Void
    init(_ onDrop: @escaping @Sendable () -> Void) { self.onDrop = onDrop }
    deinit { onDrop() }
}
