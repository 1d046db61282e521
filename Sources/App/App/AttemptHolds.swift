// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacrePorts
package import NacreSignIn
import Synchronization

/// Whether a staged update must wait (HO-10): a hold ends with its attempt or after 15 minutes, whichever is first.
package final class AttemptHolds: UpdateHold {
    static let longest: Duration = .seconds(15 * 60)
    private let time: any TimeSource
    private let held = Mutex<[String: Instant]>([:])

    package init(time: any TimeSource) { self.time = time }

    package func hold(attempt: String) async {
        let end = time.now + Self.longest
        held.withLock { held in
            // A hold taken up again by another process or page keeps its first end.
            if held[attempt] == nil { held[attempt] = end }
        }
    }

    /// Holds again for what an earlier process has begun and not ended: a start in the middle of a sign-in exchanges nothing.
    package func takeUp(_ records: [AttemptRecord]) {
        for record in records {
            let end = record.startedAt + Self.longest
            guard end > time.now else { continue }
            held.withLock { held in if held[record.id] == nil { held[record.id] = end } }
        }
    }

    package func release(attempt: String) async { held.withLock { _ = $0.removeValue(forKey: attempt) } }

    /// Whether anything is held now.
    package var isHeld: Bool {
        let now = time.now
        return held.withLock { held in
            held = held.filter { $0.value > now }  // guard: hold-expiry
            return !held.isEmpty
        }
    }
}
