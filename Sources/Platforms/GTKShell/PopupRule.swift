// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib

    /// What a window that the page opens may show: an empty page to be written into, a `blob:` of the page, a page of
    /// the app's own origin. Only the last, and what the page writes into an empty one, is the page for the bridge too.
    struct PopupRule: Sendable {
        let page: NavigationRule

        func mayOpen(_ uri: String) -> Bool {
            if uri.isEmpty || uri == "about:blank" { return true }
            if uri.hasPrefix("blob:") { return page.isOwn(String(uri.dropFirst(5))) }  // guard: popup-blob-origin
            return page.isOwn(uri)
        }

        /// A navigation of that window, or of a frame in it.
        func navigation(to uri: String, userGesture: Bool) -> NavigationRule.Verdict {
            if mayOpen(uri) || uri == "about:srcdoc" { return .allow }
            return page.newWindow(to: uri, userGesture: userGesture)  // guard: popup-navigation
        }
    }
#endif
