// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacrePorts
import Testing

@testable import NacrePage

@Suite("Requests of the app itself")
struct PageFetchTests {
    private func channel(_ upstream: FakeUpstream, api: String = "https://api.example.org", cleartext: Bool = false)
        throws -> PageChannel
    {
        try PageChannel(
            configuration: PageChannelConfiguration(
                page: try Origin("https://localhost"), api: try Origin(api), allowsCleartext: cleartext),
            bundle: MemoryBundle(), authority: FakeAuthority(), transport: upstream, log: .none)
    }

    private func request(_ url: String, _ fields: HTTPFields = [:]) throws -> HTTPRequest {
        HTTPRequest(.get, try WebURL(url), fields: fields)
    }

    @Test("The API's get the session; what a plugin put there does not count")
    func api() async throws {
        let upstream = FakeUpstream()
        _ = try await channel(upstream).fetch(
            request("https://api.example.org/x", ["Cookie": "page=1", "Range": "bytes=1-"]))
        let sent = try #require(upstream.requests.first)
        #expect(sent.fields.values("Cookie") == ["session=native"])
        #expect(sent.fields["Range"] == "bytes=1-")
    }

    @Test("NB-1: a plugin's request to the API goes through the interceptors, and its answer comes as it is")
    func plugins() async throws {
        struct Offline: PageInterceptor {
            func intercept(
                _ request: HTTPRequest, next: @Sendable (HTTPRequest) async throws -> HTTPResponse
            ) async throws -> HTTPResponse {
                var response = try await next(request)
                response.fields["X-By"] = "the interceptor"
                return response
            }
        }
        let upstream = FakeUpstream { _ in HTTPResponse(fields: ["Cache-Control": "max-age=60"]) }
        let channel = try PageChannel(
            configuration: PageChannelConfiguration(
                page: try Origin("https://localhost"), api: try Origin("https://api.example.org")),
            bundle: MemoryBundle(), authority: FakeAuthority(), transport: upstream, interceptors: [Offline()],
            log: .none)
        let answer = try await channel.exchange(request("https://api.example.org/x", ["Origin": "https://localhost"]))
        #expect(answer.fields["X-By"] == "the interceptor")
        #expect(answer.fields["Cache-Control"] == "max-age=60")
        let sent = try #require(upstream.requests.first)
        #expect(sent.fields["Cookie"] == "session=native")
        #expect(sent.fields["Origin"] == nil)
    }

    @Test("Others get no credential, whoever put it there")
    func credentials() async throws {
        let upstream = FakeUpstream()
        _ = try await channel(upstream).fetch(
            request(
                "https://storage.example/x",
                ["Cookie": "a=1", "Authorization": "Bearer x", "X-CSRFToken": "t", "Accept": "a/b"]))
        let sent = try #require(upstream.requests.first)
        #expect(sent.url == "https://storage.example/x")
        #expect(sent.fields["Accept"] == "a/b")
        for name in ["Cookie", "Authorization", "X-CSRFToken"] { #expect(sent.fields[name] == nil, "\(name)") }
    }

    @Test("NB-8: nothing is asked in cleartext unless development allows it")
    func cleartext() async throws {
        let upstream = FakeUpstream()
        let error = await #expect(throws: NacreError.self) {
            _ = try await channel(upstream).fetch(request("http://storage.example/x"))
        }
        #expect(error?.code == "page.cleartext")
        #expect(upstream.requests.isEmpty)
        _ = try await channel(upstream, cleartext: true).fetch(request("http://storage.example/x"))
        #expect(upstream.requests.count == 1)
    }

    @Test("The page's own come from the bundle, a proxy address from what it wraps")
    func bundle() async throws {
        let upstream = FakeUpstream()
        let channel = try channel(upstream)
        #expect(try await channel.fetch(request("https://localhost/app.js")).text() == "export {}")
        let wrapped = MediaProxyURL.wrap("https://api.example.org/film", page: try Origin("https://localhost"))
        _ = try await channel.fetch(request(wrapped))
        #expect(upstream.requests.map(\.url) == ["https://api.example.org/film"])
    }
}
