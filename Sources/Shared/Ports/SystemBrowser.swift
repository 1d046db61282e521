// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// The person's own browser, never a web view of ours (HO-11).
package protocol SystemBrowser: Sendable {
    /// Opens an https, http, mailto or tel URL there.
    /// - Throws: `browser.absent` that says what to install when the system has none.
    func open(_ url: String) async throws(NacreError)
}
