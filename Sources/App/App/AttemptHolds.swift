// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacrePorts
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
