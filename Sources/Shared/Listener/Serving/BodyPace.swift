// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Synchronization

/// The least at which a body must move, either way; a client that trickles holds a connection, and whatever stands behind
/// it, for as long as it likes.
public struct BodyPace: Sendable {
    /// Bytes a second.
    public var bytesPerSecond: Int
    /// For so long a body may move more slowly, or not at all.
    public var window: Duration

    /// At least so many bytes a second, looked at over a window.
    public init(bytesPerSecond: Int, window: Duration) {
        precondition(bytesPerSecond > 0 && window > .zero, "a pace lets something pass")
        self.bytesPerSecond = bytesPerSecond
        self.window = window
    }
}

/// How one body moves. Time spent waiting for the other side is taken from a credit, and each byte earns its share of a
/// second back, up to the window: only waiting counts, so a handler may be as slow as it likes.
final class PaceMeter: Sendable {
    private let pace: BodyPace
    private let full: Int64
    private let credit: Mutex<Int64>

    init?(_ pace: BodyPace?) {
        guard let pace else { return nil }
        self.pace = pace
        full = Int64(clamping: Self.nanoseconds(pace.window))
        credit = Mutex(full)
    }

    private static func nanoseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    /// Until when may be waited from `now` on.
    func deadline(_ now: Deadline, stall: Duration) -> Deadline {
        let left = max(0, credit.withLock { $0 })
        return min(now.advanced(by: stall), now.advanced(by: .nanoseconds(left)))  // guard: body-pace
    }

    /// A wait that began then is over.
    func waited(since start: Deadline) {
        let span = Int64(clamping: Deadline.now.nanoseconds &- start.nanoseconds)
        credit.withLock { $0 = max(0, $0 - max(0, span)) }
    }

    /// So many bytes have passed.
    func moved(_ bytes: Int) {
        let earned = Double(bytes) / Double(pace.bytesPerSecond) * 1_000_000_000
        credit.withLock { $0 = min(full, $0 + Int64(min(earned, Double(full)))) }
    }
}
