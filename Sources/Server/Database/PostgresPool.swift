// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import Synchronization

/// Lends connections, each to one transaction at a time; who finds none free waits in line.
final class PostgresPool: Sendable {
    private struct State {
        var idle: [PostgresThread] = []
        var made = 0
        var next = 0
        var waiting: [(id: Int, continuation: CheckedContinuation<PostgresThread, any Error>)] = []
    }

    private let target: PostgresTarget
    private let options: PostgresOptions
    private let health = PostgresHealth()
    private let random: any RandomSource
    private let state = Mutex(State())

    init(_ target: PostgresTarget, _ options: PostgresOptions, _ random: any RandomSource) {
        self.target = target
        self.options = options
        self.random = random
    }

    func transaction<Result: Sendable>(
        _ kind: PostgresConnection.Kind, _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result {
        let thread = try await take()
        defer { give(back: thread) }
        return try await thread.transaction(kind, body)
    }

    private func take() async throws -> PostgresThread {
        if let thread = state.withLock({ free(&$0) }) { return thread }
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        // The machine's own clock: how long a line is has nothing to do with the time that tests move.
        let alarm = Task { [options] in
            try await SystemTime().sleep(for: options.queuePatience)
            self.leave(
                id, with: NacreError("database.busy", "Every connection to the database is in use; try again shortly."))
        }
        defer { alarm.cancel() }
        return try await wait(id)
    }

    /// Takes a waiter out of the line; harmless when it has a connection already.
    private func leave(_ id: Int, with error: any Error) {
        let waiter = state.withLock { state -> CheckedContinuation<PostgresThread, any Error>? in
            guard let index = state.waiting.firstIndex(where: { $0.id == id }) else { return nil }
            return state.waiting.remove(at: index).continuation
        }
        waiter?.resume(throwing: error)
    }

    /// The connection used last: the others may rest until the server or we close them.
    private func free(_ state: inout State) -> PostgresThread? {
        if let thread = state.idle.popLast() { return thread }
        guard state.made < options.connections else { return nil }
        state.made += 1
        return PostgresThread(target, options, health, random)
    }

    private func wait(_ id: Int) async throws -> PostgresThread {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome = state.withLock { state -> Result<PostgresThread, any Error>? in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if let thread = free(&state) { return .success(thread) }
                    state.waiting.append((id, continuation))
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            leave(id, with: CancellationError())
        }
    }

    private func give(back thread: PostgresThread) {
        let waiter = state.withLock { state -> CheckedContinuation<PostgresThread, any Error>? in
            guard !state.waiting.isEmpty else {
                state.idle.append(thread)
                return nil
            }
            return state.waiting.removeFirst().continuation
        }
        waiter?.resume(returning: thread)
    }
}
