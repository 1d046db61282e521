// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// One link that reached the app from outside, with the identity that makes it deliverable once (HO-9).
package struct IncomingLink: Sendable, Hashable {
    /// An identifier given at arrival.
    package let id: String
    /// The link as received.
    package let url: String

    package init(id: String, url: String) {
        self.id = id
        self.url = url
    }
}

/// A running flow takes the links it waits for; anything else goes to the fallback (HO-9).
package protocol LinkCapture: Sendable {
    /// Captures links for which `handler` returns true, until the handle is released. The newest capture is asked first.
    func capture(_ handler: @escaping @Sendable (IncomingLink) async -> Bool) async -> LinkCaptureHandle
    /// Ends a capture; a stale handle is a no-op.
    func release(_ handle: LinkCaptureHandle) async
}

/// Names one capture.
package struct LinkCaptureHandle: Hashable, Sendable {
    package let id: UInt64
    package init(id: UInt64) { self.id = id }
}
