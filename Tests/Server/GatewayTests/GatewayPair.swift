// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase
import NacreDatabaseTesting
import NacreGateway
import NacreHTTP
import NacreSessions
import NacreTesting
import Synchronization
import Testing

/// Two gateways ("processes") of one configuration on one database.
final class GatewayPair: Sendable {
    let time = ManualTime()
    let provider: MisbehavingProvider
    let upstream = RecordingUpstream()
    let database: Database
    let first: Gateway
    let second: Gateway
    let sink = RecordingLogSink()

    init(
        database: Database? = nil, credentials: (any CredentialMethod)? = nil,
        configure: (inout GatewayConfiguration) throws -> Void = { _ in }
    ) async throws {
        provider = try MisbehavingProvider(time: time)
        if let database { self.database = database } else { self.database = try await TestDatabase.make(time: time) }
        var configuration = GatewayConfiguration(
            publicOrigin: try Origin(GatewayFixture.origin), name: "Messages", callbackSchemes: ["stmessages"],
            oidc: OIDCConfiguration(
                issuer: provider.issuer, clientID: provider.clientID, clientSecret: provider.clientSecret),
            upstream: UpstreamConfiguration(origin: try Origin("http://upstream.test")))
        configuration.tokens.presentations = [.bearer, .pair]
        try configure(&configuration)
        let (sealing, key) = (SealingKey(random: SeededRandom(41)), try PrivateKey.generate(.es256))
        let (place, provider, upstream, time, sink) = (self.database, provider, upstream, time, sink)
        func gateway(seed: UInt64) -> Gateway {
            var parts = Gateway.Parts(
                database: place, sealing: sealing, identityKey: key, providerTransport: provider,
                upstreamTransport: upstream, time: time, random: SeededRandom(seed),
                log: Log(label: "gateway", time: time, sink: sink))
            parts.credentials = credentials
            return Gateway(configuration, parts)
        }
        first = gateway(seed: 42)
        second = gateway(seed: 43)
        if database == nil {
            try await first.prepare()
            try await second.prepare()
        }
    }

    func browser(_ gateway: Gateway, address: String = "192.0.2.1") -> TestBrowser {
        TestBrowser(gateway: gateway, provider: provider, address: address)
    }

    /// Signs a browser in as a web page does.
    func signedIn(_ gateway: Gateway) async throws -> TestBrowser {
        let browser = browser(gateway)
        _ = try await browser.follow("/api/v1.0/authenticate/")
        #expect(browser.cookies["sessionid"] != nil)
        return browser
    }

    /// Signs an app in at one gateway and exchanges at another.
    func exchanged(
        _ members: [String: JSONValue] = [:], at gateway: Gateway? = nil
    ) async throws -> (app: TestBrowser, answer: HTTPResponse) {
        let page = try await browser(first).follow(
            "/api/v1.0/authenticate/?mobile_scheme=stmessages&code_challenge=\(PKCEPair.challenge)")
        var body: [String: JSONValue] = [
            "token": .string(try #require(try await page.link()["token"])), "code_verifier": .string(PKCEPair.verifier),
        ]
        body.merge(members) { $1 }
        let app = browser(gateway ?? second, address: "198.51.100.7")
        return (app, try await app.post("/api/v1.0/mobile/auth/exchange/", JSONValue.object(body).bytes))
    }

    /// A pair of tokens from a hand-off.
    func pair() async throws -> (access: String, refresh: String) {
        let body = try await exchanged(["presentation": "pair", "device": "Alice's phone"]).answer.json()
        return (try #require(body["access"]?.string), try #require(body["refresh"]?.string))
    }
}

/// Keeps the reasons it hears.
final class Mailbox: Sendable {
    private final class Box: Sendable { let list = Mutex<[String]>([]) }
    private let box = Box()
    var reasons: [String] { box.list.withLock { $0 } }
    var action: SessionEvents.Action { { [box] ending in box.list.withLock { $0.append(ending.reason) } } }
}

extension HTTPFields {
    /// A bearer token.
    static func bearer(_ token: String) -> HTTPFields { ["Authorization": "Bearer \(token)"] }
}
