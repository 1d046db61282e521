// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK
    import Glibc

    /// The one window: the page has all of it.
    @MainActor
    final class ShellWindow {
        let page: WebPage
        let window: UnsafeMutablePointer<GtkWindow>
        private let configuration: ShellConfiguration
        private unowned let delegate: any ShellDelegate
        private let scheme: ColorScheme
        private let overlay = gtk_overlay_new()!
        private let downloads: DownloadList
        let find: FindBar
        private var popups: [PopupWindow] = []
        private var active = false

        var raw: UnsafeMutableRawPointer { UnsafeMutableRawPointer(window) }

        /// `closed` is called when the page has agreed to be closed.
        init(
            application: UnsafeMutablePointer<GtkApplication>, identity: ShellIdentity,
            configuration: ShellConfiguration, delegate: any ShellDelegate, closed: @escaping @MainActor () -> Void
        ) throws {
            self.configuration = configuration
            self.delegate = delegate
            scheme = ColorScheme(configuration.colorScheme)
            page = try WebPage(configuration, appName: identity.name, delegate: delegate)
            let widget = UnsafeMutableRawPointer(gtk_application_window_new(application)!)
            window = widget.assumingMemoryBound(to: GtkWindow.self)
            gtk_window_set_title(window, identity.name)
            gtk_window_set_icon_name(window, configuration.iconName ?? identity.applicationID)
            let french = configuration.language.resolvedHere == .french
            downloads = DownloadList(window: window, french: french)
            find = FindBar(view: page.view, french: french)
            gtk_overlay_set_child(OpaquePointer(overlay), page.raw.assumingMemoryBound(to: GtkWidget.self))
            gtk_overlay_add_overlay(OpaquePointer(overlay), downloads.widget)
            gtk_overlay_add_overlay(OpaquePointer(overlay), find.widget)
            gtk_window_set_child(window, overlay)
            restoreSize()
            page.saves = { [unowned self] in downloads.follow($0) }
            page.savesByWebKit = { [unowned self] in downloads.follow(webkit: $0, folder: $1) }
            page.opens = { [unowned self] in openPopup() }
            page.leaves = { [unowned self] in leavePage() }
            page.ask = { [unowned self] in await ask(title: $0, text: $1, accept: $2, refuse: $3) }
            page.hopeless = { [unowned self] in showPlainCrash() }
            connect(closed)
        }

        /// In a phone's size it is the page that measures 390 × 844: what decorates the window comes on top. On a screen
        /// too low for that only the width is held.
        private func restoreSize() {
            let played = configuration.pageSize.map {
                WindowState(width: Int32(clamping: $0.width), height: Int32(clamping: $0.height), maximised: false)
            }
            let state = played ?? (configuration.phone ? WindowState.phone : savedState() ?? .desktop)
            gtk_window_set_default_size(window, state.width, state.height)
            if state.maximised { gtk_window_maximize(window) }
            webkit_web_view_set_zoom_level(page.view, state.zoom)
            guard configuration.phone || played != nil else { return }
            let fits = Self.screenHeight() >= state.height + 56
            gtk_widget_set_size_request(
                page.raw.assumingMemoryBound(to: GtkWidget.self), state.width, fits ? state.height : -1)
        }

        private static func screenHeight() -> Int32 {
            guard let monitors = gdk_display_get_monitors(gdk_display_get_default()),
                let monitor = g_list_model_get_item(monitors, 0)
            else { return 0 }
            var area = GdkRectangle()
            gdk_monitor_get_geometry(OpaquePointer(monitor), &area)
            g_object_unref(monitor)
            return area.height
        }

        private func savedState() -> WindowState? {
            guard let file = configuration.windowStateFile else { return nil }
            var contents: UnsafeMutablePointer<CChar>?
            guard g_file_get_contents(file, &contents, nil, nil) != 0, let contents else { return nil }
            defer { g_free(contents) }
            return WindowState(text: String(cString: contents))
        }

        func saveState() {
            guard let file = configuration.windowStateFile, !configuration.phone, configuration.pageSize == nil else {
                return
            }
            var state = WindowState.desktop
            state.zoom = webkit_web_view_get_zoom_level(page.view)
            gtk_window_get_default_size(window, &state.width, &state.height)
            state.maximised = gtk_window_is_maximized(window) != 0
            // Replaced as a whole by GLib; a failure costs a window size and nothing else.
            g_file_set_contents(file, state.text, -1, nil)
        }

        private func connect(_ closed: @escaping @MainActor () -> Void) {
            Signals.connectQuestion(raw, "close-request") { [unowned self] in
                askPageToClose(closed)
                return true
            }
            Signals.connect(page.raw, "close") { closed() }
            Signals.connectNotify(raw, "is-active") { [unowned self] in
                let now = gtk_window_is_active(window) != 0
                guard now != active else { return }
                active = now
                if now { delegate.activated() } else { delegate.deactivated() }
            }
            Shortcuts.install(on: self, developer: configuration.developer)
        }

        /// The page may ask whether to lose what was typed; one that hangs is not waited for.
        private func askPageToClose(_ closed: @escaping @MainActor () -> Void) {
            guard page.currentLoad != 0 else { return closed() }
            webkit_web_view_try_close(page.view)
            Task {
                try? await Task.sleep(for: .seconds(2))
                if webkit_web_view_get_is_web_process_responsive(page.view) == 0 { closed() }
            }
        }

        /// A window for what the page opens; few at once, so that no page floods the screen.
        private func openPopup() -> UnsafeMutableRawPointer? {
            guard popups.count < 4 else { return nil }
            let popup = PopupWindow(of: page, over: window) { [unowned self] closed in
                popups.removeAll { $0 === closed }
            }
            popups.append(popup)
            return popup.raw
        }

        /// Another document takes the page's place: its windows and the search in it are over.
        private func leavePage() {
            find.hide()
            let old = popups
            popups = []
            for popup in old { popup.close() }
        }

        /// Makes the page larger or smaller by a step, or as it was; kept for the next start.
        func zoom(_ change: (Double) -> Double) {
            let zoom = change(webkit_web_view_get_zoom_level(page.view))
            // Without the rounding many steps there and back would not come back.
            let rounded = (zoom * 100).rounded() / 100
            webkit_web_view_set_zoom_level(
                page.view, min(max(rounded, WindowState.zooms.lowerBound), WindowState.zooms.upperBound))
        }

        func present() {
            gtk_window_present(window)
        }

        func hide() {
            leavePage()
            gtk_widget_set_visible(raw.assumingMemoryBound(to: GtkWidget.self), 0)
        }

        /// The page measures this; what decorates the window comes on top (SH-9).
        func layout(width: Int32, height: Int32, keyboard: Int32) {
            let widget = page.raw.assumingMemoryBound(to: GtkWidget.self)
            gtk_widget_set_margin_bottom(widget, keyboard)
            gtk_widget_set_size_request(widget, width, max(1, height - keyboard))
            gtk_window_set_default_size(window, width, height)
        }

        /// SH-5: an open sheet or dialog first, then the page's own listener, then history, then, where the window is a
        /// phone's, the way out.
        func back() {
            let canGoBack = webkit_web_view_can_go_back(page.view) != 0
            Task {
                if page.currentLoad != 0, await page.closesTopLayer() { return }
                if page.currentLoad != 0, await delegate.backRequested(canGoBack: canGoBack) { return }
                if canGoBack {
                    webkit_web_view_go_back(page.view)
                } else if gtk_widget_get_width(raw.assumingMemoryBound(to: GtkWidget.self)) < 640 {
                    gtk_window_close(window)
                }
            }
        }

        func forward() { webkit_web_view_go_forward(page.view) }

        private func ask(title: String, text: String, accept: String, refuse: String) async -> Bool {
            let dialog = nacre_question_new(window, title, text, accept, refuse)!
            return await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                Signals.connectCode(UnsafeMutableRawPointer(dialog), "response") { code in
                    gtk_window_destroy(UnsafeMutableRawPointer(dialog).assumingMemoryBound(to: GtkWindow.self))
                    continuation.resume(returning: code == GTK_RESPONSE_ACCEPT.rawValue)
                }
                gtk_window_present(UnsafeMutableRawPointer(dialog).assumingMemoryBound(to: GtkWindow.self))
            }
        }

        /// When no web process can show even our own page: a plain label and a button.
        private func showPlainCrash() {
            let wording = ShellPage.crashed(.crashed)
            let french = configuration.language.resolvedHere == .french
            let box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 16)!
            gtk_widget_set_valign(box, GTK_ALIGN_CENTER)
            let label = gtk_label_new(wording.plainText(appName: page.appName, french: french))
            let button = gtk_button_new_with_label(french ? "Recharger" : "Reload")!
            gtk_widget_set_halign(button, GTK_ALIGN_CENTER)
            let container = UnsafeMutableRawPointer(box).assumingMemoryBound(to: GtkBox.self)
            gtk_box_append(container, label)
            gtk_box_append(container, button)
            g_object_ref(page.raw)
            gtk_overlay_set_child(OpaquePointer(overlay), box)
            Signals.connect(UnsafeMutableRawPointer(button), "clicked") { [unowned self] in
                gtk_overlay_set_child(OpaquePointer(overlay), page.raw.assumingMemoryBound(to: GtkWidget.self))
                page.load(page.wantedURL)
            }
        }
    }
#endif
