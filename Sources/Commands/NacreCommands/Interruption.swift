// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Dispatch
import Foundation
import Synchronization

/// Waits for SIGINT or SIGTERM.
package enum Interruption {
    /// From now on both signals are caught: the first arrives in the stream, the second ends the process at once.
    package static func begin() -> AsyncStream<Void> {
        AsyncStream { continuation in
            // One queue for both signals, so that they are counted one after the other.
            let queue = DispatchQueue(label: "nacre.signals")
            let seen = Count()
            for number in [SIGINT, SIGTERM] {
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
                source.setEventHandler {
                    if seen.next() > 1 { exit(128 + number) }
                    continuation.yield()
                    // Keeps the source for the life of the process.
                    withExtendedLifetime(source) {}
                }
                source.resume()
            }
        }
    }
}

private final class Count: Sendable {
    private let value = Mutex<Int32>(0)
    func next() -> Int32 {
        value.withLock { value in
            value += 1
            return value
        }
    }
}
