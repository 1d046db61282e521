// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK

    /// Find in page: a field over the upper edge, with the number of places.
    @MainActor
    final class FindBar {
        let widget: UnsafeMutablePointer<GtkWidget>
        private let entry = gtk_search_entry_new()!
        private let count = gtk_label_new("")!
        private let view: UnsafeMutablePointer<WebKitWebView>
        private let french: Bool
        private var isShown = false

        private static let options =
            WEBKIT_FIND_OPTIONS_CASE_INSENSITIVE.rawValue | WEBKIT_FIND_OPTIONS_WRAP_AROUND.rawValue
        /// More places than this are not counted.
        private static let most: UInt32 = 1000

        private var finder: OpaquePointer { webkit_web_view_get_find_controller(view) }

        init(view: UnsafeMutablePointer<WebKitWebView>, french: Bool) {
            self.view = view
            self.french = french
            widget = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6)!
            gtk_widget_set_valign(widget, GTK_ALIGN_START)
            gtk_widget_set_halign(widget, GTK_ALIGN_END)
            gtk_widget_add_css_class(widget, "osd")
            gtk_widget_set_visible(widget, 0)
            gtk_widget_set_size_request(entry, 200, -1)
            let box = UnsafeMutableRawPointer(widget).assumingMemoryBound(to: GtkBox.self)
            for part in [entry, count] { gtk_box_append(box, part) }
            addButton("go-up-symbolic", french ? "Précédent" : "Previous", box) { [unowned self] in step(forward: false)
            }
            addButton("go-down-symbolic", french ? "Suivant" : "Next", box) { [unowned self] in step(forward: true) }
            addButton("window-close-symbolic", french ? "Fermer" : "Close", box) { [unowned self] in hide() }
            connect()
        }

        private func addButton(
            _ icon: String, _ name: String, _ box: UnsafeMutablePointer<GtkBox>, _ body: @escaping @MainActor () -> Void
        ) {
            let button = gtk_button_new_from_icon_name(icon)!
            gtk_widget_set_tooltip_text(button, name)
            Signals.connect(UnsafeMutableRawPointer(button), "clicked", body)
            gtk_box_append(box, button)
        }

        private func connect() {
            let field = UnsafeMutableRawPointer(entry)
            Signals.connect(field, "search-changed") { [unowned self] in search() }
            Signals.connect(field, "activate") { [unowned self] in step(forward: true) }
            Signals.connect(field, "next-match") { [unowned self] in step(forward: true) }
            Signals.connect(field, "previous-match") { [unowned self] in step(forward: false) }
            Signals.connect(field, "stop-search") { [unowned self] in hide() }
            let finder = UnsafeMutableRawPointer(self.finder)
            Signals.connectCount(finder, "counted-matches") { [unowned self] in show(places: $0) }
            Signals.connect(finder, "failed-to-find-text") { [unowned self] in show(places: 0) }
            // Enter with the shift key looks backwards, as in browsers.
            let keys = gtk_event_controller_key_new()!
            gtk_event_controller_set_propagation_phase(keys, GTK_PHASE_CAPTURE)
            Signals.connectKey(UnsafeMutableRawPointer(keys)) { [unowned self] key, state in
                guard Int32(bitPattern: key) == GDK_KEY_Return, state.rawValue & GDK_SHIFT_MASK.rawValue != 0 else {
                    return false
                }
                step(forward: false)
                return true
            }
            gtk_widget_add_controller(entry, keys)
        }

        private var text: String { gtk_editable_get_text(OpaquePointer(entry)).map { String(cString: $0) } ?? "" }

        func show() {
            isShown = true
            gtk_widget_set_visible(widget, 1)
            gtk_widget_grab_focus(entry)
            gtk_editable_select_region(OpaquePointer(entry), 0, -1)
            if !text.isEmpty { search() }
        }

        func hide() {
            guard isShown else { return }
            isShown = false
            webkit_find_controller_search_finish(finder)
            gtk_widget_set_visible(widget, 0)
            gtk_widget_grab_focus(UnsafeMutableRawPointer(view).assumingMemoryBound(to: GtkWidget.self))
        }

        func step(forward: Bool) {
            guard isShown, !text.isEmpty else { return show() }
            if forward {
                webkit_find_controller_search_next(finder)
            } else {
                webkit_find_controller_search_previous(finder)
            }
        }

        private func search() {
            let text = text
            guard !text.isEmpty else {
                webkit_find_controller_search_finish(finder)
                gtk_label_set_text(OpaquePointer(count), "")
                return
            }
            webkit_find_controller_search(finder, text, Self.options, Self.most)
            webkit_find_controller_count_matches(finder, text, Self.options, Self.most)
        }

        private func show(places: UInt32) {
            let words = FindWording.places(Int(places), most: Int(Self.most), french: french)
            gtk_label_set_text(OpaquePointer(count), words)
        }
    }
#endif

/// What the search says.
enum FindWording {
    static func places(_ count: Int, most: Int, french: Bool) -> String {
        if count == 0 { return french ? "Introuvable" : "Not found" }
        if count >= most { return french ? "plus de \(most)" : "more than \(most)" }
        return french ? "\(count) résultat\(count > 1 ? "s" : "")" : "\(count) match\(count > 1 ? "es" : "")"
    }
}
