// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Exponential waiting with full jitter: the nth wait is random between zero and `first × 2ⁿ`, at most `ceiling`.
public struct Backoff: Sendable {
    /// The first upper bound.
    public let first: Duration
    /// No wait is longer than this.
    public let ceiling: Duration

    /// Waits that start below `first` and stay below `ceiling`.
    public init(first: Duration = .seconds(1), ceiling: Duration = .seconds(300)) {
        self.first = first
        self.ceiling = ceiling
    }

    /// The wait before attempt `attempt` (0 is the first retry).
    public func delay(attempt: Int, random: any RandomSource) -> Duration {
        let bound = min(ceiling.inMilliseconds, first.inMilliseconds << Int64(min(max(attempt, 0), 30)))
        return .milliseconds(Int64(Double(bound) * random.unit()))
    }
}
