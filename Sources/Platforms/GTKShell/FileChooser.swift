// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// What the chooser of a file input says.
struct ChooserWording: Sendable {
    let french: Bool

    func title(multiple: Bool) -> String {
        multiple
            ? (french ? "Choisir des fichiers" : "Choose files") : (french ? "Choisir un fichier" : "Choose a file")
    }
    var accept: String { french ? "Choisir" : "Choose" }
    var cancel: String { french ? "Annuler" : "Cancel" }
    var accepted: String { french ? "Fichiers acceptés" : "Accepted files" }
    var all: String { french ? "Tous les fichiers" : "All files" }

    /// The kinds to choose from, the first one preset; none where every file will do. WebKit tells the media types of
    /// `accept` only, not its suffixes, and a page must check what it gets anyway: so every file stays in reach.
    func filters(types: [String]) -> [(name: String, types: [String]?)] {
        types.isEmpty ? [] : [(accepted, types), (all, nil)]
    }
}

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK

    /// The chooser behind `<input type=file>` (NB-14). WebKit's own hands its filter to the desktop's portal without a
    /// name and as the only one, so that a file with an accepted suffix but another type could not be chosen at all.
    @MainActor
    struct FileChooser {
        let wording: ChooserWording

        /// Asks a person; WebKit gets the files, or the end of the question.
        func choose(for request: OpaquePointer, over view: UnsafeMutablePointer<WebKitWebView>) {
            let multiple = webkit_file_chooser_request_get_select_multiple(request) != 0
            let widget = UnsafeMutableRawPointer(view).assumingMemoryBound(to: GtkWidget.self)
            let dialog = nacre_open_dialog_new(
                widget, wording.title(multiple: multiple), multiple ? 1 : 0, wording.accept, wording.cancel)!
            for filter in wording.filters(types: Self.types(of: request)) {
                if let types = filter.types {
                    withCStrings(types) { nacre_add_filter(dialog, filter.name, $0) }
                } else {
                    nacre_add_filter(dialog, filter.name, nil)
                }
            }
            g_object_ref(UnsafeMutableRawPointer(request))
            Task {
                let code = await withCheckedContinuation { (continuation: CheckedContinuation<Int32, Never>) in
                    Signals.connectCode(UnsafeMutableRawPointer(dialog), "response") {
                        continuation.resume(returning: $0)
                    }
                    gtk_native_dialog_show(dialog)
                }
                Self.give(code == GTK_RESPONSE_ACCEPT.rawValue ? Self.paths(of: dialog) : [], to: request)
                g_object_unref(UnsafeMutableRawPointer(dialog))
                g_object_unref(UnsafeMutableRawPointer(request))
            }
        }

        static func give(_ paths: [String], to request: OpaquePointer) {
            if paths.isEmpty {
                webkit_file_chooser_request_cancel(request)
            } else {
                withCStrings(paths) { webkit_file_chooser_request_select_files(request, $0) }
            }
        }

        private static func types(of request: OpaquePointer) -> [String] {
            var types: [String] = []
            guard var next = webkit_file_chooser_request_get_mime_types(request) else { return [] }
            while let type = next.pointee {
                types.append(String(cString: type))
                next += 1
            }
            return types
        }

        /// A file that has no path, on a phone that is plugged in say, is left out: WebKit reads from paths.
        private static func paths(of dialog: UnsafeMutablePointer<GtkNativeDialog>) -> [String] {
            guard let files = nacre_chosen_files(dialog) else { return [] }
            defer { g_object_unref(UnsafeMutableRawPointer(files)) }
            return (0..<g_list_model_get_n_items(files)).compactMap { index in
                guard let file = g_list_model_get_item(files, index) else { return nil }
                defer { g_object_unref(file) }
                guard let path = g_file_get_path(OpaquePointer(file)) else { return nil }
                defer { g_free(path) }
                return String(cString: path)
            }
        }
    }
#endif
