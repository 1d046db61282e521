// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreListener
import NacrePorts
import NacreRouting
import Testing

@testable import NacrePage

struct APIResponderTests {
    private struct Interceptor: PageInterceptor {
        let name: String
        let answers: Bool
        func intercept(
            _ request: HTTPRequest, next: @Sendable (HTTPRequest) async throws -> HTTPResponse
        ) async throws -> HTTPResponse {
            if answers { return HTTPResponse(fields: ["X-By": name, "Set-Cookie": "a=b"], body: .text(name)) }
            var request = request
            request.fields.append("X-Passed", name)
            return try await next(request)
        }
    }

    private let context = RequestContext(id: "1", clientAddress: "127.0.0.1")

    private func responder(
        api: String = "https://api.example.org", upstream: FakeUpstream, authority: FakeAuthority = FakeAuthority(),
        interceptors: [any PageInterceptor] = []
    ) throws -> APIResponder {
        let page = try Origin("https://localhost")
        let origin = try Origin(api)
        let configuration = PageChannelConfiguration(page: page, api: origin, media: ["/blob/"], allowsCleartext: true)
        let visible = try #require(configuration.visibleAPI)
        let loops = try EventLoops()
        loops.stop()
        let dialer = Dialer(
            loops: loops, proxy: { _ in .direct }, trust: try TLSTrust(), privateTargets: [], limit: .seconds(1),
            time: SystemTime())
        return APIResponder(
            policy: PageAccessPolicy(page: page, sameSite: false, media: ["/blob/"], serviceWorkers: false),
            fields: APIFields(page: page, api: origin, visible: visible), authority: authority, transport: upstream,
            interceptors: interceptors, sockets: UpgradeRelay(dialer: dialer, idle: .seconds(1)), log: .none)
    }

    private func fromPage(
        _ method: HTTPMethod = .get, _ target: String = "/x", _ more: [(String, String)] = [], body: HTTPBody = .none
    ) -> HTTPRequest {
        marked(
            method, target, host: "api.example.org", site: "cross-site", mode: "cors", destination: "empty",
            origin: "https://localhost", more: more, body: body)
    }

    @Test("NB-1, NB-3: the API gets the native session and nothing of the browser's")
    func request() async throws {
        let upstream = FakeUpstream()
        let request = fromPage(
            .post, "/x?y=1",
            [
                ("Cookie", "page=1"), ("Referer", "https://localhost/secret"), ("Connection", "keep-alive, X-Hop"),
                ("X-Hop", "1"), ("Accept", "a/b"), ("Proxy-Authorization", "Basic x"),
            ], body: .text("body"))
        _ = try await responder(upstream: upstream).respond(to: request, context: context)
        let sent = try #require(upstream.requests.first)
        #expect(sent.url == "https://api.example.org/x?y=1")
        #expect(sent.fields["Cookie"] == "session=native")
        #expect(sent.fields["X-CSRFToken"] == "csrf")
        #expect(sent.fields["Origin"] == "https://api.example.org")
        #expect(sent.fields["Accept"] == "a/b")
        for name in ["Referer", "Sec-Fetch-Site", "Sec-Fetch-Mode", "X-Hop", "Proxy-Authorization", "Connection"] {
            #expect(sent.fields[name] == nil, "\(name)")
        }
        #expect(try await sent.body.collect(upTo: 10) == Array("body".utf8))
    }

    @Test("The page never sees Set-Cookie or foreign CORS; the session does; nothing is stored")
    func response() async throws {
        let authority = FakeAuthority()
        let upstream = FakeUpstream { _ in
            HTTPResponse(
                fields: [
                    "Set-Cookie": "session=new; HttpOnly", "Set-Cookie2": "x", "Cache-Control": "max-age=600",
                    "Access-Control-Allow-Origin": "*", "Strict-Transport-Security": "max-age=1", "X-Total": "3",
                    "Vary": "Accept",
                ], body: .text("{}"))
        }
        let response = try await responder(upstream: upstream, authority: authority)
            .respond(to: fromPage(), context: context)
        #expect(authority.observed.first?.fields["Set-Cookie"] == "session=new; HttpOnly")
        for name in ["Set-Cookie", "Set-Cookie2", "Strict-Transport-Security"] {
            #expect(response.fields[name] == nil, "\(name)")
        }
        #expect(response.fields.values("Cache-Control") == ["no-store"])
        #expect(response.fields.values("Access-Control-Allow-Origin") == ["https://localhost"])
        #expect(response.fields["Access-Control-Allow-Credentials"] == "true")
        #expect(response.fields["Access-Control-Expose-Headers"]?.contains("x-total") == true)
        #expect(response.fields["Vary"] == "Accept, Origin")
    }

    @Test("Preflights are answered here and never go upstream")
    func preflight() async throws {
        let upstream = FakeUpstream()
        let request = marked(
            .options, "/x", origin: "https://localhost",
            more: [("Access-Control-Request-Method", "DELETE"), ("Access-Control-Request-Headers", "x-a, x-b")])
        let response = try await responder(upstream: upstream).respond(to: request, context: context)
        #expect(response.status == .ok)
        #expect(response.body.length == 0)
        #expect(response.fields["Access-Control-Allow-Origin"] == "https://localhost")
        #expect(response.fields["Access-Control-Allow-Methods"] == "DELETE")
        #expect(response.fields["Access-Control-Allow-Headers"] == "x-a, x-b")
        #expect(upstream.requests.isEmpty)
    }

    @Test("NB-12: media for a sandboxed frame carries the session and no CORS fields")
    func media() async throws {
        let upstream = FakeUpstream { _ in
            HTTPResponse(fields: ["Access-Control-Allow-Origin": "*", "Content-Type": "image/png"], body: .text("p"))
        }
        let request = marked(.get, "/blob/1", site: "cross-site", mode: "no-cors", destination: "image")
        let response = try await responder(upstream: upstream).respond(to: request, context: context)
        #expect(upstream.requests.first?.fields["Cookie"] == "session=native")
        #expect(response.status == .ok)
        #expect(response.fields["Access-Control-Allow-Origin"] == nil)
        #expect(response.fields["Cross-Origin-Resource-Policy"] == "cross-origin")
    }

    @Test("SH-8: a sandboxed frame's request does not leave the app, and the log says why")
    func refused() async throws {
        let upstream = FakeUpstream()
        for request in [
            marked(.get, "/x", site: "cross-site", mode: "cors", destination: "empty", origin: "null"),
            marked(.post, "/x", site: "cross-site", mode: "no-cors", destination: "empty", origin: "https://localhost"),
            marked(.get, "/x", site: "cross-site", mode: "no-cors", destination: "image"),
            marked(.get, "/x", site: "cross-site", mode: "websocket", origin: "null", more: [("Upgrade", "websocket")]),
        ] {
            let response = try await responder(upstream: upstream).respond(to: request, context: context)
            #expect(response.status == .forbidden)
            #expect(response.fields["X-Nacre-Reason"] != nil)
            #expect(response.fields["Access-Control-Allow-Origin"] == nil)
        }
        #expect(upstream.requests.isEmpty)
    }

    @Test("Interceptors stand in order before the session; their answers pass the same filter")
    func interceptors() async throws {
        let upstream = FakeUpstream()
        let passing = [Interceptor(name: "one", answers: false), Interceptor(name: "two", answers: false)]
        _ = try await responder(upstream: upstream, interceptors: passing).respond(to: fromPage(), context: context)
        #expect(upstream.requests.first?.fields.values("X-Passed") == ["one", "two"])
        let answering = [Interceptor(name: "one", answers: true), Interceptor(name: "two", answers: false)]
        let response = try await responder(upstream: upstream, interceptors: answering)
            .respond(to: fromPage(), context: context)
        #expect(response.fields["X-By"] == "one")
        #expect(response.fields["Set-Cookie"] == nil)
        #expect(upstream.requests.count == 1)
    }

    @Test(
        "A failing upstream becomes an answer with its reason that the page can read",
        arguments: [
            ("transport.unreachable", 502), ("transport.tls", 502), ("transport.timeout", 504),
            ("transport.protocol", 502),
        ])
    func failures(_ code: String, _ status: Int) async throws {
        let upstream = FakeUpstream { _ in throw NacreError(NacreError.Code(rawValue: code), "Reason.") }
        let response = try await responder(upstream: upstream).respond(to: fromPage(), context: context)
        #expect(response.status.rawValue == status)
        #expect(response.fields["X-Nacre-Reason"] == code)
        #expect(response.fields["Access-Control-Allow-Origin"] == "https://localhost")
        #expect(try await response.text().contains("\"code\":\"\(code)\""))
    }

    @Test("A session that cannot be had is 503, and nothing is sent")
    func lockedSession() async throws {
        let upstream = FakeUpstream()
        let authority = FakeAuthority(failure: NacreError("secrets.locked", "Unlock."))
        let response = try await responder(upstream: upstream, authority: authority)
            .respond(to: fromPage(), context: context)
        #expect(response.status == .serviceUnavailable)
        #expect(upstream.requests.isEmpty)
    }

    @Test("Cancelling reaches the transport as cancellation, not as an answer")
    func cancelled() async throws {
        let upstream = FakeUpstream { _ in throw CancellationError() }
        await #expect(throws: CancellationError.self) {
            try await responder(upstream: upstream).respond(to: fromPage(), context: context)
        }
    }

    @Test("A cleartext development API is https to the page, its redirects too")
    func cleartext() async throws {
        let upstream = FakeUpstream { _ in
            HTTPResponse(status: .found, fields: ["Location": "http://localhost:8901/next"])
        }
        let request = marked(
            .get, "/x", host: "localhost:8901", site: "same-site", mode: "cors", destination: "empty",
            origin: "https://localhost")
        let response = try await responder(api: "http://localhost:8901", upstream: upstream)
            .respond(to: request, context: context)
        #expect(upstream.requests.first?.url == "http://localhost:8901/x")
        #expect(response.fields["Location"] == "https://localhost:8901/next")
    }
}
