// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase
import NacreDatabaseTesting
import NacreGateway
import NacreHTTP
import NacreRouting
import NacreSessions
import NacreTesting
import NacreWire
import Synchronization
import Testing

/// A gateway with a misbehaving provider and an upstream in the test's own process.
final class GatewayFixture: Sendable {
    static let origin = "http://gateway.test"
    let time: ManualTime
    let provider: MisbehavingProvider
    let upstream = RecordingUpstream()
    let database: Database
    let gateway: Gateway
    let sink = RecordingLogSink()
    private let configuration: GatewayConfiguration

    init(
        random seed: UInt64 = 11, bundle: StaticBundle? = nil, algorithm: SignatureAlgorithm = .es256,
        issuer: String = "http://idp.test", clientID: String = "messages",
        configure: (inout GatewayConfiguration) throws -> Void = { _ in },
        between: (MisbehavingProvider) -> any HTTPTransport = { $0 }
    ) async throws {
        let time = ManualTime()
        self.time = time
        provider = try MisbehavingProvider(issuer: issuer, clientID: clientID, algorithm: algorithm, time: time)
        database = try await TestDatabase.make(time: time)
        var oidc = OIDCConfiguration(
            issuer: provider.issuer, clientID: provider.clientID, clientSecret: provider.clientSecret)
        oidc.extraParameters = ["acr_values": "eidas1"]
        var configuration = GatewayConfiguration(
            publicOrigin: try Origin(Self.origin), name: "Messages", callbackSchemes: ["stmessages", "stcalendar"],
            oidc: oidc, upstream: UpstreamConfiguration(origin: try Origin("http://upstream.test")))
        try configure(&configuration)
        self.configuration = configuration
        let random = SeededRandom(seed)
        gateway = Gateway(
            configuration,
            Gateway.Parts(
                database: database, sealing: SealingKey(random: random), identityKey: try .generate(.es256),
                providerTransport: between(provider), upstreamTransport: upstream, bundle: bundle, time: time,
                random: random,
                log: Log(label: "gateway", time: time, sink: sink)))
        try await gateway.prepare()
    }

    /// A browser with an empty jar.
    func browser(address: String = "192.0.2.1") -> TestBrowser {
        TestBrowser(gateway: gateway, provider: provider, address: address)
    }

    /// A browser of another gateway of the same configuration that reaches the provider through `transport`.
    func browser(through transport: any HTTPTransport) async throws -> TestBrowser {
        let database = try await TestDatabase.make(time: time)
        let other = Gateway(
            configuration,
            Gateway.Parts(
                database: database, sealing: SealingKey(random: SeededRandom(21)), identityKey: try .generate(.es256),
                providerTransport: transport, upstreamTransport: upstream, time: time, random: SeededRandom(22),
                log: .none))
        try await other.prepare()
        return TestBrowser(gateway: other, provider: provider, address: "192.0.2.2")
    }

    /// Signs a browser in as a web page does; answers the browser.
    func signedInBrowser() async throws -> TestBrowser {
        let browser = browser()
        let response = try await browser.follow("/api/v1.0/authenticate/")
        #expect(response.status == .found)
        return browser
    }

    /// Signs an app in through a browser; answers the app's own client.
    func signedInApp(
        scheme: String = "stmessages", browser: TestBrowser? = nil
    ) async throws -> (app: TestBrowser, csrf: String) {
        let verifier = PKCEPair.verifier
        let page = try await (browser ?? self.browser()).follow(
            "/api/v1.0/authenticate/?mobile_scheme=\(scheme)&code_challenge=\(PKCEPair.challenge)")
        let token = try #require(try await page.link()["token"])
        let app = self.browser(address: "198.51.100.7")
        let answer = try await app.exchange(token: token, verifier: verifier)
        #expect(answer.status == .ok)
        return (app, try ExchangeResponse(body: try await answer.body.collect(upTo: 4096)).csrfToken)
    }
}

/// RFC 7636, appendix B.
enum PKCEPair {
    static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
}

/// A client with a cookie jar that follows redirects between gateway and provider, and stops where a browser would.
final class TestBrowser: Sendable {
    private let gateway: InProcessClient
    private let provider: MisbehavingProvider
    /// The oldest cookie first, as browsers send them (RFC 6265 section 5.4).
    private let jar = Mutex<[(name: String, value: String)]>([])
    private let places = Mutex<[String]>([])

    init(gateway: Gateway, provider: MisbehavingProvider, address: String) {
        self.gateway = InProcessClient(gateway, clientAddress: address)
        self.provider = provider
    }

    var cookies: [String: String] {
        get { jar.withLock { Dictionary(uniqueKeysWithValues: $0.map { ($0.name, $0.value) }) } }
        set { jar.withLock { $0 = newValue.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } } }
    }

    /// The cookies of open round trips.
    var roundTrips: [String: String] { cookies.filter { $0.key.contains("nacre_rt_") } }

    /// Every redirect it was given so far.
    var trail: [String] { places.withLock { $0 } }

    /// One request to the gateway, with the jar's cookies; redirects are not followed.
    func send(
        _ method: HTTPMethod = .get, _ target: String, fields: HTTPFields = [:], body: HTTPBody = .none
    ) async throws -> HTTPResponse {
        var fields = fields
        if fields["Accept"] == nil { fields["Accept"] = "text/html,application/xhtml+xml" }
        let cookies = jar.withLock { $0.map { "\($0.name)=\($0.value)" } }
        if !cookies.isEmpty { fields["Cookie"] = cookies.joined(separator: "; ") }
        let request = HTTPRequest(
            method: method, scheme: "http", authority: "gateway.test", target: target, fields: fields, body: body)
        let response = try await gateway.send(request)
        for cookie in response.fields.values("Set-Cookie") { keep(cookie) }
        return response
    }

    /// Takes a `Set-Cookie` value into the jar.
    func keep(_ cookie: String) {
        let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let (name, value) = (String(pair[0]), String(pair[1]))
        jar.withLock { jar in
            let place = jar.firstIndex { $0.name == name }
            switch (place, cookie.contains("Max-Age=0")) {
            case (let place?, true): jar.remove(at: place)
            case (let place?, false): jar[place].value = value
            case (nil, true): break
            case (nil, false): jar.append((name, value))
            }
        }
    }

    /// Goes to the provider and back, but stops before the callback is requested: the callback's target.
    func depart(_ target: String) async throws -> String {
        try await comeBack(from: try await send(.get, target))
    }

    /// Where the provider sends the browser that `departure` sent there.
    func comeBack(from departure: HTTPResponse) async throws -> String {
        let back = try await visitProvider(try #require(departure.fields["Location"]))
        let url = try WebURL(try #require(back.fields["Location"]))
        return String(url.description.dropFirst(url.origin.description.count))
    }

    /// Goes to the provider's authorization page; answers where it sends the browser.
    func visitProvider(_ location: String) async throws -> HTTPResponse {
        try await provider.send(HTTPRequest(.get, WebURL(location)))
    }

    /// Follows redirects until a page, a custom scheme, or a redirect to a page of the web app.
    func follow(_ target: String) async throws -> HTTPResponse {
        var response = try await send(.get, target)
        for _ in 0..<10 {
            guard let location = response.fields["Location"] else { return response }
            places.withLock { $0.append(location) }
            if location.hasPrefix(GatewayFixture.origin + "/api/") {
                response = try await send(.get, String(location.dropFirst(GatewayFixture.origin.count)))
            } else if location.hasPrefix(provider.issuer) {
                response = try await visitProvider(location)
            } else {
                return response
            }
        }
        return response
    }

    func exchange(token: String, verifier: String) async throws -> HTTPResponse {
        try await post(
            "/api/v1.0/mobile/auth/exchange/", ExchangeRequest(token: token, codeVerifier: verifier).json.bytes)
    }

    func post(_ target: String, _ body: [UInt8], fields: HTTPFields = [:]) async throws -> HTTPResponse {
        var fields = fields
        if fields["Content-Type"] == nil { fields["Content-Type"] = "application/json" }
        return try await send(.post, target, fields: fields, body: .bytes(body))
    }
}

/// A transport made of a closure.
struct ClosureTransport: HTTPTransport {
    let handler: @Sendable (HTTPRequest) async throws -> HTTPResponse
    init(_ handler: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse) { self.handler = handler }
    func send(_ request: HTTPRequest) async throws -> HTTPResponse { try await handler(request) }
}

/// Records what the gateway passes on and answers what a test wants.
final class RecordingUpstream: HTTPTransport {
    typealias Handler = @Sendable (HTTPRequest) async throws -> HTTPResponse
    /// A closure that stands in a tuple behind a generic lock is wrapped once more by every access.
    private struct Answer: Sendable { let handler: Handler }
    private let state = Mutex<(requests: [HTTPRequest], answer: Answer)>(
        ([], Answer { _ in .json(["ok": true]) }))

    var requests: [HTTPRequest] { state.withLock { $0.requests } }
    func answer(_ handler: @escaping Handler) { state.withLock { $0.answer = Answer(handler: handler) } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let handler = state.withLock { state in
            state.requests.append(request)
            return state.answer.handler
        }
        return try await handler(request)
    }
}

extension HTTPResponse {
    func text() async throws -> String { String(decoding: try await body.collect(upTo: 1 << 20), as: UTF8.self) }
    func json() async throws -> JSONValue { try JSONParser.parse(try await body.collect(upTo: 1 << 20)) }

    /// Where the hand-off page's button leads, unescaped.
    func target() async throws -> String {
        let page = try await text()
        let parts = page.split(separator: "class=\"button\" href=\"")
        let link = try #require(parts.count == 2 ? parts[1] : nil).prefix { $0 != "\"" }
        return String(link.replacing("&amp;", with: "&"))
    }

    /// The parameters of that link.
    func link() async throws -> FormFields {
        let target = try await target()
        return FormFields(decoding: target.split(separator: "?").last ?? "") ?? FormFields()
    }
}

extension GatewayFixture {
    /// How often the provider has been asked for new tokens.
    func refreshes() async throws -> Int {
        var count = 0
        for request in provider.requests where request.path == "/token" {
            let body = String(decoding: try await request.body.collect(upTo: 1 << 16), as: UTF8.self)
            if body.contains("grant_type=refresh_token") { count += 1 }
        }
        return count
    }
}
