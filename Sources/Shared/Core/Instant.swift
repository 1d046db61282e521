// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// A moment on the wall clock, in whole milliseconds since 1970-01-01T00:00:00Z.
///
/// Databases and wire formats hold this integer; arithmetic uses `Duration`.
public struct Instant: Hashable, Comparable, Sendable {
    /// Milliseconds since the epoch.
    public let milliseconds: Int64

    /// The moment so many milliseconds after the epoch.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// The moment so many whole seconds after the epoch, as in JWT claims.
    public init(seconds: Int64) { self.milliseconds = seconds &* 1000 }

    /// Whole seconds since the epoch, rounded down.
    public var seconds: Int64 { milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000 }

    public static func < (a: Instant, b: Instant) -> Bool { a.milliseconds < b.milliseconds }

    /// The moment `duration` later; saturates instead of overflowing.
    public static func + (a: Instant, duration: Duration) -> Instant {
        let (sum, overflow) = a.milliseconds.addingReportingOverflow(duration.inMilliseconds)
        guard overflow else { return Instant(milliseconds: sum) }
        return Instant(milliseconds: duration < .zero ? .min : .max)
    }

    /// The moment `duration` earlier; saturates instead of overflowing.
    public static func - (a: Instant, duration: Duration) -> Instant { a + (.zero - duration) }

    /// How long after `b` this moment is (negative when earlier).
    public static func - (a: Instant, b: Instant) -> Duration {
        .milliseconds(a.milliseconds.subtractingReportingOverflow(b.milliseconds).partialValue)
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero.
    public var inMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds &* 1000 &+ attoseconds / 1_000_000_000_000_000
    }
}
