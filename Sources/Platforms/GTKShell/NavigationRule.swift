// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK

    /// Where a navigation may go (NB-10, SH-1): the top frame shows `app.origin` and nothing else; what a person opens
    /// elsewhere goes to the system browser; what opens by itself goes nowhere.
    struct NavigationRule: Sendable {
        enum Verdict: Equatable, Sendable {
            case allow
            /// Hand to the system.
            case external
            case refuse
        }

        let origin: String

        /// A navigation of a frame that may be the top frame or an inner one: WebKitGTK does not say which. So the web
        /// passes here, and `topFrame` decides once the load has begun; what no frame can show is decided at once.
        func navigation(to uri: String, userGesture: Bool) -> Verdict {
            switch Self.scheme(of: uri) {
            case "http", "https", "about", "data", "blob": .allow
            case "mailto", "tel": userGesture ? .external : .refuse
            default: .refuse
            }
        }

        /// A load of the top frame.
        func topFrame(to uri: String, userGesture: Bool) -> Verdict {
            if isOwn(uri) { return .allow }
            return leaving(to: uri, userGesture: userGesture)
        }

        /// A new window: `target=_blank`, `window.open`.
        func newWindow(to uri: String, userGesture: Bool) -> Verdict { leaving(to: uri, userGesture: userGesture) }

        /// Whether the address is on `app.origin`, by WebKit's own reading of it.
        func isOwn(_ uri: String) -> Bool {
            let parsed = webkit_security_origin_new_for_uri(uri)
            defer { webkit_security_origin_unref(parsed) }
            guard let text = webkit_security_origin_to_string(parsed) else { return false }
            defer { g_free(text) }
            return String(cString: text) == origin
        }

        /// Whether the bridge hears what the page at this address says: only the app's own page does, while it is shown.
        func hears(_ uri: String, load: UInt64, isOwnPageShown: Bool) -> Bool {
            load != 0 && isOwnPageShown && isOwn(uri)  // guard: bridge-own-origin
        }

        /// Whether what was meant for one load of the page still meets it: a reply or an event for a page that has gone
        /// must not reach the next one.
        static func isCurrent(_ load: UInt64, shown: UInt64) -> Bool {
            load != 0 && load == shown  // guard: own-load
        }

        private func leaving(to uri: String, userGesture: Bool) -> Verdict {
            guard userGesture else { return .refuse }  // guard: external-needs-gesture
            switch Self.scheme(of: uri) {
            case "http", "https", "mailto", "tel": return .external
            default: return .refuse
            }
        }

        private static func scheme(of uri: String) -> String {
            guard let colon = uri.firstIndex(of: ":") else { return "" }
            return uri[..<colon].lowercased()
        }
    }
#endif
