// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreGateway
import NacreHTTP
import NacreTesting
import Testing

@Suite struct RevalidationTests {
    private let me = "/api/v1.0/users/me/"
    private let age: Duration = .seconds(12 * 3600)

    @Test("HO-13: still signed in tomorrow: after 12 hours the next request renews at the provider, once")
    func renewed() async throws {
        let fixture = try await GatewayFixture()
        let (app, _) = try await fixture.signedInApp()
        fixture.time.advance(by: age)
        fixture.provider.person.name = "Alice Durand"
        #expect(try await app.send(.get, me).json()["full_name"] == "Alice Durand")
        #expect(try await app.send(.get, me).status == .ok)
        #expect(try await fixture.refreshes() == 1)
        for _ in 0..<3 {
            fixture.time.advance(by: age)
            #expect(try await app.send(.get, me).status == .ok)
        }
    }

    @Test("HO-13: fifty requests at that moment refresh once")
    func singleFlight() async throws {
        let fixture = try await GatewayFixture()
        let (app, _) = try await fixture.signedInApp()
        fixture.time.advance(by: age)
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<50 { group.addTask { try await app.send(.get, "/api/v1.0/users/me/").status.rawValue } }
            return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(statuses == [200])
        #expect(try await fixture.refreshes() == 1)
    }

    @Test("HO-13: invalid_grant ends the session with 401 and a reason")
    func invalidGrant() async throws {
        let fixture = try await GatewayFixture()
        let (app, _) = try await fixture.signedInApp()
        fixture.provider.revokeRefreshTokens()
        fixture.time.advance(by: age)
        let answer = try await app.send(.get, me)
        #expect(answer.status == .unauthorized)
        let body = try await answer.json()
        #expect(body["code"] == "session.ended")
        #expect(body["message"]?.string?.contains("invalid_grant") == true)
        #expect(try await app.send(.get, me).status == .unauthorized)
    }

    @Test(
        "HO-13: while the provider is down the session stays for 24 hours",
        arguments: [
            ProviderFault.down, .serverError, .html, .tokenEndpointDown, .invalidClient,
        ])
    func grace(fault: ProviderFault) async throws {
        let fixture = try await GatewayFixture()
        let (app, _) = try await fixture.signedInApp()
        fixture.time.advance(by: age)
        fixture.provider.faults = [fault]
        #expect(try await app.send(.get, me).status == .ok)
        fixture.time.advance(by: .seconds(24 * 3600 - 1))
        #expect(try await app.send(.get, me).status == .ok)
        fixture.time.advance(by: .seconds(120))
        #expect(try await app.send(.get, me).status == .unauthorized)
    }

    @Test("HO-13: a provider that is back within the grace renews the session")
    func back() async throws {
        let fixture = try await GatewayFixture()
        let (app, _) = try await fixture.signedInApp()
        fixture.time.advance(by: age)
        fixture.provider.faults = [.down]
        #expect(try await app.send(.get, me).status == .ok)
        fixture.provider.faults = []
        fixture.time.advance(by: .seconds(3600))
        #expect(try await app.send(.get, me).status == .ok)
        fixture.time.advance(by: .seconds(36 * 3600))
        #expect(try await app.send(.get, me).status == .ok)
    }

    @Test(
        "HO-13: a refreshed token of somebody else, or badly signed, ends the session",
        arguments: [
            ProviderFault.wrongSignature, .wrongIssuer, .wrongAudience, .algorithmNone,
        ])
    func badRefresh(fault: ProviderFault) async throws {
        let fixture = try await GatewayFixture()
        let (app, _) = try await fixture.signedInApp()
        fixture.time.advance(by: age)
        fixture.provider.faults = [fault]
        #expect(try await app.send(.get, me).status == .unauthorized)
    }

    @Test("HO-13: a refresh that answers for another person ends the session")
    func otherPerson() async throws {
        let fixture = try await GatewayFixture()
        let (app, _) = try await fixture.signedInApp()
        fixture.time.advance(by: age)
        fixture.provider.person.subject = "sub-bob"
        #expect(try await app.send(.get, me).status == .unauthorized)
    }
}
