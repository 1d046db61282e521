// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Synchronization

/// Counts attempts of one request.
final class Attempts: Sendable {
    private let count = Atomic(0)
    func next() -> Int { count.add(1, ordering: .relaxed).newValue }
}

/// How far a file has been read.
final class FilePlace: Sendable {
    private let place = Mutex(0)

    /// The next piece; empty at the end.
    func next(_ count: Int, of size: Int) -> Range<Int> {
        place.withLock { place in
            let start = place
            place = min(start + count, size)
            return start..<place
        }
    }
}
