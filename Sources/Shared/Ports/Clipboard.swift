// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// What lies on the clipboard.
package enum ClipboardContent: Sendable, Equatable {
    case text(String)
    /// A picture as the bytes of a PNG file.
    case png([UInt8])
}

/// The system's clipboard.
package protocol Clipboard: Sendable {
    /// The content, or nil when there is nothing that can be used.
    func read() async throws(NacreError) -> ClipboardContent?
    /// - Throws: `clipboard.image` when the bytes are no picture.
    func write(_ content: ClipboardContent) async throws(NacreError)
}
