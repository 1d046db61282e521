// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK

    /// What is being downloaded, over the lower edge of the page: a row each with progress and a way to cancel or try
    /// again, and the save dialog once the file is there.
    @MainActor
    final class DownloadList {
        let widget: UnsafeMutablePointer<GtkWidget>
        private let window: UnsafeMutablePointer<GtkWindow>
        private let wording: DownloadWording

        init(window: UnsafeMutablePointer<GtkWindow>, french: Bool) {
            self.window = window
            wording = DownloadWording(french: french)
            widget = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)!
            gtk_widget_set_valign(widget, GTK_ALIGN_END)
            gtk_widget_set_halign(widget, GTK_ALIGN_FILL)
            gtk_widget_add_css_class(widget, "osd")
            gtk_widget_set_visible(widget, 0)
        }

        /// Runs a download to its end, whatever a person decides: saved, cancelled, given up.
        func follow(_ download: any ShellDownload) {
            let row = DownloadRow(wording, in: self)
            var task: Task<Void, Never>?
            row.onCancel = {
                task?.cancel()
                row.remove()
                Task { await download.discard() }
            }
            let start: @MainActor () -> Void = { [self] in
                task = Task {
                    do {
                        let path = try await download.run { progress in await row.show(progress) }
                        if !Task.isCancelled { await save(path, row) }
                        DownloadFile.remove(path)
                    } catch is CancellationError {
                        await download.discard()
                    } catch {
                        row.show(failure: Self.sentence(error))
                    }
                }
            }
            row.onRetry = start
            start()
        }

        /// A download that WebKit writes, into a private folder of the cache.
        func follow(webkit download: OpaquePointer, folder: String) {
            let row = DownloadRow(wording, in: self)
            let raw = UnsafeMutableRawPointer(download)
            g_object_ref(raw)
            var path: String?
            var isOver = false
            let end = {
                guard !isOver else { return }
                isOver = true
                g_object_unref(raw)
            }
            Signals.connectDestination(raw) { suggested in
                let name = DownloadFile.name(suggested)
                path = folder + "/" + name
                row.show(ShellDownloadProgress(name: name, received: 0, size: nil))
                webkit_download_set_destination(download, path)
                return true
            }
            Signals.connectNotify(raw, "estimated-progress") {
                row.show(fraction: webkit_download_get_estimated_progress(download))
            }
            Signals.connectFailed(raw) { error in
                DownloadFile.remove(path ?? folder + "/none")
                if error.code != Int32(WEBKIT_DOWNLOAD_ERROR_CANCELLED_BY_USER.rawValue) {
                    row.show(failure: error.message)
                    row.onRetry = nil
                } else {
                    row.remove()
                }
                path = nil
            }
            Signals.connect(raw, "finished") { [self] in
                end()
                guard let path else { return }
                Task {
                    await save(path, row)
                    DownloadFile.remove(path)
                }
            }
            row.onCancel = { webkit_download_cancel(download) }
        }

        // MARK: Saving

        private func save(_ path: String, _ row: DownloadRow) async {
            let name = path.split(separator: "/").last.map(String.init) ?? wording.file
            row.show(waiting: name)
            while true {
                guard let place = await ask(name) else { return row.remove() }
                defer { g_object_unref(UnsafeMutableRawPointer(place)) }
                guard let failure = await move(path, to: place) else {
                    let saved = g_file_get_basename(place).map { text in
                        defer { g_free(text) }
                        return String(cString: text)
                    }
                    return row.show(saved: saved ?? name)
                }
                guard await again(failure) else { return row.remove() }
            }
        }

        /// The chosen place, a new reference; nil when the person wants none.
        private func ask(_ name: String) async -> OpaquePointer? {
            let dialog = nacre_save_dialog_new(window, wording.title, name, wording.save, wording.cancel)!
            let raw = UnsafeMutableRawPointer(dialog)
            let code = await withCheckedContinuation { (continuation: CheckedContinuation<Int32, Never>) in
                Signals.connectCode(raw, "response") { continuation.resume(returning: $0) }
                gtk_native_dialog_show(dialog)
            }
            defer { g_object_unref(raw) }
            return code == GTK_RESPONSE_ACCEPT.rawValue ? nacre_chosen_file(dialog) : nil
        }

        /// What went wrong, or nil.
        private func move(_ path: String, to place: OpaquePointer) async -> String? {
            let source = g_file_new_for_path(path)
            defer { g_object_unref(UnsafeMutableRawPointer(source)) }
            return await withCheckedContinuation { (continuation: CheckedContinuation<String?, Never>) in
                let (callback, data) = onFinish { [wording] result in
                    var failure: UnsafeMutablePointer<GError>?
                    if g_file_move_finish(source, result, &failure) != 0 {
                        continuation.resume(returning: nil)
                    } else {
                        let isFull = nacre_error_is_io(failure, Int32(G_IO_ERROR_NO_SPACE.rawValue)) != 0
                        let error = ShellGLibError(taking: failure)
                        continuation.resume(returning: isFull ? wording.full : error.message)
                    }
                }
                g_file_move_async(source, place, G_FILE_COPY_OVERWRITE, 0, nil, nil, nil, callback, data)
            }
        }

        private func again(_ failure: String) async -> Bool {
            let dialog = nacre_question_new(window, wording.notSaved, failure, wording.elsewhere, wording.cancel)!
            let raw = UnsafeMutableRawPointer(dialog)
            return await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                Signals.connectCode(raw, "response") { code in
                    gtk_window_destroy(raw.assumingMemoryBound(to: GtkWindow.self))
                    continuation.resume(returning: code == GTK_RESPONSE_ACCEPT.rawValue)
                }
                gtk_window_present(raw.assumingMemoryBound(to: GtkWindow.self))
            }
        }

        private static func sentence(_ error: any Error) -> String { DownloadFile.sentence(error) }
    }
#endif
