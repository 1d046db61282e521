// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Synchronization
import Testing

@testable import MessagesBackend

/// Other people's servers: what each name means and answers, and what was asked of them.
private final class Elsewhere: Sendable {
    struct Asked: Sendable, Equatable {
        let url: String
        let address: String
        let fields: [String]
    }

    private let names: [String: [String]]
    private let answers: [String: HTTPResponse]
    private let log = Mutex<[Asked]>([])

    init(names: [String: [String]] = ["img.example": ["93.184.216.34"]], answers: [String: HTTPResponse]) {
        self.names = names
        self.answers = answers
    }

    var asked: [Asked] { log.withLock { $0 } }

    var access: RemoteAccess {
        RemoteAccess(
            addresses: { host in
                // An address is its own name, as a resolver has it.
                if let known = self.names[host] { return known }
                return host.contains(":") || host.allSatisfy { $0.isNumber || $0 == "." } ? [host] : []
            },
            send: { request, address in
                let url = request.url
                self.log.withLock {
                    $0.append(Asked(url: url, address: address, fields: request.fields.fields.map(\.name)))
                }
                guard let answer = self.answers[url] else { throw NacreError("transport.unreachable", "Nobody there.") }
                return answer
            })
    }
}

private final class Pulls: Sendable {
    let count = Mutex(0)
}

/// A clock on which every wait is over at once.
private struct HastyClock: TimeSource {
    let now = StoppedClock().now
    func sleep(for duration: Duration) async throws {}
}

/// Holds who enters until it is opened.
private actor Gate {
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private(set) var total = 0

    func enter() async {
        total += 1
        if !isOpen { await withCheckedContinuation { waiting.append($0) } }
    }

    func countRefusal() { total += 1 }

    func open() {
        isOpen = true
        for one in waiting { one.resume() }
        waiting = []
    }
}

@Suite("Remote images")
struct RemoteImageTests {
    private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1, 2, 3]

    private static func picture(_ bytes: [UInt8] = png, type: String = "image/png") -> HTTPResponse {
        HTTPResponse(fields: ["Content-Type": type, "Set-Cookie": "track=1"], body: .bytes(bytes))
    }

    private static func redirect(_ location: String) -> HTTPResponse {
        HTTPResponse(status: .found, fields: ["Location": location])
    }

    /// The answer for an address, after the reader of the message has asked to see its images.
    private func image(
        _ url: String, _ elsewhere: Elsewhere, consent: Bool = true, as person: String = "ada"
    ) async throws -> (status: HTTPStatus, json: JSONValue, fields: HTTPFields, bytes: [UInt8]) {
        let server = try await Harness(remote: elsewhere.access)
        let thread = try await server.json("threads/\(try await server.find("Photos lighthouse"))/")
        let id = try #require(thread["messages"]?.array?.first?["id"]?.string)
        if consent {
            let (status, _) = try await server.post("messages/\(id)/remote-images/", #"{"allow":true}"#)
            #expect(status == .ok)
        }
        return try await server.call(.get, "remote-image/\(id)/?url=\(PercentEncoding.encode(url))", as: person)
    }

    @Test("An image comes through us: nothing of the reader goes out, nothing of the sender comes in but pixels")
    func fetched() async throws {
        let elsewhere = Elsewhere(answers: ["https://img.example/a.png": Self.picture()])
        let answer = try await image("https://img.example/a.png", elsewhere)
        #expect(answer.status == .ok)
        #expect(answer.bytes == Self.png)
        #expect(answer.fields["Content-Type"] == "image/png")
        #expect(answer.fields["Set-Cookie"] == nil)
        #expect(answer.fields["Content-Security-Policy"]?.contains("sandbox") == true)
        #expect(
            elsewhere.asked == [
                .init(url: "https://img.example/a.png", address: "93.184.216.34", fields: ["Accept", "User-Agent"])
            ])
    }

    @Test("Nothing is fetched before the reader asked, nor for somebody else's message")
    func consent() async throws {
        for (consent, person) in [(false, "ada"), (true, "bo")] {
            let elsewhere = Elsewhere(answers: ["https://img.example/a.png": Self.picture()])
            let answer = try await image("https://img.example/a.png", elsewhere, consent: consent, as: person)
            #expect(answer.status == .forbidden)
            #expect(answer.json["code"] == "remote_not_allowed")
            #expect(elsewhere.asked.isEmpty)
        }
    }

    @Test("The wish is kept with the message")
    func kept() async throws {
        let server = try await Harness()
        let id = try await server.find("Photos lighthouse")
        let message = try await server.json("threads/\(id)/")["messages"]?.array?.first
        #expect(message?["remote_images"] == false)
        _ = try await server.post("messages/\(message?["id"]?.string ?? "")/remote-images/", #"{"allow":true}"#)
        #expect(try await server.json("threads/\(id)/")["messages"]?.array?.first?["remote_images"] == true)
        let (status, _) = try await server.post(
            "messages/\(message?["id"]?.string ?? "")/remote-images/", #"{"allow":true}"#, as: "bo")
        #expect(status == .notFound)
    }

    @Test(
        "An address inside a network is never asked, however it is written",
        arguments: [
            "127.0.0.1", "127.1.2.3", "10.0.0.5", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
            "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.2.1", "::1", "::", "fe80::1",
            "fc00::1", "fd12::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::",
            "2001::1", "2001:db8::1", "not an address", "",
        ])
    func privateAddresses(address: String) async throws {
        let elsewhere = Elsewhere(
            names: ["img.example": [address]], answers: ["https://img.example/a.png": Self.picture()])
        let answer = try await image("https://img.example/a.png", elsewhere)
        #expect(answer.status == .forbidden)
        #expect(answer.json["code"] == "remote_refused")
        #expect(elsewhere.asked.isEmpty)
    }

    @Test("One private address among public ones is enough to refuse; literals are looked at as well")
    func mixed() async throws {
        let mixed = Elsewhere(names: ["img.example": ["93.184.216.34", "10.0.0.1"]], answers: [:])
        #expect(try await image("https://img.example/a.png", mixed).status == .forbidden)
        for literal in ["https://127.0.0.1/", "https://[::1]/a.png", "https://[::ffff:10.0.0.1]/"] {
            let elsewhere = Elsewhere(answers: [:])
            #expect(try await image(literal, elsewhere).status == .forbidden, "\(literal)")
            #expect(elsewhere.asked.isEmpty)
        }
    }

    @Test("Public addresses are public", arguments: ["93.184.216.34", "8.8.8.8", "172.32.0.1", "2606:4700::1111"])
    func publicAddresses(address: String) async throws {
        let elsewhere = Elsewhere(
            names: ["img.example": [address]], answers: ["https://img.example/a.png": Self.picture()])
        #expect(try await image("https://img.example/a.png", elsewhere).status == .ok)
    }

    @Test(
        "Only https to its own port",
        arguments: ["http://img.example/a.png", "https://img.example:8443/a.png", "https://img.example:22/"])
    func schemes(url: String) async throws {
        let elsewhere = Elsewhere(answers: [url: Self.picture()])
        #expect(try await image(url, elsewhere).json["code"] == "remote_refused")
        #expect(elsewhere.asked.isEmpty)
    }

    @Test(
        "What is no address is said to be none",
        arguments: [
            "", "cid:a", "//img.example/a.png", "https://u:p@img.example/", "file:///etc/passwd", "https://a b/",
        ])
    func malformed(url: String) async throws {
        #expect(try await image(url, Elsewhere(answers: [:])).json["code"] == "bad_url")
    }

    @Test(
        "A redirect is looked at like the first address",
        arguments: [
            ("https://inside.example/b.png", "remote_refused"), ("http://img.example/b.png", "remote_refused"),
            ("https://127.0.0.1/b.png", "remote_refused"), ("https://img.example/a.png", "remote_failed"),
            ("file:///etc/passwd", "bad_url"), ("https://gone.example/", "remote_refused"),
        ])
    func redirects(location: String, code: String) async throws {
        let elsewhere = Elsewhere(
            names: ["img.example": ["93.184.216.34"], "inside.example": ["192.168.0.9"]],
            answers: ["https://img.example/a.png": Self.redirect(location)])
        #expect(try await image("https://img.example/a.png", elsewhere).json["code"]?.string == code)
        #expect(elsewhere.asked.allSatisfy { $0.url == "https://img.example/a.png" })
        #expect(elsewhere.asked.count <= 4)
    }

    @Test(
        "Redirects of every form lead on",
        arguments: ["https://img.example/x/b.png", "//img.example/x/b.png", "/x/b.png", "x/b.png"])
    func followed(location: String) async throws {
        let elsewhere = Elsewhere(answers: [
            "https://img.example/a.png": Self.redirect(location), "https://img.example/x/b.png": Self.picture(),
        ])
        #expect(try await image("https://img.example/a.png", elsewhere).status == .ok)
    }

    @Test(
        "Only pixels of a kind that is shown, and only what begins like them",
        arguments: [
            ("text/html", png), ("image/svg+xml", Array("<svg/>".utf8)), ("image/png", Array("<html>".utf8)), ("", png),
            ("image/png", []), ("application/octet-stream", png),
        ])
    func kinds(type: String, bytes: [UInt8]) async throws {
        let elsewhere = Elsewhere(answers: ["https://img.example/a.png": Self.picture(bytes, type: type)])
        let answer = try await image("https://img.example/a.png", elsewhere)
        #expect(answer.status == 422)
        #expect(answer.json["code"] == "remote_failed")
    }

    @Test("What calls itself PNG and is JPEG is sent as what it is")
    func sniffed() async throws {
        let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 1, 2]
        let elsewhere = Elsewhere(answers: ["https://img.example/a.png": Self.picture(jpeg)])
        #expect(try await image("https://img.example/a.png", elsewhere).fields["Content-Type"] == "image/jpeg")
    }

    @Test("An endless image is left after 5 MB")
    func endless() async throws {
        let pulls = Pulls()
        let stream = ByteStream {
            pulls.count.withLock { $0 += 1 }
            return Self.png + [UInt8](repeating: 0, count: 100_000)
        }
        let elsewhere = Elsewhere(answers: [
            "https://img.example/a.png": HTTPResponse(
                fields: ["Content-Type": "image/png"], body: .stream(stream, length: nil))
        ])
        #expect(try await image("https://img.example/a.png", elsewhere).json["code"] == "remote_failed")
        #expect(pulls.count.withLock { $0 } < 60)
    }

    @Test("A server that answers anything else gives no image", arguments: [404, 500, 204, 206] as [HTTPStatus])
    func statuses(status: HTTPStatus) async throws {
        var response = Self.picture()
        response.status = status
        let elsewhere = Elsewhere(answers: ["https://img.example/a.png": response])
        #expect(try await image("https://img.example/a.png", elsewhere).json["code"] == "remote_failed")
    }

    @Test("Without access to elsewhere the server says so")
    func off() async throws {
        let server = try await Harness()
        let thread = try await server.json("threads/\(try await server.find("Photos lighthouse"))/")
        let id = thread["messages"]?.array?.first?["id"]?.string ?? ""
        _ = try await server.post("messages/\(id)/remote-images/", #"{"allow":true}"#)
        #expect(
            try await server.call(.get, "remote-image/\(id)/?url=https%3A%2F%2Fa.example%2F").json["code"]
                == "remote_off")
    }

    @Test("An image that takes too long is given up")
    func patience() async throws {
        let access = RemoteAccess(
            addresses: { _ in ["93.184.216.34"] },
            send: { _, _ in
                try await Task.sleep(for: .seconds(20))
                return Self.picture()
            })
        let images = RemoteImages(access: access, time: HastyClock())
        let failure = await #expect(throws: APIFailure.self) {
            try await images.image(at: "https://img.example/a.png")
        }
        #expect(failure?.code == "remote_failed")
    }

    @Test("Thirty-two images are fetched at once and no more")
    func atOnce() async throws {
        let gate = Gate()
        let access = RemoteAccess(
            addresses: { _ in ["93.184.216.34"] },
            send: { _, _ in
                await gate.enter()
                return Self.picture()
            })
        let images = RemoteImages(access: access, time: StoppedClock())
        let codes = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    do {
                        _ = try await images.image(at: "https://img.example/a.png")
                        return "shown"
                    } catch let failure as APIFailure {
                        await gate.countRefusal()
                        return failure.code
                    }
                }
            }
            var rounds = 0
            while await gate.total < 40, rounds < 1000 {
                try await Task.sleep(for: .milliseconds(10))
                rounds += 1
            }
            await gate.open()
            var codes: [String: Int] = [:]
            for try await code in group { codes[code, default: 0] += 1 }
            return codes
        }
        #expect(codes == ["shown": 32, "remote_busy": 8])
    }
}
