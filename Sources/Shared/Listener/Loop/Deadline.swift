// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux

/// A moment on the kernel's monotonic clock at which waiting for a socket ends.
///
/// Not a `TimeSource`: these moments are handed to the kernel's own waiting, which no test can move by hand.
package struct Deadline: Comparable, Sendable {
    /// Nanoseconds of the monotonic clock.
    let nanoseconds: UInt64

    /// Waits for ever.
    package static let never = Deadline(nanoseconds: .max)

    /// `duration` from now.
    package static func after(_ duration: Duration) -> Deadline {
        let (seconds, attoseconds) = duration.components
        guard seconds >= 0 else { return Deadline(nanoseconds: now.nanoseconds) }
        guard seconds < 1 << 32 else { return .never }
        let span = UInt64(seconds) * 1_000_000_000 + UInt64(max(0, attoseconds) / 1_000_000_000)
        return Deadline(nanoseconds: now.nanoseconds + span)
    }

    /// The moment `duration` later.
    func advanced(by duration: Duration) -> Deadline {
        let (seconds, attoseconds) = duration.components
        guard self != .never, seconds < 1 << 32 else { return .never }
        let span = UInt64(max(0, seconds)) * 1_000_000_000 + UInt64(max(0, attoseconds) / 1_000_000_000)
        return Deadline(nanoseconds: nanoseconds + span)
    }

    static var now: Deadline { Deadline(nanoseconds: nacre_monotonic_nanoseconds()) }

    package static func < (a: Deadline, b: Deadline) -> Bool { a.nanoseconds < b.nanoseconds }

    /// Milliseconds until then for `epoll_wait`, rounded up; -1 for never.
    var pollTimeout: Int32 {
        guard self != .never else { return -1 }
        let now = Self.now
        guard self > now else { return 0 }
        return Int32(min((nanoseconds - now.nanoseconds + 999_999) / 1_000_000, 60_000))
    }
}
