// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Where time comes from. Handed in everywhere, so that tests move it by hand.
public protocol TimeSource: Sendable {
    /// The wall clock's present moment.
    var now: Instant { get }
    /// Suspends for `duration`; throws `CancellationError` when the task is cancelled.
    func sleep(for duration: Duration) async throws
}

/// The machine's own clock.
public struct SystemTime: TimeSource {
    /// The machine's own clock.
    public init() {}
    public var now: Instant { Platform.wallClock() }
    public func sleep(for duration: Duration) async throws { try await ContinuousClock().sleep(for: duration) }
}

/// Runs `operation` but at most for `limit` of `time`; the loser is cancelled.
///
/// - Throws: `timeout()` when the limit passes first, else what the operation throws.
public func withTimeLimit<Value: Sendable>(
    _ limit: Duration, time: any TimeSource, timeout: @escaping @Sendable () -> NacreError,
    operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask { try await operation() }
        group.addTask {
            try await time.sleep(for: limit)
            throw timeout()
        }
        defer { group.cancelAll() }
        guard let value = try await group.next() else { throw CancellationError() }
        return value
    }
}
