// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreBridge
import NacreCore
import NacreHTTP
import NacrePorts
import NacreTesting
import Synchronization
import Testing

@testable import NacreApp

private let page = Origin(scheme: "https", host: "localhost", port: 443)

@Suite("A server that a person chooses")
struct ServerChoiceTests {
    private static func configuration(
        _ api: String = #"{"choose": true}"#, _ environment: [String: String] = [:], development: Bool = false,
        app: String = ""
    ) throws(NacreError) -> AppConfiguration {
        try AppConfiguration(
            parsing: #"{"app": {"id": "org.example.a", "name": "A", "version": "1"\#(app)}, "api": \#(api)}"#,
            environment: environment, isDevelopment: development)
    }

    // MARK: nacre.json

    @Test("Without an address the app needs one; an address is what is proposed, and is not used unasked")
    func proposed() throws {
        let open = try Self.configuration()
        #expect(open.choosesServer && open.needsServer && open.proposedServer == nil && open.boundServer == nil)
        let proposed = try Self.configuration(#"{"choose": true, "origin": "https://demo.example.org"}"#)
        #expect(proposed.proposedServer?.description == "https://demo.example.org")
        #expect(proposed.with(ServerChoice()).needsServer)
        let fixed = try Self.configuration(#"{"origin": "https://a.example"}"#)
        #expect(!fixed.choosesServer && !fixed.needsServer && fixed.secretsID == "org.example.a")
        #expect(fixed.with(ServerChoice(origin: page, isAsking: false)).api == fixed.api)
    }

    @Test("An address from the environment leaves nothing to choose")
    func environment() throws {
        let given = try Self.configuration(#"{"choose": true}"#, ["CAP_API_URL": "https://a.example"])
        #expect(!given.choosesServer && given.api.host == "a.example")
    }

    @Test(
        "What cannot be is an error that names the key",
        arguments: [
            (#"{"choose": false}"#, "", "api.origin"), (#"{}"#, "", "api.origin"),
            (#"{"choose": true, "probe": "info"}"#, "", "api.probe"),
            (#"{"choose": true}"#, #", "origin": "https://app.example.org""#, "api.choose"),
        ])
    func faults(_ api: String, _ app: String, _ key: String) {
        let error = #expect(throws: NacreError.self) { try Self.configuration(api, app: app) }
        #expect(error?.message.contains("\"\(key)\"") == true)
    }

    @Test("A choice binds configuration, secrets and folders; asking again unbinds them and proposes it")
    func bound() throws {
        let a = Origin(scheme: "https", host: "a.example", port: 443)
        let chosen = try Self.configuration().with(ServerChoice(origin: a, isAsking: false))
        #expect(chosen.api == a && !chosen.needsServer && chosen.boundServer == a)
        #expect(chosen.secretsID == "org.example.a https://a.example")
        let asking = try Self.configuration().with(ServerChoice(origin: a, isAsking: true))
        #expect(asking.needsServer && asking.proposedServer == a && asking.boundServer == nil)
    }

    // MARK: What is kept

    private func withFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        let folder = NSTemporaryDirectory() + "nacre-choice-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return try await body(folder)
    }

    @Test("A choice is read as it was kept")
    func kept() async throws {
        try await withFolder { folder in
            #expect(ServerChoice(folder: folder, isDevelopment: false) == ServerChoice())
            let choice = ServerChoice(origin: try Origin("https://a.example:8443"), isAsking: true)
            try choice.keep(folder: folder)
            #expect(ServerChoice(folder: folder, isDevelopment: false) == choice)
        }
    }

    @Test("NB-8: a kept cleartext server is none for a release, and neither is a file that cannot be read")
    func keptCleartext() async throws {
        try await withFolder { folder in
            let choice = ServerChoice(origin: try Origin("http://localhost:8901"), isAsking: false)
            try choice.keep(folder: folder)
            #expect(ServerChoice(folder: folder, isDevelopment: true) == choice)
            #expect(ServerChoice(folder: folder, isDevelopment: false) == ServerChoice())
            for text in ["", "[]", "{\"origin\": 7}", "{\"origin\": \"nothing\"}"] {
                try PrivateFile.replace(folder + "/server.json", Array(text.utf8))
                #expect(ServerChoice(folder: folder, isDevelopment: true) == ServerChoice())
            }
        }
    }

    @Test("SE-1: each server has folders of its own, private like the app's")
    func folders() async throws {
        try await withFolder { home in
            func folders(_ server: String?) throws -> AppFolders {
                try AppFolders(
                    id: "org.example.a", environment: ["HOME": home],
                    place: AppPlace(server: try server.map { .chosen(try Origin($0)) } ?? .own))
            }
            let all = try [nil, "https://a.example", "https://a.example:8443", "http://a.example", "https://[::1]:1"]
                .map(folders)
            #expect(Set(all.map(\.state)).count == all.count && Set(all.map(\.cache)).count == all.count)
            for folder in all.flatMap({ [$0.state, $0.web, $0.cache, $0.files] }) {
                let mode = try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions] as? Int
                #expect(mode == 0o700 && folder.hasPrefix(home) && !folder.contains(".."))
            }
        }
    }

    // MARK: What a person types

    @Test(
        "An address is taken as people write it",
        arguments: [
            ("mail.example.org", "https://mail.example.org"),
            ("  https://mail.example.org/  ", "https://mail.example.org"),
            ("https://Mail.Example.org:8443/projects/3?tab=1#x", "https://mail.example.org:8443"),
            ("HTTPS://mail.example.org", "https://mail.example.org"), ("localhost:8901", "https://localhost:8901"),
            ("192.0.2.7", "https://192.0.2.7"),
        ])
    func typed(_ text: String, _ origin: String) throws {
        #expect(try ServerAddress.origin(of: text, page: page, isDevelopment: false).description == origin)
    }

    @Test(
        "What is no address is said in plain words",
        arguments: [
            "", "   ", "nothing here", "ftp://a.example", "https://", "https://user:word@a.example", "a b.example",
            "https://localhost",
        ])
    func noAddress(_ text: String) {
        let error = #expect(throws: NacreError.self) {
            try ServerAddress.origin(of: text, page: page, isDevelopment: true)
        }
        #expect(error?.code == "server.address")
        #expect(error?.message.contains("word@") == false)
    }

    @Test("NB-8: a cleartext address is for development")
    func cleartext() throws {
        let text = "http://mail.example.org"
        #expect(try ServerAddress.origin(of: text, page: page, isDevelopment: true).scheme == "http")
        let error = #expect(throws: NacreError.self) {
            try ServerAddress.origin(of: text, page: page, isDevelopment: false)
        }
        #expect(error?.code == "server.cleartext")
    }
}

@Suite("Whether a server is one of the app's")
struct ServerProbeTests {
    private struct Server: HTTPTransport {
        let answer: @Sendable (HTTPRequest) async throws -> HTTPResponse
        func send(_ request: HTTPRequest) async throws -> HTTPResponse { try await answer(request) }
    }

    private static let ours = HTTPResponse(body: .text(#"{"ENVIRONMENT": "production", "NACRE_VERSION": "0.3.0"}"#))
    private let origin = Origin(scheme: "https", host: "a.example", port: 443)

    private func check(
        _ path: String? = nil, _ answer: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse
    ) async -> NacreError? {
        do throws(NacreError) {
            try await ServerProbe(transport: Server(answer: answer), path: path, time: SystemTime()).check(origin)
            return nil
        } catch { return error }
    }

    @Test("The server half shows itself by its configuration, another server by the path that the app names")
    func good() async {
        let asked = Mutex<[String]>([])
        let ours = await check { request in
            asked.withLock { $0.append(request.url) }
            #expect(request.fields["Cookie"] == nil && request.fields["Authorization"] == nil)
            return Self.ours
        }
        let other = await check("/info") { request in
            asked.withLock { $0.append(request.url) }
            return HTTPResponse(status: .noContent)
        }
        #expect(ours == nil && other == nil)
        #expect(asked.withLock { $0 } == ["https://a.example/api/v1.0/config/", "https://a.example/info"])
    }

    @Test("Somebody else's server is told from ours", arguments: ["", "hi", "[]", "{}", #"{"ENVIRONMENT": 3}"#])
    func foreign(_ body: String) async {
        let error = await check { _ in HTTPResponse(body: .text(body)) }
        #expect(error?.code == "server.foreign")
        #expect(error?.message.contains("a.example") == true)
    }

    @Test(
        "A status says what it says",
        arguments: [(404, "server.foreign"), (401, "server.foreign"), (500, "server.unwell"), (503, "server.unwell")])
    func status(_ status: Int, _ code: String) async {
        #expect(await check { _ in HTTPResponse(status: HTTPStatus(rawValue: status)) }?.code.rawValue == code)
        #expect(await check("/info") { _ in HTTPResponse(status: HTTPStatus(rawValue: status)) }?.code.rawValue == code)
    }

    @Test("A redirect within the server is followed: a slash that is missing, a page behind its front door")
    func within() async {
        let asked = Mutex<[String]>([])
        let error = await check("/info") { request in
            #expect(request.fields["Cookie"] == nil)
            return asked.withLock { asked in
                asked.append(request.url)
                let next = ["/info/", "https://a.example:443/info/2", "3", "4", "5"]
                guard asked.count <= next.count else { return HTTPResponse(status: .noContent) }
                return HTTPResponse(status: 301, fields: ["Location": next[asked.count - 1]])
            }
        }
        #expect(error == nil)
        #expect(asked.withLock { $0.last } == "https://a.example/info/5")
    }

    @Test("One that sends round in circles is given up")
    func circles() async {
        let asked = Mutex(0)
        let error = await check { request in
            asked.withLock { $0 += 1 }
            return HTTPResponse(status: 302, fields: ["Location": "?\(asked.withLock { $0 })"])
        }
        #expect(error?.code == "server.foreign" && error?.message.contains("circles") == true)
        #expect(asked.withLock { $0 } == 6)
    }

    @Test("A redirect to another server is named and not followed")
    func moved() async {
        let asked = Mutex(0)
        let error = await check { _ in
            asked.withLock { $0 += 1 }
            return HTTPResponse(status: 302, fields: ["Location": "https://b.example/login?token=x"])
        }
        #expect(error?.code == "server.moved" && error?.message.contains("https://b.example.") == true)
        #expect(error?.message.contains("token") == false)
        #expect((error?.cause as? ServerProbe.Moved)?.target.description == "https://b.example")
        #expect(asked.withLock { $0 } == 1)
    }

    @Test(
        "What stands in the way is said by its kind",
        arguments: [
            ("transport.unreachable", "server.unreachable"), ("transport.timeout", "server.unreachable"),
            ("transport.protocol", "server.unreachable"), ("transport.tls", "server.certificate"),
            ("proxy.configuration", "server.proxy"),
        ])
    func inTheWay(_ cause: String, _ code: String) async {
        let error = await check { _ in throw NacreError(.init(rawValue: cause), "The cause.") }
        #expect(error?.code.rawValue == code)
        if code != "server.unreachable" { #expect(error?.message == "The cause.") }
    }

    @Test("One that never answers is given up, one that never ends too")
    func endless() async throws {
        let time = ManualTime()
        let probe = ServerProbe(
            transport: Server { _ in
                try await time.sleep(for: .seconds(1000))
                return Self.ours
            }, path: nil, time: time)
        let origin = origin
        let asking = Task { try await probe.check(origin) }
        try await until { time.sleeperCount == 2 }
        time.advance(by: probe.limit)
        let error = await #expect(throws: NacreError.self) { try await asking.value }
        #expect(error?.code == "server.unreachable")
        let flood = ByteStream { [UInt8](repeating: 32, count: 1 << 14) }
        #expect(await check { _ in HTTPResponse(body: .stream(flood, length: nil)) }?.code == "server.foreign")
    }
}

@Suite("nacre.server")
struct ServerPluginTests {
    private struct Server: HTTPTransport {
        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            if request.authority == "moved.example" {
                return HTTPResponse(status: 302, fields: ["Location": "https://good.example/login"])
            }
            return request.authority == "good.example"
                ? HTTPResponse(body: .text(#"{"ENVIRONMENT": "production"}"#)) : HTTPResponse(status: .notFound)
        }
    }

    /// A folder, and how often the app was started anew.
    private final class Place: Sendable {
        let folder = NSTemporaryDirectory() + "nacre-server-" + UUID().uuidString
        let restarts = Mutex(0)

        init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: folder) }

        var kept: ServerChoice { ServerChoice(folder: folder, isDevelopment: false) }

        func plugin(_ choice: ServerChoice) throws -> ServerPlugin {
            let configuration = try AppConfiguration(
                parsing: #"{"app": {"id": "org.example.a", "name": "A", "version": "1"}, "api": {"choose": true}}"#,
                environment: [:], isDevelopment: false)
            return ServerPlugin(
                configuration: configuration.with(choice),
                probe: ServerProbe(transport: Server(), path: nil, time: SystemTime()),
                seat: ServerSeat(folder: folder, choice: choice, restart: { self.restarts.withLock { $0 += 1 } }))
        }

        func restarted(_ times: Int) async throws { try await until { self.restarts.withLock { $0 } == times } }
    }

    private func call(_ plugin: ServerPlugin, _ method: String, _ options: JSONValue = [:]) async throws -> JSONValue {
        try await plugin.call(method, options: options, call: BridgeCallContext(pageLoad: 1) { _ in })
    }

    private let good = Origin(scheme: "https", host: "good.example", port: 443)

    @Test("A good server is kept and the app starts anew; a bad one is said and nothing happens")
    func choose() async throws {
        let place = try Place()
        let plugin = try place.plugin(ServerChoice())
        let bad = try await call(plugin, "choose", ["address": "bad.example"])
        #expect(bad["outcome"] == "refused" && bad["code"] == "server.foreign" && bad["message"]?.string != nil)
        #expect(bad["target"]?.string == nil)
        let moved = try await call(plugin, "choose", ["address": "moved.example"])
        #expect(moved["code"] == "server.moved" && moved["target"] == "https://good.example")
        #expect(try await call(plugin, "choose")["code"] == "server.address")
        #expect(place.kept.origin == nil)
        let answer = try await call(plugin, "choose", ["address": "good.example"])
        #expect(answer == ["outcome": "chosen", "origin": "https://good.example"])
        #expect(place.kept == ServerChoice(origin: good, isAsking: false))
        try await place.restarted(1)
    }

    @Test("Nothing chooses or keeps a server while nobody is asked")
    func notAsked() async throws {
        let place = try Place()
        let plugin = try place.plugin(ServerChoice(origin: good, isAsking: false))
        for method in ["choose", "keep"] {
            let error = await #expect(throws: NacreError.self) {
                try await call(plugin, method, ["address": "good.example"])
            }
            #expect(error?.code == "server.not_asked")
        }
        #expect(place.restarts.withLock { $0 } == 0 && place.kept == ServerChoice())
    }

    @Test("A change asks the person, who may stay")
    func change() async throws {
        let place = try Place()
        let bound = ServerChoice(origin: good, isAsking: false)
        #expect(try await call(place.plugin(bound), "change")["outcome"] == "asking")
        #expect(place.kept == ServerChoice(origin: good, isAsking: true))
        try await place.restarted(1)
        let asking = try place.plugin(place.kept)
        #expect(try await call(asking, "change")["outcome"] == "asking")
        #expect(place.kept == ServerChoice(origin: good, isAsking: true))
        #expect(asking.facts["asking"] == true && asking.facts["origin"] == .null)
        #expect(asking.facts["proposal"] == "https://good.example" && asking.facts["known"] == true)
        #expect(try await call(asking, "keep")["outcome"] == "kept")
        #expect(place.kept == bound)
        try await place.restarted(2)
    }

    @Test("At the first question there is nothing to stay with")
    func first() async throws {
        let plugin = try Place().plugin(ServerChoice())
        #expect(plugin.facts["known"] == false)
        let error = await #expect(throws: NacreError.self) { try await call(plugin, "keep") }
        #expect(error?.code == "server.none")
    }

    @Test("The question is a page without inline scripts, in the bundle's place")
    func page() async throws {
        let page = ServerPage(stamp: "1")
        let html = try #require(try await page.file(at: "/index.html"))
        #expect(html.type.hasPrefix("text/html"))
        let text = String(
            decoding: try await HTTPBody.stream(html.read(0..<html.size), length: nil).collect(upTo: 1 << 16),
            as: UTF8.self)
        #expect(text.contains("/server.js") && !text.contains("<script>") && !text.contains("style="))
        for path in ["/server.js", "/server.css"] { #expect(try await page.file(at: path) != nil) }
        #expect(try await page.file(at: "/nacre.json") == nil)
    }
}
