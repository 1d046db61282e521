// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreSessions
import NacreTesting
import Synchronization
import Testing

@testable import NacreGateway

@Suite("Requests of one session at the same time", .timeLimit(.minutes(1))) struct SharedChecksTests {
    /// Looks that a test lets go on one by one.
    private final class Looks: Sendable {
        private let state = Mutex<(begun: Int, gates: [CheckedContinuation<Void, Never>], answer: SessionCheck)>(
            (0, [], .absent))

        var begun: Int { state.withLock { $0.begun } }
        func set(_ answer: SessionCheck) { state.withLock { $0.answer = answer } }

        /// What stands there when the look begins, told when the test says so.
        func look() async throws -> SessionCheck {
            let answer = state.withLock { $0.answer }
            await withCheckedContinuation { continuation in
                state.withLock { state in
                    state.begun += 1
                    state.gates.append(continuation)
                }
            }
            try Task.checkCancellation()
            return answer
        }

        func letOn() { state.withLock { $0.gates.removeFirst() }.resume() }
    }

    private func name(_ check: SessionCheck) -> String {
        switch check {
        case .valid: "valid"
        case .absent: "absent"
        case .ended(let reason): reason
        }
    }

    /// Starts a check, and returns once it looks or waits.
    private func start(
        _ checks: SharedChecks, _ looks: Looks, _ key: String = "a"
    ) async throws -> Task<String, any Error> {
        let before = looks.begun + checks.waitingCount
        let task = Task { self.name(try await checks.check(key) { try await looks.look() }) }
        try await until { looks.begun + checks.waitingCount > before }
        return task
    }

    @Test func `many that come during a look share the next one, and it is one`() async throws {
        let (checks, looks) = (SharedChecks(), Looks())
        let first = try await start(checks, looks)
        try await until { looks.begun == 1 }
        var others: [Task<String, any Error>] = []
        for _ in 0..<20 { others.append(try await start(checks, looks)) }
        looks.letOn()
        #expect(try await first.value == "absent")
        try await until { looks.begun == 2 }
        looks.letOn()
        for other in others { #expect(try await other.value == "absent") }
        #expect(looks.begun == 2)
        let last = try await start(checks, looks)
        try await until { looks.begun == 3 }
        looks.letOn()
        #expect(try await last.value == "absent")
    }

    @Test("ended is ended: a look that began before a request came is not that request's answer")
    func endedMeanwhile() async throws {
        let (checks, looks) = (SharedChecks(), Looks())
        looks.set(.ended(reason: "not yet"))
        let early = try await start(checks, looks)
        try await until { looks.begun == 1 }
        looks.set(.ended(reason: "signed_out"))
        let late = try await start(checks, looks)
        looks.letOn()
        #expect(try await early.value == "not yet")
        try await until { looks.begun == 2 }
        looks.letOn()
        #expect(try await late.value == "signed_out")
    }

    @Test func `one that leaves while it looks takes nobody along`() async throws {
        let (checks, looks) = (SharedChecks(), Looks())
        let first = try await start(checks, looks)
        try await until { looks.begun == 1 }
        let second = try await start(checks, looks)
        let third = try await start(checks, looks)
        looks.letOn()
        #expect(try await first.value == "absent")
        try await until { looks.begun == 2 }
        second.cancel()
        looks.letOn()
        await #expect(throws: CancellationError.self) { try await second.value }
        try await until { looks.begun == 3 }
        looks.letOn()
        #expect(try await third.value == "absent")
    }

    @Test func `an error leaves nothing behind`() async throws {
        let checks = SharedChecks()
        await #expect(throws: NacreError.self) {
            try await checks.check("a") { throw NacreError("database.busy", "no") }
        }
        #expect(name(try await checks.check("a") { .absent }) == "absent")
    }

    @Test func `different sessions do not wait for each other`() async throws {
        let (checks, looks) = (SharedChecks(), Looks())
        let first = try await start(checks, looks, "a")
        let second = try await start(checks, looks, "b")
        try await until { looks.begun == 2 }
        looks.letOn()
        looks.letOn()
        #expect(try await first.value == "absent")
        #expect(try await second.value == "absent")
    }

    @Test("SE-4: a hundred requests at once around a sign-out: none that comes after it passes")
    func aroundSignOut() async throws {
        let fixture = try await GatewayFixture()
        let (app, csrf) = try await fixture.signedInApp()
        let cookies = app.cookies
        let during = Task {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<100 { group.addTask { try await app.send(.get, "/api/v1.0/users/me/").status.rawValue } }
                return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
            }
        }
        let answer = try await app.post(
            "/api/v1.0/mobile/auth/logout/", [], fields: ["X-CSRFToken": csrf])
        #expect(answer.status == .noContent)
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    let client = fixture.browser()
                    client.cookies = cookies
                    return try await client.send(.get, "/api/v1.0/users/me/").status.rawValue
                }
            }
            return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(statuses == [401])
        #expect(try await during.value.isSubset(of: [200, 401]))
    }
}
