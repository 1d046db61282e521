// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreJOSE
import NacreProvider
import NacreTesting
import Synchronization
import Testing

/// Clients that hear of sign-outs, and answer what a test wants.
private final class Listeners: HTTPTransport {
    typealias Handler = @Sendable (HTTPRequest) async throws -> HTTPStatus
    /// A closure that stands in a tuple behind a generic lock is wrapped once more by every access.
    private struct Answer: Sendable { let handler: Handler }
    private let state = Mutex<(heard: [(place: String, token: String)], answer: Answer)>(([], Answer { _ in .ok }))

    var heard: [(place: String, token: String)] { state.withLock { $0.heard } }
    var places: [String] { heard.map(\.place).sorted() }
    func answer(_ handler: @escaping Handler) { state.withLock { $0.answer = Answer(handler: handler) } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let body = String(decoding: try await request.body.collect(upTo: 1 << 16), as: UTF8.self)
        let token = FormFields(decoding: body)?["logout_token"] ?? ""
        let handler = state.withLock { state in
            state.heard.append((request.url, token))
            return state.answer.handler
        }
        return HTTPResponse(status: try await handler(request))
    }
}

@Suite("PV-1: back-channel logout, the provider's side") struct BackchannelTests {
    private static let messages = "http://localhost:8901/api/v1.0/backchannel-logout/"
    private static let agenda = "https://agenda.example.test/signed-out"

    private func world(_ database: ProviderWorld? = nil) async throws -> ProviderWorld {
        try await ProviderWorld(database: database?.database) {
            $0.clients[0].backchannelLogoutURI = Self.messages
            $0.clients[1].backchannelLogoutURI = Self.agenda
            $0.secret = [UInt8](repeating: 7, count: 32)
        }
    }

    /// Signed in at both clients in one browser: the ID token of the first.
    private func signIn(_ world: ProviderWorld, both: Bool = true) async throws -> String {
        let browser = world.browser()
        let code = try #require(try await browser.signIn().member("code"))
        let tokens = try await world.redeem(code).json
        if both {
            let second = try await browser.authorize([
                "client_id": "agenda", "redirect_uri": "https://agenda.example.test/cb",
            ])
            #expect(second.member("code") != nil)
        }
        return try #require(tokens["id_token"]?.string)
    }

    private func signOut(_ world: ProviderWorld, _ idToken: String) async throws {
        #expect(try await world.browser().get("/logout?id_token_hint=" + idToken).status == .ok)
    }

    @Test("PV-1: a sign-out tells every client of the session, each by a logout token for itself")
    func told() async throws {
        let world = try await world()
        let listeners = Listeners()
        let idToken = try await signIn(world)
        #expect(try await world.provider.deliverLogouts(through: listeners) == 0)
        try await signOut(world, idToken)
        #expect(try await world.provider.deliverLogouts(through: listeners) == 2)
        #expect(listeners.places == [Self.messages, Self.agenda])
        let identity = try await world.verify(idToken)
        var identifiers: Set<String> = []
        for (place, token) in listeners.heard {
            let jws = try JWS(parsing: token)
            #expect(jws.header.type == "logout+jwt")
            let keys = try await world.send(HTTPRequest(authority: "localhost:8902", target: "/jwks"))
            let key = try #require(try JSONWebKeySet(parsing: keys.json.bytes).key(for: jws.header))
            let claims = try JWTClaims(parsing: jws.verifiedPayload(with: .publicKey(key)))
            #expect(claims.issuer == "http://localhost:8902")
            #expect(claims.audience == [place == Self.messages ? "messages" : "agenda"])
            #expect(claims.subject == identity.subject)
            #expect(claims.sessionID == identity.sessionID)
            #expect(claims.issuedAt == world.time.now)
            #expect(claims.expiry == world.time.now + .seconds(120))
            #expect(claims.members["events"] == ["http://schemas.openid.net/event/backchannel-logout": [:]])
            #expect(claims.members["nonce"] == nil)
            identifiers.insert(claims.tokenID ?? "")
        }
        #expect(identifiers.count == 2)
        // Told once: neither again by itself nor by a second sign-out with the same ID token.
        world.time.advance(by: .seconds(3600))
        try await signOut(world, idToken)
        #expect(try await world.provider.deliverLogouts(through: listeners) == 0)
        #expect(listeners.heard.count == 2)
    }

    @Test("PV-1: a client that took no part in the session is not told, nor one that does not want to hear")
    func others() async throws {
        let world = try await world()
        let listeners = Listeners()
        try await signOut(world, try await signIn(world, both: false))
        _ = try await world.provider.deliverLogouts(through: listeners)
        #expect(listeners.places == [Self.messages])
        let silent = try await ProviderWorld()
        try await signOut(silent, try await signIn(silent))
        #expect(try await silent.provider.deliverLogouts(through: listeners) == 0)
        #expect(listeners.heard.count == 1)
    }

    @Test(
        "PV-1: a client that does not answer well is told again, by a new token, also after a restart",
        arguments: [503, 400, 302, 0])
    func again(status: Int) async throws {
        let world = try await world()
        let listeners = Listeners()
        listeners.answer { _ in
            guard status > 0 else { throw NacreError("transport.unreachable", "Nobody is there.") }
            return HTTPStatus(rawValue: status)
        }
        try await signOut(world, try await signIn(world, both: false))
        for _ in 0..<3 { #expect(try await world.provider.deliverLogouts(through: listeners) == 0) }
        #expect(listeners.heard.count == 1, "not before its time")
        let restarted = try await self.world(world)
        restarted.time.advance(by: .seconds(15))
        listeners.answer { _ in .noContent }
        #expect(try await restarted.provider.deliverLogouts(through: listeners) == 1)
        #expect(listeners.heard[0].token != listeners.heard[1].token)
        restarted.time.advance(by: .seconds(7200))
        #expect(try await restarted.provider.deliverLogouts(through: listeners) == 0)
    }

    @Test("PV-1: after a day of vain tries, at most one an hour, the provider gives up and says so")
    func givesUp() async throws {
        let world = try await world()
        let listeners = Listeners()
        listeners.answer { _ in .serviceUnavailable }
        try await signOut(world, try await signIn(world, both: false))
        for _ in 0..<60 {
            _ = try await world.provider.deliverLogouts(through: listeners)
            world.time.advance(by: .seconds(1800))
        }
        #expect((20...30).contains(listeners.heard.count))
        #expect(world.sink.events.contains("logout.given_up"))
    }

    @Test("PV-1: a client that is slow to answer holds nobody up for more than ten seconds")
    func slow() async throws {
        let world = try await world()
        let (listeners, time) = (Listeners(), world.time)
        listeners.answer { request in
            if request.authority.hasPrefix("agenda") { try await time.sleep(for: .seconds(600)) }
            return .ok
        }
        try await signOut(world, try await signIn(world))
        let delivery = Task { try await world.provider.deliverLogouts(through: listeners) }
        try await until { listeners.heard.count == 2 && time.sleeperCount == 2 }
        time.advance(by: .seconds(10))
        #expect(try await delivery.value == 1)
        #expect(world.sink.events.contains("logout.not_told"))
    }

    @Test("PV-1: two processes that send at the same time tell each client once")
    func twoSenders() async throws {
        let world = try await world()
        let other = try await self.world(world)
        let listeners = Listeners()
        try await signOut(world, try await signIn(world))
        async let one = world.provider.deliverLogouts(through: listeners)
        async let two = other.provider.deliverLogouts(through: listeners)
        #expect(try await one + two == 2)
        #expect(listeners.places == [Self.messages, Self.agenda])
    }

    @Test("PV-1: the running sender tells clients as soon as somebody signs out, and ends when it is cancelled")
    func running() async throws {
        let world = try await world()
        let listeners = Listeners()
        let provider = world.provider
        let sender = Task { await provider.run(sendingThrough: listeners) }
        try await signOut(world, try await signIn(world))
        try await until { listeners.heard.count == 2 }
        sender.cancel()
        await sender.value
        #expect(listeners.heard.count == 2)
    }

    @Test(
        "PV-1: a back-channel address must be https or on this machine",
        arguments: [
            ("https://agenda.example.test/out", true), ("https://10.0.0.7/out", true), ("http://127.0.0.1:9/out", true),
            ("http://localhost/out", true), ("http://10.0.0.7/out", false), ("http://agenda.example.test/out", false),
            ("https://agenda.example.test/out#x", false), ("agenda:/out", false),
            ("https://a@agenda.example.test/", false),
        ])
    func addresses(uri: String, isRight: Bool) async throws {
        do {
            _ = try await ProviderWorld { $0.clients[0].backchannelLogoutURI = uri }
            #expect(isRight)
        } catch let error as NacreError {
            #expect(!isRight)
            #expect(error.code == "provider.configuration")
        }
    }
}
