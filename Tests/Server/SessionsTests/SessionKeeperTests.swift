// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreSessions
import NacreTesting
import Testing

@Suite struct SessionKeeperTests {
    private let age: Duration = .seconds(12 * 3600)

    private func state(_ check: SessionCheck) -> String {
        switch check {
        case .valid(_, let renews): renews ? "valid, cookie renewed" : "valid"
        case .absent: "absent"
        case .ended(let reason): "ended: \(reason)"
        }
    }

    private func keeper(_ fixture: SessionFixture, _ method: FakeMethod) -> SessionKeeper {
        SessionKeeper(store: fixture.store, methods: [method], time: fixture.time, log: .none)
    }

    @Test("HO-13: before 12 hours nobody is asked; the cookie slides with use")
    func fresh() async throws {
        let fixture = try await SessionFixture()
        let method = FakeMethod()
        let keeper = keeper(fixture, method)
        let (_, handle) = try await fixture.store.begin(fixture.person(), device: nil)
        #expect(state(try await keeper.check(handle)) == "valid")
        fixture.time.advance(by: .seconds(3600))
        #expect(state(try await keeper.check(handle)) == "valid, cookie renewed")
        #expect(state(try await keeper.check(handle)) == "valid")
        #expect(method.tokens.isEmpty)
        #expect(state(try await keeper.check("unknown")) == "absent")
    }

    @Test("HO-13: after 12 hours the method is asked, and the rotated token is used the next time")
    func rotation() async throws {
        let fixture = try await SessionFixture()
        let method = FakeMethod()
        let keeper = keeper(fixture, method)
        let (_, handle) = try await fixture.store.begin(fixture.person(), device: nil)
        for round in 1...2 {
            fixture.time.advance(by: age)
            method.answer = .renewed(fixture.person(refreshToken: "refresh-\(round)"))
            #expect(state(try await keeper.check(handle)) == "valid, cookie renewed")
        }
        #expect(method.tokens == ["refresh-0", "refresh-1"])
    }

    @Test("HO-13: a hundred requests at the same moment ask once")
    func singleFlight() async throws {
        let fixture = try await SessionFixture()
        let method = FakeMethod(time: fixture.time)
        let keeper = keeper(fixture, method)
        let (_, handle) = try await fixture.store.begin(fixture.person(), device: nil)
        fixture.time.advance(by: age)
        method.answer = .renewed(fixture.person(refreshToken: "refresh-1"))
        let states = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { self.state(try await keeper.check(handle)) } }
            try await until { fixture.time.sleeperCount > 0 }
            // Late comers join the attempt that is under way, or find it done; either way nobody asks again.
            for _ in 0..<50 { await Task.yield() }
            fixture.time.advance(by: .seconds(10))
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(states.isSubset(of: ["valid", "valid, cookie renewed"]))
        #expect(method.tokens == ["refresh-0"])
    }

    @Test("HO-13: a refusal ends the session once and for all")
    func refused() async throws {
        let fixture = try await SessionFixture()
        let method = FakeMethod()
        let keeper = keeper(fixture, method)
        let (_, handle) = try await fixture.store.begin(fixture.person(), device: nil)
        fixture.time.advance(by: age)
        method.answer = .refused(reason: "invalid_grant")
        #expect(state(try await keeper.check(handle)) == "ended: invalid_grant")
        #expect(state(try await keeper.check(handle)) == "absent")
    }

    @Test("HO-13: while the provider is down the session lives on for 24 hours, and no longer")
    func grace() async throws {
        let fixture = try await SessionFixture()
        let method = FakeMethod()
        let keeper = keeper(fixture, method)
        let (_, handle) = try await fixture.store.begin(fixture.person(), device: nil)
        fixture.time.advance(by: age)
        method.answer = .unreachable(NacreError("oidc.unreachable", "down"))
        #expect(state(try await keeper.check(handle)) == "valid")
        #expect(state(try await keeper.check(handle)) == "valid")
        #expect(method.tokens.count == 1, "not asked again within a minute")
        fixture.time.advance(by: .seconds(24 * 3600 - 1))
        #expect(state(try await keeper.check(handle)) == "valid")
        fixture.time.advance(by: .seconds(61))
        #expect(state(try await keeper.check(handle)) == "ended: grace_over")
        #expect(state(try await keeper.check(handle)) == "absent")
    }

    @Test("HO-13: a provider that comes back within the grace renews the session")
    func recovery() async throws {
        let fixture = try await SessionFixture()
        let method = FakeMethod()
        let keeper = keeper(fixture, method)
        let (_, handle) = try await fixture.store.begin(fixture.person(), device: nil)
        fixture.time.advance(by: age)
        method.answer = .unreachable(NacreError("oidc.unreachable", "down"))
        _ = try await keeper.check(handle)
        fixture.time.advance(by: .seconds(61))
        method.answer = .renewed(fixture.person(refreshToken: "refresh-1"))
        #expect(state(try await keeper.check(handle)) == "valid, cookie renewed")
        fixture.time.advance(by: .seconds(11 * 3600))
        #expect(state(try await keeper.check(handle)) == "valid, cookie renewed")
        #expect(method.tokens.count == 2)
    }

    @Test func `another person's answer ends the session`() async throws {
        let fixture = try await SessionFixture()
        let method = FakeMethod()
        let keeper = keeper(fixture, method)
        let (_, handle) = try await fixture.store.begin(fixture.person(), device: nil)
        fixture.time.advance(by: age)
        method.answer = .renewed(fixture.person("bob"))
        #expect(state(try await keeper.check(handle)) == "ended: other_person")
    }
}
