// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Synchronization

/// Hands its bytes out once.
final class OnceBytes: Sendable {
    private let bytes: Mutex<[UInt8]?>
    init(_ bytes: [UInt8]) { self.bytes = Mutex(bytes.isEmpty ? nil : bytes) }
    func take() -> [UInt8]? { bytes.withLock { $0.take() } }
}
