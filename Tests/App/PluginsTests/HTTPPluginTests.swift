// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreBridge
import NacreCore
import NacreHTTP
import NacrePorts
import NacreTesting
import Synchronization
import Testing

@testable import NacrePlugins

/// Answers from a closure, and remembers what it was asked.
private final class Upstream: HTTPTransport {
    private let seen = Mutex<[HTTPRequest]>([])
    private let answer: @Sendable (HTTPRequest) -> HTTPResponse
    init(_ answer: @escaping @Sendable (HTTPRequest) -> HTTPResponse) { self.answer = answer }
    var requests: [HTTPRequest] { seen.withLock { $0 } }
    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        seen.withLock { $0.append(request) }
        return answer(request)
    }
}

/// The page channel's way to the API: a cookie and a token for it alone.
private struct Channel: HTTPTransport {
    let upstream: Upstream
    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var request = request
        request.fields["Cookie"] = "sessionid=s"
        if request.method.isUnsafe { request.fields["X-CSRFToken"] = "csrf" }
        return try await upstream.send(request)
    }
}

private struct Session: CookieHolder {
    func visibleCookies(for url: WebURL) async -> [(name: String, value: String)] { [] }
    func setCookie(_ text: String, name: String, from url: WebURL) async -> Bool { true }
    func clearCookies(for url: WebURL?) async {}
}

/// What a page must not be able to do with the native transport; the ordinary calls are in the bridge's golden traces.
@Suite("CapacitorHttp: who gets what")
struct HTTPPluginTests {
    private let time = SystemTime()

    private func plugin(
        _ upstream: Upstream, api: String = "https://api.example.org", visible: String? = nil, cleartext: Bool = false
    ) throws -> HTTPPlugin {
        let address = APIAddress(
            api: try Origin(api), visible: try Origin(visible ?? api), page: try Origin("https://localhost"),
            allowsCleartext: cleartext)
        return HTTPPlugin(
            transport: upstream, api: Channel(upstream: upstream),
            cookies: PageCookieJar(api: address.api, session: Session(), time: time), address: address, time: time,
            random: SystemRandom())
    }

    private func call(
        _ plugin: HTTPPlugin, _ method: String, _ options: JSONValue
    ) async -> Result<JSONValue, BridgeRejection> {
        do {
            return .success(
                try await plugin.call(method, options: options, call: BridgeCallContext(pageLoad: 1) { _ in }))
        } catch { return .failure(BridgeRejection(error)) }
    }

    private func code(_ plugin: HTTPPlugin, _ method: String, _ options: JSONValue) async -> String? {
        if case .failure(let rejection) = await call(plugin, method, options) { return rejection.code }
        return nil
    }

    @Test("NB-1, NB-3: cookie and token go to the API and to nobody else, by no redirect either")
    func credentials() async throws {
        let upstream = Upstream { request in
            request.path == "/away"
                ? HTTPResponse(status: 307, fields: ["Location": "https://other.example/in"]) : HTTPResponse()
        }
        let plugin = try plugin(upstream)
        let headers: JSONValue = ["Authorization": "Bearer t", "Cookie": "own=1", "X-CSRFToken": "mine", "X-Kept": "1"]
        _ = await call(plugin, "post", ["url": "https://api.example.org/away", "headers": headers, "data": "x"])
        #expect(upstream.requests.map(\.authority) == ["api.example.org", "other.example"])
        let (first, second) = (upstream.requests[0].fields, upstream.requests[1].fields)
        #expect(first["Cookie"] == "sessionid=s" && first["X-CSRFToken"] == "csrf")
        #expect(first["Authorization"] == "Bearer t")
        #expect(second["Cookie"] == nil && second["X-CSRFToken"] == nil && second["Authorization"] == nil)
        #expect(second["X-Kept"] == "1")
        #expect(try await upstream.requests[1].body.collect(upTo: 10) == Array("x".utf8))
    }

    @Test("NB-1, NB-3: another server cannot lead back to the API, where the session would be")
    func back() async throws {
        let upstream = Upstream { request in
            request.authority == "hook.example"
                ? HTTPResponse(status: 307, fields: ["Location": "https://api.example.org/users/1/delete/"])
                : HTTPResponse()
        }
        let options: JSONValue = ["url": "https://hook.example/x", "data": "x"]
        #expect(try await code(plugin(upstream), "post", options) == "http.redirect")
        #expect(upstream.requests.map(\.authority) == ["hook.example"])
    }

    @Test("Another host's cookies are its own, and come back to it")
    func otherCookies() async throws {
        let upstream = Upstream { _ in
            var response = HTTPResponse(body: .text("ok"))
            response.fields.append("Set-Cookie", "a=1; Expires=Thu, 31 Dec 2099 23:59:59 GMT; Path=/")
            response.fields.append("Set-Cookie", "b=2; HttpOnly; Path=/")
            return response
        }
        let plugin = try plugin(upstream)
        for host in ["one.example", "one.example", "two.example"] {
            _ = await call(plugin, "get", ["url": .string("https://\(host)/")])
        }
        #expect(upstream.requests.map { $0.fields["Cookie"] } == [nil, "a=1; b=2", nil])
    }

    @Test(
        "NB-8: a release calls nobody without TLS, and follows no redirect there",
        arguments: [
            ("http://plain.example/", false, "http.cleartext"), ("http://plain.example/", true, nil),
            ("https://safe.example/down", false, "http.cleartext"),
        ] as [(String, Bool, String?)])
    func cleartext(_ url: String, _ allowed: Bool, _ wanted: String?) async throws {
        let upstream = Upstream { request in
            request.path == "/down"
                ? HTTPResponse(status: 302, fields: ["Location": "http://plain.example/"]) : HTTPResponse()
        }
        #expect(await code(try plugin(upstream, cleartext: allowed), "get", ["url": .string(url)]) == wanted)
        #expect(allowed || !upstream.requests.contains { $0.scheme == "http" })
    }

    @Test("A development API without TLS is called as it is, and told as the page knows it")
    func development() async throws {
        let upstream = Upstream { request in
            request.path == "/a"
                ? HTTPResponse(status: 302, fields: ["Location": "https://localhost:8901/b"]) : HTTPResponse()
        }
        let plugin = try plugin(upstream, api: "http://localhost:8901", visible: "https://localhost:8901")
        guard case .success(let answer) = await call(plugin, "get", ["url": "https://localhost:8901/a"]) else {
            Issue.record("rejected")
            return
        }
        #expect(upstream.requests.map(\.url) == ["http://localhost:8901/a", "http://localhost:8901/b"])
        #expect(answer["url"] == "https://localhost:8901/b")
    }

    @Test("An answer beyond 32 MB is not carried over the bridge, told length or not")
    func large() async throws {
        let chunk = [UInt8](repeating: 0, count: 1 << 20)
        for length in [HTTPPlugin.largestBody + 1, nil] {
            let upstream = Upstream { _ in
                let left = Mutex(40)
                let body = ByteStream {
                    left.withLock { left in
                        left -= 1
                        return left < 0 ? nil : chunk
                    }
                }
                return HTTPResponse(body: .stream(body, length: length))
            }
            #expect(await code(try plugin(upstream), "get", ["url": "https://a.example/"]) == "http.body_too_large")
        }
    }

    @Test(
        "What would be another request is refused",
        arguments: [
            ["headers": ["A B": "1"]], ["headers": ["A": "1\r\nB: 2"]], ["headers": ["": "1"]], ["method": "GET / X"],
            ["method": "CONNECT"], ["params": ["a": "b c"], "shouldEncodeUrlParams": false],
            ["url": "https://u:p@a.example/"], ["url": "ftp://a.example/"], ["url": "//a.example/"], ["url": "/x"],
            ["readTimeout": -1], ["responseType": "xml"],
        ] as [JSONValue])
    func injection(_ more: JSONValue) async throws {
        let upstream = Upstream { _ in HTTPResponse() }
        let options = JSONValue.object(["url": "https://a.example/"].merging(more.object ?? [:]) { $1 })
        #expect(await code(try plugin(upstream), "request", options) == "INVALID")
        #expect(upstream.requests.isEmpty)
    }

    @Test("A part's type cannot end its header")
    func multipart() async throws {
        let upstream = Upstream { _ in HTTPResponse() }
        let part: JSONValue = ["key": "f", "value": "", "type": "base64File", "contentType": "a/b\r\nX: 1"]
        let options: JSONValue = ["url": "https://a.example/", "dataType": "formData", "data": [part]]
        #expect(await code(try plugin(upstream), "post", options) == "INVALID")
    }

    @Test("What belongs to the connection is not a page's to set")
    func connection() async throws {
        let upstream = Upstream { _ in HTTPResponse() }
        let headers: JSONValue = [
            "Host": "evil.example", "Content-Length": "5", "Transfer-Encoding": "chunked", "Connection": "x",
            "Proxy-Authorization": "x", "Accept-Encoding": "br", "X-Mine": "1",
        ]
        _ = await call(try plugin(upstream), "get", ["url": "https://a.example/", "headers": headers])
        let fields = try #require(upstream.requests.first).fields.fields.map { "\($0.name): \($0.value)" }
        #expect(fields.sorted() == ["Accept-Encoding: identity", "X-Mine: 1"])
    }

    @Test(
        "References are resolved as RFC 3986 section 5.4 shows",
        arguments: [
            ("g", "https://a.example/b/c/g"), ("./g", "https://a.example/b/c/g"), ("g/", "https://a.example/b/c/g/"),
            ("/g", "https://a.example/g"), ("//g.example", "https://g.example/"), ("?y", "https://a.example/b/c/d?y"),
            ("../g", "https://a.example/b/g"), ("../../../g", "https://a.example/g"), (".", "https://a.example/b/c/"),
            ("g#s", "https://a.example/b/c/g"), ("", "https://a.example/b/c/d?q"), ("mailto:x", nil),
            ("file:///x", nil),
            ("http://x.example/y", "http://x.example/y"),
        ] as [(String, String?)])
    func references(_ reference: String, _ wanted: String?) throws {
        #expect(try WebURL("https://a.example/b/c/d?q").resolving(reference)?.description == wanted)
    }
}

/// The rules that a page's script meets in a jar.
@Suite("CapacitorCookies: what a script may do")
struct ScriptCookieTests {
    private let url = WebURL(origin: Origin(scheme: "https", host: "api.example.org", port: 443), target: "/")

    @Test("RFC 6265bis 5.7.3: a script neither sees, sets nor replaces a cookie that is HttpOnly")
    func httpOnly() {
        let (jar, now) = (CookieJar(), SystemTime().now)
        jar.store(["Set-Cookie": "sessionid=s; HttpOnly; Path=/"], from: url, now: now)
        #expect(jar.visible(for: url, now: now).isEmpty)
        #expect(!jar.setFromScript("sessionid=x; path=/", name: "sessionid", from: url, now: now))
        #expect(!jar.setFromScript("other=x; HttpOnly", name: "other", from: url, now: now))
        #expect(jar.header(for: url, now: now) == "sessionid=s")
        #expect(jar.setFromScript("a=1; path=/", name: "a", from: url, now: now))
        #expect(jar.visible(for: url, now: now).map(\.value) == ["1"])
        jar.clear(for: url, now: now)
        #expect(jar.isEmpty)
    }
}
