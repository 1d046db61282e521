// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// The scripts by which files that a person drags into the window reach the page.
///
/// WebKitGTK gives a page no file of a drop: a page can start a drag of its own and name any path in it. The shell tells the
/// two apart, which WebKit does not: it takes drags from other programs only, and hands the page their files as a file input
/// would. They are read from disk when the page reads them.
enum FileDropScript {
    /// While files hover at this place of the view: the page's `dragenter`, `dragover` and `dragleave`.
    static func hover(x: Double, y: Double) -> String { "\(library)(\(x), \(y), null)" }

    /// They have left without being dropped.
    static let leave = "\(library)(-1, -1, null)"

    /// They are dropped here: an input of files, which the shell answers without asking, and then the page's `drop`.
    static func drop(x: Double, y: Double) -> String {
        """
        (() => {
          const input = document.createElement("input");
          input.type = "file";
          input.multiple = true;
          input.addEventListener("change", () => \(library)(\(x), \(y), [...input.files]), { once: true });
          input.click();
        })()
        """
    }

    /// A function of place and files; it keeps over what the files hover.
    private static let library = """
        ((x, y, files) => {
          const state = (globalThis.nacreDrag ??= { over: null });
          const transfer = new DataTransfer();
          for (const file of files ?? []) transfer.items.add(file);
          // Before the drop a page may know that there are files, not which.
          if (!files) transfer.items.add(new File([], ""));
          const send = (target, type) => {
            const made = new DragEvent(type, {
              bubbles: true, cancelable: type !== "dragleave", composed: true, clientX: x, clientY: y, dataTransfer: transfer,
            });
            return !target.dispatchEvent(made);
          };
          const target = x < 0 ? null : document.elementFromPoint(x, y);
          if (target !== state.over) {
            if (target) send(target, "dragenter");
            if (state.over?.isConnected) send(state.over, "dragleave");
            state.over = target;
          }
          if (!target) return false;
          const input = target.closest("input[type=file]");
          const takes = send(target, "dragover") || (input !== null && !input.disabled);
          if (!files) return takes;
          state.over = null;
          if (!takes) {
            send(target, "dragleave");
          } else if (!send(target, "drop") && input && !input.disabled) {
            if (!input.multiple) while (transfer.items.length > 1) transfer.items.remove(1);
            input.files = transfer.files;
            for (const type of ["input", "change"]) input.dispatchEvent(new Event(type, { bubbles: true }));
          }
          return takes;
        })
        """
}

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK

    /// Files dragged in from another program (NB-14).
    @MainActor
    final class FileDrop {
        private unowned let page: WebPage
        private var isAsking = false
        /// What the next question for files is answered with, and the document it was dropped on.
        private var dropped: (paths: [String], load: UInt64) = ([], 0)
        private var round = 0

        init(on page: WebPage) {
            self.page = page
            let target = nacre_file_drop_target_new()!
            let raw = UnsafeMutableRawPointer(target)
            // Before WebKit's own, which would show the page a drop without its files.
            gtk_event_controller_set_propagation_phase(target, GTK_PHASE_CAPTURE)
            Signals.connectRequest(raw, "accept") { [unowned self] drop in
                // A drag of a page's own names what it likes: it is WebKit's, which gives no files.
                guard nacre_drop_is_local(drop) == 0 else { return false }
                return nacre_drop_has_files(drop) != 0 && self.page.currentLoad != 0
            }
            for name in ["enter", "motion"] {
                Signals.connectPlace(raw, name) { [unowned self] x, y in
                    nacre_let_other_drops(widget, 0)
                    hover(x, y)
                    return GDK_ACTION_COPY
                }
            }
            Signals.connect(raw, "leave") { [unowned self] in
                end()
                run(FileDropScript.leave)
            }
            Signals.connectDrop(raw) { [unowned self] value, x, y in
                end()
                drop(Self.paths(value), x, y)
                return true
            }
            gtk_widget_add_controller(widget, target)
        }

        private var widget: UnsafeMutablePointer<GtkWidget> { page.raw.assumingMemoryBound(to: GtkWidget.self) }

        /// WebKit hears of the next drag, but not of the rest of this one.
        private func end() { Task { nacre_let_other_drops(widget, 1) } }

        /// The files a page's input is to get, once, when it asks because of a drop.
        func take() -> [String] {
            defer { dropped = ([], 0) }
            return dropped.load == page.currentLoad ? dropped.paths : []
        }

        private func hover(_ x: Double, _ y: Double) {
            // One question at a time: a busy page hears of where the hand is, not of where it has been.
            guard !isAsking, page.currentLoad != 0 else { return }
            isAsking = true
            let (x, y) = place(x, y)
            Task {
                _ = try? await page.evaluate(FileDropScript.hover(x: x, y: y), in: .bridge)
                isAsking = false
            }
        }

        private func drop(_ paths: [String], _ x: Double, _ y: Double) {
            guard !paths.isEmpty, page.currentLoad != 0 else { return }
            dropped = (paths, page.currentLoad)
            round += 1
            let mine = round
            let (x, y) = place(x, y)
            Task {
                _ = try? await page.evaluate(FileDropScript.drop(x: x, y: y), in: .bridge)
                try? await Task.sleep(for: .seconds(1))
                // A page that asked for none must not get them at its next question.
                if mine == round { dropped = ([], 0) }
            }
        }

        private func run(_ script: String) {
            guard page.currentLoad != 0 else { return }
            Task { _ = try? await page.evaluate(script, in: .bridge) }
        }

        /// In CSS pixels.
        private func place(_ x: Double, _ y: Double) -> (Double, Double) {
            let zoom = webkit_web_view_get_zoom_level(page.view)
            return (x / zoom, y / zoom)
        }

        /// Files that have a path; a folder is none.
        private static func paths(_ value: UnsafeMutableRawPointer) -> [String] {
            let first = nacre_dropped_files(value)
            defer { g_slist_free(first) }
            var paths: [String] = []
            var next = first
            while let link = next {
                next = link.pointee.next
                guard let file = link.pointee.data, let path = g_file_get_path(OpaquePointer(file)) else { continue }
                if g_file_test(path, G_FILE_TEST_IS_REGULAR) != 0 { paths.append(String(cString: path)) }
                g_free(path)
            }
            return paths
        }
    }
#endif
