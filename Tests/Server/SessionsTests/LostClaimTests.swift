// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase
import NacreSessions
import NacreTesting
import Testing

/// Two processes of which one hangs, or stores nothing, while it asks the provider about a session.
@Suite("HO-13: a process that is late with a provider's answer, or gone") struct LostClaimTests {
    private struct World {
        let processes: TwoProcesses
        let session: Session
        let handle: String
        /// The clock of the first process' wait for the provider.
        let wait = ManualTime()
        let slow: FakeMethod
        let slowKeeper: SessionKeeper

        init() async throws {
            processes = try await TwoProcesses()
            (session, handle) = try await processes.first.store.begin(TwoProcesses.person(), device: nil)
            slow = FakeMethod(time: wait)
            slowKeeper = SessionKeeper(
                store: processes.first.store, methods: [slow], time: processes.time, log: .none)
            processes.time.advance(by: .seconds(12 * 3600))
        }

        var second: TwoProcesses.Node { processes.second }

        /// The first process asks and hears nothing for longer than its right lasts.
        func hang(_ answer: Revalidation) async throws -> Task<SessionCheck, any Error> {
            slow.answer = answer
            let task = Task { try await slowKeeper.check(handle) }
            try await until { wait.sleeperCount == 1 }
            processes.time.advance(by: .seconds(120))
            return task
        }

        func refreshToken() async throws -> String? {
            try await second.store.find(handle: handle)?.secrets.refreshToken
        }
    }

    private func state(_ check: SessionCheck) -> String {
        switch check {
        case .valid: "valid"
        case .absent: "absent"
        case .ended(let reason): "ended: \(reason)"
        }
    }

    private func renewed(_ token: String) -> Revalidation { .renewed(TwoProcesses.person(refreshToken: token)) }

    @Test("A late answer does not replace what another process has got since", arguments: ["renewed", "refused"])
    func late(kind: String) async throws {
        let world = try await World()
        let task = try await world.hang(
            kind == "renewed" ? renewed("refresh-late") : .refused(reason: "invalid_grant"))
        world.second.method.answer = renewed("refresh-2")
        #expect(state(try await world.second.keeper.check(world.handle)) == "valid")
        world.wait.advance(by: .seconds(10))
        #expect(state(try await task.value) == "valid")
        #expect(try await world.refreshToken() == "refresh-2")
    }

    @Test("A late outage does not take the right from the process that has it now")
    func lateOutage() async throws {
        let world = try await World()
        let task = try await world.hang(.unreachable(NacreError("oidc.unreachable", "down")))
        let wait = ManualTime()
        let asking = FakeMethod(time: wait)
        asking.answer = renewed("refresh-2")
        let keeper = SessionKeeper(
            store: world.second.store, methods: [asking], time: world.processes.time, log: .none)
        let second = Task { try await keeper.check(world.handle) }
        try await until { wait.sleeperCount == 1 }
        world.wait.advance(by: .seconds(10))
        #expect(state(try await task.value) == "valid")
        world.processes.time.advance(by: .seconds(61))
        #expect(state(try await world.second.keeper.check(world.handle)) == "valid")
        #expect(world.second.method.tokens.isEmpty, "the second one is still asking")
        wait.advance(by: .seconds(10))
        #expect(state(try await second.value) == "valid")
        #expect(try await world.refreshToken() == "refresh-2")
    }

    @Test("The token of a late process is kept although another one was refused with the spent token meanwhile")
    func lateRenewal() async throws {
        let world = try await World()
        let task = try await world.hang(renewed("refresh-1"))
        world.second.method.answer = .refused(reason: "invalid_grant")
        #expect(state(try await world.second.keeper.check(world.handle)) == "valid", "doubted once")
        world.wait.advance(by: .seconds(10))
        #expect(state(try await task.value) == "valid")
        #expect(try await world.refreshToken() == "refresh-1")
        world.processes.time.advance(by: .seconds(121))
        #expect(state(try await world.second.keeper.check(world.handle)) == "valid")
        #expect(world.second.method.tokens == ["refresh-0"], "it is renewed; nobody asks")
    }

    @Test("When the process never comes back, the refusal counts two minutes later")
    func dead() async throws {
        let world = try await World()
        _ = try await world.hang(renewed("refresh-1"))
        world.second.method.answer = .refused(reason: "invalid_grant")
        for _ in 0..<3 { #expect(state(try await world.second.keeper.check(world.handle)) == "valid") }
        #expect(world.second.method.tokens.count == 1)
        world.processes.time.advance(by: .seconds(119))
        #expect(state(try await world.second.keeper.check(world.handle)) == "valid")
        world.processes.time.advance(by: .seconds(1))
        #expect(state(try await world.second.keeper.check(world.handle)) == "ended: invalid_grant")
        world.wait.advance(by: .seconds(10))
    }

    @Test("Only invalid_grant is doubted: what else is wrong with an answer ends the session at once")
    func otherRefusals() async throws {
        let world = try await World()
        _ = try await world.hang(renewed("refresh-1"))
        world.second.method.answer = .refused(reason: "id_token.subject")
        #expect(state(try await world.second.keeper.check(world.handle)) == "ended: id_token.subject")
        world.wait.advance(by: .seconds(10))
    }

    @Test("A token that could not be stored is stored as soon as that works, without a request; also before a stop")
    func storesByItself() async throws {
        for stops in [false, true] {
            let world = try await World()
            let faulty = FailsOnce(world.processes.first.database, matching: "SET secrets")
            let store = SessionStore(
                database: Database(backend: faulty, time: world.processes.time), sealing: world.processes.sealing,
                time: world.processes.time, random: SeededRandom(5))
            let method = FakeMethod()
            method.answer = renewed("refresh-1")
            let clock = ManualTime(world.processes.time.now)
            let keeper = SessionKeeper(store: store, methods: [method], time: clock, log: .none)
            await #expect(throws: NacreError.self) { _ = try await keeper.check(world.handle) }
            #expect(try await world.refreshToken() == "refresh-0")
            if stops {
                await keeper.saveKept()
            } else {
                try await until { clock.sleeperCount == 1 }
                clock.advance(by: .seconds(2))
            }
            try await until { (try? await world.refreshToken()) == "refresh-1" }
            // Its right had run out, but nobody else has asked with the spent token.
            world.processes.time.advance(by: .seconds(121))
            #expect(state(try await world.second.keeper.check(world.handle)) == "valid")
            #expect(world.second.method.tokens.isEmpty)
            clock.advance(by: .seconds(2))
        }
    }
}
