// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// What a page wants to hand to somebody.
package struct ShareContent: Sendable, Equatable {
    package var title: String?
    package var text: String?
    package var url: String?
    /// Absolute paths of files that the app may read.
    package var files: [String]
    /// The title of the dialog, where there is one.
    package var dialogTitle: String?

    package init(
        title: String? = nil, text: String? = nil, url: String? = nil, files: [String] = [], dialogTitle: String? = nil
    ) {
        self.title = title
        self.text = text
        self.url = url
        self.files = files
        self.dialogTitle = dialogTitle
    }
}

/// The system's way of handing something over: a share sheet, a mail to write, a place to save to.
package protocol ShareTarget: Sendable {
    /// Hands it over and returns what took it, such as `mailto` or `save`; nil when the person changed their mind.
    /// - Throws: `share.failed`, `browser.absent`.
    func share(_ content: ShareContent) async throws(NacreError) -> String?
}
