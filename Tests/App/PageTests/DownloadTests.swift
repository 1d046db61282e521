// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreHTTP
import NacreTesting
import Synchronization
import Testing

@testable import NacrePage

/// A server with one file that may misbehave once or always, and a folder for what is downloaded.
private final class FileServer: Sendable {
    struct State {
        var content: [UInt8]
        var tag: String? = "\"v1\""
        /// How many bytes an answer holds before its connection breaks; taken one by one, then none breaks.
        var breaks: [Int] = []
        /// Whether a break looks like an orderly end.
        var endsQuietly = false
        var ignoresRange = false
        var requests: [HTTPRequest] = []
        /// Called before each answer with its number.
        var before: (@Sendable (inout State, Int) -> Void)?
        var change: (@Sendable (inout HTTPResponse, HTTPRequest) -> Void)?
    }

    let state: Mutex<State>
    let folder: String

    init(_ content: [UInt8] = Array("0123456789".utf8), _ change: (inout State) -> Void = { _ in }) {
        var made = State(content: content)
        change(&made)
        state = Mutex(made)
        folder = FileManager.default.temporaryDirectory.path + "/nacre-download-" + SystemRandom().identifier()
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    var requests: [HTTPRequest] { state.withLock { $0.requests } }

    func answer(_ request: HTTPRequest) -> HTTPResponse {
        state.withLock { state in
            state.before?(&state, state.requests.count)
            state.requests.append(request)
            let all = state.content
            var response = HTTPResponse(fields: ["Content-Type": "text/plain"])
            response.fields["ETag"] = state.tag
            var part = 0..<all.count
            let isSame = request.fields["If-Range"] == nil || request.fields["If-Range"] == state.tag
            if !state.ignoresRange, isSame, case .part(let wanted) = ByteRange(request.fields["Range"], size: all.count)
            {
                part = wanted
                response.status = 206
                response.fields["Content-Range"] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(all.count)"
            } else if !state.ignoresRange, isSame, ByteRange(request.fields["Range"], size: all.count) == .unsatisfiable
            {
                response.status = 416
                response.fields["Content-Range"] = "bytes */\(all.count)"
                return response
            }
            let limit = state.breaks.isEmpty ? part.count : min(part.count, state.breaks.removeFirst())
            let sent = Array(all[part].prefix(limit))
            let isWhole = sent.count == part.count || state.endsQuietly
            let left = Mutex<[[UInt8]]>(sent.isEmpty ? [] : [sent])
            response.body = .stream(
                ByteStream {
                    if let chunk = left.withLock({ $0.popLast() }) { return chunk }
                    if isWhole { return nil }
                    throw NacreError("transport.protocol", "The connection broke.")
                }, length: part.count)
            state.change?(&response, request)
            return response
        }
    }

    func download(_ address: String = "https://api.example/files/a.txt", name: String? = nil) throws -> Download {
        Download(try WebURL(address), suggestedName: name, folder: folder + "/1", time: NoWaiting()) { self.answer($0) }
    }

    /// What lies in the folder of the download.
    var left: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder + "/1")) ?? [] }

    func text(_ file: DownloadedFile) -> String {
        String(decoding: FileManager.default.contents(atPath: file.path) ?? Data(), as: UTF8.self)
    }
}

/// A clock whose waits are over at once.
private struct NoWaiting: TimeSource {
    var now: Instant { Instant(seconds: 0) }
    func sleep(for duration: Duration) async throws { try Task.checkCancellation() }
}

@Suite("NB-5: downloads")
struct DownloadTests {
    @Test("A download lies under its name, private, with type and size; progress tells both ends")
    func whole() async throws {
        let server = FileServer()
        let seen = Mutex<[DownloadProgress]>([])
        let file = try await server.download().run { progress in seen.withLock { $0.append(progress) } }
        #expect(server.text(file) == "0123456789")
        #expect(file.name == "a.txt" && file.type == "text/plain" && file.size == 10)
        #expect(server.left == ["a.txt"])
        let rights = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(rights == 0o600)
        #expect(seen.withLock { $0 }.first == DownloadProgress(received: 0, size: 10, name: "a.txt"))
        #expect(seen.withLock { $0 }.last == DownloadProgress(received: 10, size: 10, name: "a.txt"))
        #expect(server.requests.first?.fields["Accept-Encoding"] == "identity")
    }

    @Test(
        "A broken connection is taken up where it broke, by Range and If-Range",
        arguments: [[3], [3, 4], [0, 0, 9], [1, 1, 1, 1, 1, 1, 1]])
    func resumed(_ breaks: [Int]) async throws {
        let server = FileServer { $0.breaks = breaks }
        #expect(server.text(try await server.download().run()) == "0123456789")
        let second = try #require(server.requests.first { $0.fields["Range"] != nil })
        #expect(second.fields["If-Range"] == "\"v1\"")
        #expect(server.requests.count == breaks.count + 1)
    }

    @Test("An answer that ends early in good order is not taken for the whole", arguments: [[3], [9], [5, 4]])
    func short(_ breaks: [Int]) async throws {
        let server = FileServer { ($0.breaks, $0.endsQuietly) = (breaks, true) }
        #expect(server.text(try await server.download().run()) == "0123456789")
    }

    @Test("A server that ignores Range is heard from the first byte again")
    func ignoresRange() async throws {
        let server = FileServer { ($0.breaks, $0.ignoresRange) = ([4], true) }
        #expect(server.text(try await server.download().run()) == "0123456789")
        #expect(server.requests.count == 2)
    }

    @Test("A file that changes midway is fetched anew, never put together from two versions")
    func changed() async throws {
        let server = FileServer {
            $0.breaks = [4]
            $0.before = { state, number in
                if number == 1 { (state.content, state.tag) = (Array("abcdefgh".utf8), "\"v2\"") }
            }
        }
        #expect(server.text(try await server.download().run()) == "abcdefgh")
    }

    @Test(
        "A 206 that does not fit what is there is not appended: other tag, other start, other size, no range",
        arguments: ["tag", "start", "size", "none"])
    func misfit(_ kind: String) async throws {
        let server = FileServer {
            $0.breaks = [4]
            $0.change = { response, request in
                guard request.fields["Range"] != nil else { return }
                switch kind {
                case "tag": response.fields["ETag"] = "\"v2\""
                case "start": response.fields["Content-Range"] = "bytes 2-9/10"
                case "size": response.fields["Content-Range"] = "bytes 4-9/11"
                default: response.fields["Content-Range"] = nil
                }
            }
        }
        #expect(server.text(try await server.download().run()) == "0123456789")
        #expect(server.requests.last?.fields["Range"] == nil)
    }

    @Test("A file that never stands still is given up with a clear error")
    func alwaysChanging() async throws {
        let server = FileServer {
            $0.breaks = Array(repeating: 4, count: 50)
            $0.before = { state, number in state.tag = "\"v\(number)\"" }
        }
        let error = await #expect(throws: NacreError.self) { try await server.download().run() }
        #expect(error?.code == "download.changing")
        #expect(server.requests.count < 12)
    }

    @Test("Without a validator nothing is appended", arguments: [nil, "W/\"weak\""])
    func noValidator(_ tag: String?) async throws {
        let server = FileServer { ($0.breaks, $0.tag) = ([4], tag) }
        #expect(server.text(try await server.download().run()) == "0123456789")
        #expect(server.requests.allSatisfy { $0.fields["Range"] == nil })
    }

    @Test("A server that never sends a byte more is given up after a few tries; a later run goes on from there")
    func givenUp() async throws {
        let server = FileServer { $0.breaks = [4] + Array(repeating: 0, count: 6) }
        let download = try server.download()
        let error = await #expect(throws: NacreError.self) { try await download.run() }
        #expect(error?.code == "transport.protocol")
        server.state.withLock { $0.breaks = [] }
        #expect(server.text(try await download.run()) == "0123456789")
        #expect(server.requests.last?.fields["Range"] == "bytes=4-")
    }

    @Test("416 where everything is there is the end; where it is not, the beginning")
    func unsatisfiable() async throws {
        let server = FileServer {
            $0.change = { response, request in
                if request.fields["Range"] == nil { response.body = .stream(response.body.stream, length: 11) }
            }
        }
        // The first answer announces a byte more than there is; the second says 416 for exactly what has arrived.
        #expect(server.text(try await server.download().run()) == "0123456789")
    }

    // MARK: Refusals

    @Test(
        "A refusal is one clear error and no file",
        arguments: [
            (401, "download.signed_out"), (403, "download.forbidden"), (404, "download.missing"),
            (500, "download.refused"), (206, "download.range"),
        ])
    func refused(_ status: Int, _ code: String) async throws {
        let server = FileServer { $0.change = { response, _ in response.status = HTTPStatus(rawValue: status) } }
        let error = await #expect(throws: NacreError.self) { try await server.download().run() }
        #expect(error?.code.rawValue == code)
        #expect(server.left == [])
    }

    @Test("More bytes than announced, or an encoding that was not asked for: refused, nothing is left")
    func lies() async throws {
        let long = FileServer {
            $0.change = { response, _ in response.body = .stream(response.body.stream, length: 5) }
        }
        let first = await #expect(throws: NacreError.self) { try await long.download().run() }
        #expect(first?.code == "download.too_long")
        #expect(long.left == [])
        let packed = FileServer { $0.change = { response, _ in response.fields["Content-Encoding"] = "gzip" } }
        let second = await #expect(throws: NacreError.self) { try await packed.download().run() }
        #expect(second?.code == "download.encoding")
        #expect(packed.left == [])
    }

    @Test("A full disk is one clear error, before a byte is written where the size is known, and nothing is left")
    func diskFull() async throws {
        let server = FileServer {
            $0.change = { response, _ in response.body = .stream(response.body.stream, length: 1 << 60) }
        }
        let error = await #expect(throws: NacreError.self) { try await server.download().run() }
        #expect(error?.code == "file.disk_full")
        #expect(error?.message.contains("room") == true)
        #expect(server.left == [] && !FileManager.default.fileExists(atPath: server.folder + "/1"))
        // The kernel's own word: this device is always full.
        let full = #expect(throws: NacreError.self) { throw PartialFile.fault(28) }
        #expect(full?.code == "file.disk_full")
    }

    @Test("An answer without a length that never ends stops before the disk is full to its brim")
    func endless() async throws {
        let server = FileServer()
        let sent = Mutex(0)
        let download = Download(
            try WebURL("https://api.example/endless"), folder: server.folder + "/1", time: NoWaiting(),
            room: { _ in sent.withLock { (64 << 20) - $0 } }
        ) { _ in
            HTTPResponse(
                body: .stream(
                    ByteStream {
                        let isOver = sent.withLock { sent in
                            sent += 1 << 20
                            return sent > 256 << 20
                        }
                        return isOver ? nil : [UInt8](repeating: 1, count: 1 << 20)
                    }, length: nil))
        }
        let error = await #expect(throws: NacreError.self) { try await download.run() }
        #expect(error?.code == "file.disk_full")
        #expect(sent.withLock { $0 } < 96 << 20)
        #expect(server.left == [])
    }

    @Test("Cancelling keeps what is there for another run; discarding leaves nothing")
    func cancelled() async throws {
        let server = FileServer { $0.breaks = [4] }
        let download = try server.download()
        let task = Task { try await download.run { if $0.received == 4 { withUnsafeCurrentTask { $0?.cancel() } } } }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(server.left == [".part"])
        #expect(server.text(try await download.run()) == "0123456789")
        let other = FileServer { $0.breaks = [4, 0, 0, 0, 0, 0, 0] }
        let unfinished = try other.download()
        await #expect(throws: NacreError.self) { try await unfinished.run() }
        await unfinished.discard()
        #expect(!FileManager.default.fileExists(atPath: other.folder + "/1"))
    }

    @Test("An empty file is a file")
    func empty() async throws {
        let server = FileServer([])
        let file = try await server.download(name: "nothing.bin").run()
        #expect(file.size == 0 && file.name == "nothing.bin")
        #expect(FileManager.default.contents(atPath: file.path)?.isEmpty == true)
    }

    // MARK: Redirects and addresses

    @Test("Redirects are followed, a loop, a step down to cleartext or to another scheme is refused")
    func redirects() async throws {
        func run(_ places: [String: String]) async throws -> (String, [HTTPRequest]) {
            let server = FileServer {
                $0.change = { response, request in
                    guard let next = places[request.url] else { return }
                    response = HTTPResponse(status: .found, fields: ["Location": next])
                }
            }
            return (server.text(try await server.download("https://api.example/a").run()), server.requests)
        }
        let (text, requests) = try await run([
            "https://api.example/a": "b", "https://api.example/b": "https://storage.example/c?signature=1",
        ])
        #expect(text == "0123456789")
        #expect(
            requests.map(\.url) == [
                "https://api.example/a", "https://api.example/b", "https://storage.example/c?signature=1",
            ])
        for next in ["/a", "http://api.example/a", "file:///etc/passwd", "javascript:1"] {
            let error = await #expect(throws: NacreError.self) { try await run(["https://api.example/a": next]) }
            #expect(error?.code == "download.redirects", "\(next)")
        }
    }

    @Test(
        "What a browser would save and what it would show",
        arguments: [
            ("attachment; filename=x", "text/html", 200, true), (nil, "text/html; charset=utf-8", 200, false),
            (nil, "application/pdf", 200, false), (nil, "image/png", 200, false), (nil, "application/zip", 200, true),
            (nil, "application/octet-stream", 200, true), ("inline", "application/zip", 200, false),
            (nil, nil, 200, false),
            ("attachment", "text/html", 404, false), (nil, "application/json", 200, false),
        ] as [(String?, String?, Int, Bool)])
    func attachments(_ disposition: String?, _ type: String?, _ status: Int, _ expected: Bool) {
        var response = HTTPResponse(status: HTTPStatus(rawValue: status))
        response.fields["Content-Disposition"] = disposition
        response.fields["Content-Type"] = type
        #expect(Downloads.isAttachment(response) == expected)
    }

    @Test("A navigation is looked at only where it leads to the API; its first answer is the download's")
    func navigation() async throws {
        let server = FileServer {
            $0.change = { response, _ in response.fields["Content-Disposition"] = "attachment; filename=r.txt" }
        }
        let page = Origin(scheme: "https", host: "localhost", port: 443)
        let downloads = Downloads(
            folder: server.folder, page: page, isNative: { $0.host == "api.example" }, time: NoWaiting(), log: .none
        ) { server.answer($0) }
        #expect(await downloads.attachment(at: "https://elsewhere.example/x")?.first == nil)
        #expect(await downloads.attachment(at: "mailto:a@api.example")?.first == nil)
        #expect(server.requests.isEmpty)
        let wrapped = MediaProxyURL.wrap("https://api.example/x", page: page)
        let found = try #require(await downloads.attachment(at: wrapped))
        let file = try await found.download.run(continuing: found.first)
        #expect(file.name == "r.txt" && server.text(file) == "0123456789")
        #expect(server.requests.map(\.url) == ["https://api.example/x"])
        #expect(downloads.download("blob:https://localhost/1") == nil)
        let made = try downloads.makeFolder()
        #expect(made.hasPrefix(server.folder + "/") && FileManager.default.fileExists(atPath: made))
    }
}
