// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK

    /// One download: what it is, how far it is, what can be done.
    @MainActor
    final class DownloadRow {
        var onCancel: (@MainActor () -> Void)?
        var onRetry: (@MainActor () -> Void)?

        private let wording: DownloadWording
        private let list: DownloadList
        private let row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12)!
        private let label = gtk_label_new("")!
        private let bar = gtk_progress_bar_new()!
        private let button: UnsafeMutablePointer<GtkWidget>
        private let retry: UnsafeMutablePointer<GtkWidget>
        private var name = ""
        private var isGone = false
        private var isOver = false

        init(_ wording: DownloadWording, in list: DownloadList) {
            self.wording = wording
            self.list = list
            name = wording.file
            button = gtk_button_new_with_label(wording.cancel)!
            retry = gtk_button_new_with_label(wording.retry)!
            build()
            gtk_box_append(Self.box(list.widget), row)
            gtk_widget_set_visible(list.widget, 1)
            Signals.connect(UnsafeMutableRawPointer(button), "clicked") { [weak self] in
                guard let self else { return }
                if isOver { remove() } else { onCancel?() }
            }
            Signals.connect(UnsafeMutableRawPointer(retry), "clicked") { [weak self] in
                guard let self else { return }
                gtk_widget_set_visible(retry, 0)
                gtk_widget_set_visible(bar, 1)
                onRetry?()
            }
        }

        private func build() {
            gtk_widget_set_margin_top(row, 8)
            gtk_widget_set_margin_bottom(row, 8)
            gtk_widget_set_margin_start(row, 12)
            gtk_widget_set_margin_end(row, 12)
            let text = OpaquePointer(label)
            gtk_label_set_xalign(text, 0)
            gtk_label_set_ellipsize(text, PANGO_ELLIPSIZE_MIDDLE)
            gtk_widget_set_hexpand(label, 1)
            gtk_widget_set_valign(bar, GTK_ALIGN_CENTER)
            gtk_widget_set_size_request(bar, 120, -1)
            gtk_widget_set_visible(retry, 0)
            for widget in [label, bar, retry, button] { gtk_box_append(Self.box(row), widget) }
        }

        private static func box(_ widget: UnsafeMutablePointer<GtkWidget>) -> UnsafeMutablePointer<GtkBox> {
            UnsafeMutableRawPointer(widget).assumingMemoryBound(to: GtkBox.self)
        }

        private func say(_ text: String) { gtk_label_set_text(OpaquePointer(label), text) }

        func show(_ progress: ShellDownloadProgress) {
            guard !isGone else { return }
            name = progress.name
            say(wording.progress(progress))
            if let size = progress.size, size > 0 {
                show(fraction: Double(progress.received) / Double(size))
            } else {
                gtk_progress_bar_pulse(OpaquePointer(bar))
            }
        }

        func show(fraction: Double) {
            guard !isGone else { return }
            gtk_progress_bar_set_fraction(OpaquePointer(bar), min(max(fraction, 0), 1))
        }

        func show(waiting name: String) {
            self.name = name
            say(wording.waiting(name))
            show(fraction: 1)
        }

        /// Says what went wrong; what has arrived stays for another try.
        func show(failure: String) {
            guard !isGone else { return }
            say(wording.failed(name, failure))
            gtk_widget_set_visible(bar, 0)
            gtk_widget_set_visible(retry, onRetry == nil ? 0 : 1)
            if onRetry == nil { isOver = true }
        }

        func show(saved name: String) {
            guard !isGone else { return }
            say(wording.saved(name))
            isOver = true
            gtk_widget_set_visible(bar, 0)
            gtk_button_set_label(UnsafeMutableRawPointer(button).assumingMemoryBound(to: GtkButton.self), wording.close)
            Task {
                try? await Task.sleep(for: .seconds(8))
                remove()
            }
        }

        func remove() {
            guard !isGone else { return }
            isGone = true
            gtk_box_remove(Self.box(list.widget), row)
            gtk_widget_set_visible(list.widget, gtk_widget_get_first_child(list.widget) == nil ? 0 : 1)
        }
    }
#endif
