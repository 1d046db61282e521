// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Why the bytes of a request are not taken. The connection is closed after the answer, since its framing is lost.
package struct Refusal: Error, Hashable, Sendable {
    /// The status to answer with.
    package let status: Int
    /// One sentence for the sender.
    package let reason: String

    package init(_ status: Int, _ reason: String) {
        self.status = status
        self.reason = reason
    }
}
