// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Where a message to the bridge comes from, as the isolated world sees it.
package struct BridgeSource: Sendable, Equatable {
    /// `location.origin`; `null` in a sandboxed frame.
    package let origin: String
    package let isTopFrame: Bool
    /// The word that the document's isolated world has made for itself; empty where a host's script makes none.
    package let document: String

    package init(origin: String, isTopFrame: Bool, document: String = "") {
        self.origin = origin
        self.isTopFrame = isTopFrame
        self.document = document
    }
}

/// Who may use native powers (NB-10): the top frame of `app.origin`, and nobody else.
package struct BridgeGate: Sendable {
    private let origin: String

    package init(origin: String) { self.origin = origin }

    package func admits(_ source: BridgeSource) -> Bool {
        guard source.isTopFrame else { return false }  // guard: bridge-top-frame
        return source.origin == origin  // guard: bridge-origin
    }
}
