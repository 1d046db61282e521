// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreSessions
import Synchronization

/// Requests of one session that come at the same time share one look at its row.
///
/// Nothing is remembered: a request shares only a look that began after it had come, so that what has ended before, in
/// whatever process, is over for it. While a look is under way those who come wait for the next one, together.
final class SharedChecks: Sendable {
    private enum Turn: Sendable {
        /// To look oneself, for these others too.
        case look(others: [Waiting])
        case answer(Result<SessionCheck, any Error>)
    }
    private typealias Waiting = UnsafeContinuation<Turn, Never>

    /// Who waits for the next look, by what is presented; no entry where no look is under way.
    private let waiting = Mutex<[String: [Waiting]]>([:])

    /// What `look` answers when it begins after this call.
    func check(
        _ presented: String, _ look: @Sendable () async throws -> SessionCheck
    ) async throws -> SessionCheck {
        switch await turn(presented) {
        case .answer(let result): return try result.get()
        case .look(let others):
            let result: Result<SessionCheck, any Error>
            do { result = .success(try await look()) } catch { result = .failure(error) }
            pass(result, to: others, presented)
            return try result.get()
        }
    }

    /// How many wait for the next look.
    var waitingCount: Int { waiting.withLock { $0.values.reduce(0) { $0 + $1.count } } }

    private func turn(_ presented: String) async -> Turn {
        if waiting.withLock({ Self.begins(presented, &$0) }) { return .look(others: []) }
        return await withUnsafeContinuation { continuation in
            let begins = waiting.withLock { waiting in
                // The look may have ended in between.
                if Self.begins(presented, &waiting) { return true }
                waiting[presented]?.append(continuation)
                return false
            }
            if begins { continuation.resume(returning: .look(others: [])) }
        }
    }

    private static func begins(_ presented: String, _ waiting: inout [String: [Waiting]]) -> Bool {
        guard waiting[presented] == nil else { return false }
        waiting[presented] = []
        return true
    }

    /// Ends a look: its own others have their answer, and the first of those who came meanwhile looks next.
    private func pass(_ result: Result<SessionCheck, any Error>, to others: [Waiting], _ presented: String) {
        var isGivenUp = false
        // Whoever looked and left takes nobody along.
        if case .failure(let error) = result { isGivenUp = error is CancellationError }  // guard: shared-check-left
        let (answered, next) = waiting.withLock { waiting in
            let late = waiting[presented] ?? []
            // Those who came during the look have not had one of their own.
            let (answered, next) = isGivenUp ? ([], others + late) : (others, late)  // guard: shared-check-late
            waiting[presented] = next.isEmpty ? nil : []
            return (answered, next)
        }
        for one in answered { one.resume(returning: .answer(result)) }
        next.first?.resume(returning: .look(others: Array(next.dropFirst())))
    }
}
