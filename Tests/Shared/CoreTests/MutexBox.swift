// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Synchronization

/// A list that several tasks may append to.
final class MutexBox: Sendable {
    private let list = Mutex<[String]>([])
    var values: [String] { list.withLock { $0 } }
    func append(_ text: String) { list.withLock { $0.append(text) } }
}
