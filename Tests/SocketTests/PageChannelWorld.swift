// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCurl
import NacreHTTP
import NacreListener
import NacrePorts
import NacreRouting
import NacreTesting
import Synchronization
import Testing

@testable import NacrePage

/// A page channel in front of an upstream with TLS, both on loopback, and a client that speaks like the web view.
struct PageChannelWorld: Sendable {
    let channel: PageChannel
    let endpoint: PageChannelEndpoint
    let upstreamPort: Int
    let authority: ChannelAuthority
    let log: RecordingLogSink
    let clients: EventLoops

    struct Options {
        var limits = PageChannelLimits()
        var upstreamTLS = true
        var trustsUpstream = true
        var isDevServer = false
        var privateTargets: Set<String> = []
        var proxy: ProxyResolver = { _ in .direct }
        var interceptors: [any PageInterceptor] = []
    }

    /// Runs `body` against a channel whose API answers with `respond`, and stops everything.
    static func run(
        _ change: (inout Options) -> Void = { _ in },
        respond: @escaping @Sendable (HTTPRequest, RequestContext) async throws -> HTTPResponse = { _, _ in
            HTTPResponse(body: .text("upstream"))
        },
        body: (PageChannelWorld) async throws -> Void
    ) async throws {
        var options = Options()
        change(&options)
        let identity = try PageCertificate(hosts: ["localhost"])
        let listening = ListenerConfiguration(
            host: "127.0.0.1", port: 0,
            tls: options.upstreamTLS
                ? try TLSServerIdentity(
                    certificatePEM: identity.certificatePEM, privateKeyPEM: identity.privateKeyPEM) : nil)
        let upstream = HTTPListener(configuration: listening, responder: ClosureResponder(respond), log: .none)
        let port = try await upstream.start()
        let folder = try ChannelFolder(authority: identity.certificatePEM)
        var curl = CurlConfiguration()
        curl.resolve = ["localhost:\(port):127.0.0.1"]
        if options.trustsUpstream { curl.authoritiesFile = folder.authorityFile }
        let log = RecordingLogSink()
        let server = try Origin("\(options.upstreamTLS ? "https" : "http")://localhost:\(port)")
        let authority = ChannelAuthority()
        let channel = try PageChannel(
            configuration: PageChannelConfiguration(
                page: try Origin("https://localhost"), api: options.isDevServer ? nil : server, media: ["/blob/"],
                devServer: options.isDevServer ? server : nil, privateTargets: options.privateTargets,
                allowsCleartext: true, limits: options.limits),
            bundle: try FolderBundle(folder.bundle), authority: authority,
            transport: CurlTransport(configuration: curl), interceptors: options.interceptors, proxy: options.proxy,
            trust: try TLSTrust(additionalPEM: options.trustsUpstream ? identity.certificatePEM : nil),
            log: Log(label: "page", minimum: .debug, sink: log))
        let world = PageChannelWorld(
            channel: channel, endpoint: try await channel.start(), upstreamPort: port, authority: authority, log: log,
            clients: try EventLoops())
        try await ending(after: { try await body(world) }) {
            await channel.stop(grace: .milliseconds(200))
            await upstream.stop(grace: .milliseconds(100))
            world.clients.stop()
        }
        #expect(!log.text.contains(world.endpoint.secret), "the secret is in the log")
    }

    /// `host:port` of the API, as page and upstream both know it.
    var api: String { "localhost:\(upstreamPort)" }

    /// The names of the events logged so far.
    var events: [String] { log.events }
    /// Everything logged so far.
    var logText: String { log.text }

    // MARK: Connecting

    /// A bare connection to the channel.
    func dial() async throws -> LoopSocket {
        let address = try await SocketAddress.resolve(host: "127.0.0.1", port: endpoint.port)
        return try await LoopSocket.connect(to: address, named: "channel", on: clients.next())
    }

    /// A CONNECT head; the launch's secret unless another is given.
    func head(_ target: String, secret: String? = nil) -> String {
        let credentials = Base64.encode(Array("app:\(secret ?? endpoint.secret)".utf8))
        return "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\nProxy-Authorization: Basic \(credentials)\r\n\r\n"
    }

    /// The status of the answer to a head on a new connection.
    func status(of head: String) async throws -> Int {
        let socket = try await dial()
        defer { socket.closeNow() }
        try? await socket.write(Array(head.utf8))
        return try await ResponseHead.read(from: socket).status
    }

    /// Checks the status of the answer to a CONNECT with the secret.
    func expect(_ expected: Int, connecting target: String, at place: SourceLocation = #_sourceLocation) async throws {
        let found = try await status(of: head(target))
        #expect(found == expected, "\(target)", sourceLocation: place)
    }

    /// A tunnel, after its 200.
    func tunnel(_ target: String) async throws -> LoopSocket {
        let (socket, early) = try await connect(target)
        #expect(early.isEmpty)
        return socket
    }

    /// A raw tunnel whose other end may speak first.
    func outside(_ target: String) async throws -> ChannelClient {
        let (socket, early) = try await connect(target)
        return ChannelClient(stream: PrefixedStream(early, then: socket))
    }

    private func connect(_ target: String) async throws -> (LoopSocket, early: [UInt8]) {
        let socket = try await dial()
        try await socket.write(Array(head(target).utf8))
        let answer = try await ResponseHead.read(from: socket)
        #expect(answer.status == 200)
        return (socket, answer.rest)
    }

    /// A TLS connection to the page's host or the API host, with the certificate of this launch and no other.
    func inside(_ target: String) async throws -> ChannelClient {
        let trust = try TLSTrust(additionalPEM: endpoint.certificatePEM)
        return ChannelClient(
            stream: try await TLSClientStream.connect(over: try await tunnel(target), host: "localhost", trust: trust))
    }

    func page() async throws -> ChannelClient { try await inside("localhost:443") }

    /// A request of the page to the API.
    func apiRequest(_ method: String = "GET", _ path: String, site: String = "same-site", more: String = "") -> String {
        "\(method) \(path) HTTP/1.1\r\nHost: \(api)\r\nOrigin: https://localhost\r\nSec-Fetch-Site: \(site)\r\n"
            + "Sec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n\(more)\r\n"
    }
}

/// A client connection with text and a little HTTP.
final class ChannelClient: Sendable {
    let stream: any DuplexStream
    private let buffer = Mutex<[UInt8]>([])

    init(stream: any DuplexStream) { self.stream = stream }

    func send(_ text: String) async throws { try await stream.write(Array(text.utf8)) }

    /// Reads until `text` has been seen, or the end.
    func read(through text: String) async throws -> String {
        while true {
            let seen = String(decoding: buffer.withLock { $0 }, as: UTF8.self)
            if let range = seen.firstRange(of: text) {
                buffer.withLock { $0 = Array(seen[range.upperBound...].utf8) }
                return String(seen[..<range.upperBound])
            }
            guard let more = try await stream.read() else { return seen + "<end>" }
            buffer.withLock { $0 += more }
        }
    }

    /// One response with a Content-Length: its head and its body.
    func exchange(_ text: String) async throws -> (head: String, body: String) {
        try await send(text)
        let head = try await read(through: "\r\n\r\n")
        let length = head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
            .flatMap { Int($0.split(separator: " ")[1]) }
        guard let length else { return (head, "") }
        while buffer.withLock({ $0.count }) < length, let more = try await stream.read() {
            buffer.withLock { $0 += more }
        }
        let body = buffer.withLock { buffer in
            defer { buffer.removeFirst(min(length, buffer.count)) }
            return Array(buffer.prefix(length))
        }
        return (head, String(decoding: body, as: UTF8.self))
    }

    /// Whether the other side ends the connection (cleanly or not) without another byte.
    func endsSoon() async -> Bool {
        do {
            return try await withTimeLimit(
                .seconds(60), time: SystemTime(), timeout: { NacreError("test.timeout", "still open") },
                operation: { try await self.stream.read() == nil })
        } catch let error as NacreError where error.code == "test.timeout" {
            return false
        } catch {
            return true
        }
    }

    func close() async { await stream.close() }
}

/// Adds the native session and remembers what came back.
final class ChannelAuthority: SessionAuthority {
    private let cookies = Mutex<[String]>([])
    var setCookies: [String] { cookies.withLock { $0 } }

    func authorize(_ request: HTTPRequest) async throws -> AuthorizedRequest {
        var request = request
        request.fields["Cookie"] = "session=native"
        return AuthorizedRequest(request: request, generation: 1)
    }

    func observe(_ response: HTTPResponse, to request: AuthorizedRequest) async {
        cookies.withLock { $0 += response.fields.values("Set-Cookie") }
    }
}
