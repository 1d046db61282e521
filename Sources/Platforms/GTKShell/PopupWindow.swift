// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK

    /// A window that the page has opened (NB-11): it lives in the page's process and closes with the page that opened it or
    /// by itself. WebKit gives it the scripts of the page that opened it; they keep still there, and the bridge does not hear
    /// it (docs/decisions/0007-windows-without-bridge.md).
    @MainActor
    final class PopupWindow {
        let view: UnsafeMutablePointer<WebKitWebView>
        private let window: UnsafeMutablePointer<GtkWindow>
        private let rule: PopupRule
        private unowned let page: WebPage
        private var isClosed = false

        var raw: UnsafeMutableRawPointer { UnsafeMutableRawPointer(view) }

        init(
            of page: WebPage, over parent: UnsafeMutablePointer<GtkWindow>,
            closed: @escaping @MainActor (PopupWindow) -> Void
        ) {
            self.page = page
            rule = PopupRule(page: page.rule)
            view = nacre_related_view_new(page.view, webkit_user_content_manager_new())
            webkit_web_view_set_settings(view, webkit_web_view_get_settings(page.view))
            window = UnsafeMutableRawPointer(gtk_window_new()!).assumingMemoryBound(to: GtkWindow.self)
            gtk_window_set_title(window, page.appName)
            gtk_window_set_transient_for(window, parent)
            gtk_window_set_destroy_with_parent(window, 1)
            gtk_window_set_default_size(window, 800, 600)
            gtk_window_set_child(window, raw.assumingMemoryBound(to: GtkWidget.self))
            connect(closed)
        }

        private func connect(_ closed: @escaping @MainActor (PopupWindow) -> Void) {
            let end: @MainActor () -> Void = { [weak self] in
                guard let self, !isClosed else { return }
                isClosed = true
                gtk_window_destroy(window)
                closed(self)
            }
            Signals.connect(raw, "ready-to-show") { [weak self] in
                if let self, !isClosed { gtk_window_present(window) }
            }
            Signals.connect(raw, "close") { Task { end() } }
            Signals.connectQuestion(UnsafeMutableRawPointer(window), "close-request") { [weak self] in
                if let self { webkit_web_view_try_close(view) }
                return true
            }
            Signals.connectNotify(raw, "title") { [weak self] in
                guard let self, !isClosed else { return }
                let title = webkit_web_view_get_title(view).map { String(cString: $0) } ?? ""
                gtk_window_set_title(window, title.isEmpty ? page.appName : "\(title) – \(page.appName)")
            }
            Signals.connectCode(raw, "web-process-terminated") { _ in Task { end() } }
            Signals.connectPolicy(raw) { [weak self] decision, type in self?.decide(decision, type) ?? false }
            Signals.connectCreate(raw) { [weak self] action in self?.page.openWindow(action) }
            Signals.connectRequest(raw, "permission-request") { request in
                webkit_permission_request_deny(OpaquePointer(request))
                return true
            }
            Signals.connectRequest(raw, "run-file-chooser") { [weak self] request in
                guard let self else { return false }
                page.chooser.choose(for: OpaquePointer(request), over: view)
                return true
            }
            let developer = page.configuration.developer
            Signals.connectContextMenu(raw) { menu in ContextMenu.trim(menu, developer: developer) }
            if page.configuration.printFolder != nil {
                Signals.connectRequest(raw, "print") { [weak self] operation in
                    self?.page.printToFile(OpaquePointer(operation)) ?? false
                }
            }
        }

        private func decide(_ decision: UnsafeMutableRawPointer, _ type: WebKitPolicyDecisionType) -> Bool {
            // What arrives is judged as in the main window: a file is saved.
            guard type == WEBKIT_POLICY_DECISION_TYPE_NAVIGATION_ACTION else {
                return type == WEBKIT_POLICY_DECISION_TYPE_NEW_WINDOW_ACTION ? page.decide(decision, type) : false
            }
            let policy = decision.assumingMemoryBound(to: WebKitPolicyDecision.self)
            let action = webkit_navigation_policy_decision_get_navigation_action(OpaquePointer(decision))
            let (target, gesture) = WebPage.read(action)
            switch rule.navigation(to: target, userGesture: gesture) {
            case .allow: webkit_policy_decision_use(policy)
            case .external:
                webkit_policy_decision_ignore(policy)
                page.delegate.openExternally(target)
            case .refuse: webkit_policy_decision_ignore(policy)
            }
            return true
        }

        /// Closes it without asking.
        func close() {
            guard !isClosed else { return }
            isClosed = true
            gtk_window_destroy(window)
        }
    }
#endif
