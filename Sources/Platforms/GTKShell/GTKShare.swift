// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK
    package import NacreCore
    package import NacrePorts

    /// A Linux desktop has no share sheet: a text or an address begins a mail in the person's own program, files go where
    /// the person saves them (the file chooser is the portal's in a sandbox).
    @MainActor
    package final class GTKShare: nonisolated ShareTarget {
        private let browser: any SystemBrowser

        package nonisolated init(browser: any SystemBrowser) { self.browser = browser }

        @MainActor package func share(_ content: ShareContent) async throws(NacreError) -> String? {
            guard content.files.isEmpty else { return try await save(content) }
            try await browser.open(ShareMail.address(content))
            return "mailto"
        }

        private func save(_ content: ShareContent) async throws(NacreError) -> String? {
            let title = content.dialogTitle ?? content.title
            let many = content.files.count > 1
            guard let chosen = await ask(title, name: many ? nil : ShareMail.name(of: content.files[0])) else {
                return nil
            }
            defer { g_object_unref(UnsafeMutableRawPointer(chosen)) }
            for file in content.files {
                let target = many ? g_file_get_child(chosen, ShareMail.name(of: file))! : chosen
                defer { if many { g_object_unref(UnsafeMutableRawPointer(target)) } }
                // The person has agreed to replace a file they chose themselves, and no other.
                try await copy(file, to: target, flags: many ? G_FILE_COPY_NONE : G_FILE_COPY_OVERWRITE)
            }
            return "save"
        }

        private func ask(_ title: String?, name: String?) async -> OpaquePointer? {
            let application = g_application_get_default().map { UnsafeMutableRawPointer($0) }
            let parent = application.map {
                gtk_application_get_active_window($0.assumingMemoryBound(to: GtkApplication.self))
            }
            let action = name == nil ? GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER : GTK_FILE_CHOOSER_ACTION_SAVE
            guard let dialog = gtk_file_chooser_native_new(title, parent ?? nil, action, nil, nil) else { return nil }
            defer { g_object_unref(UnsafeMutableRawPointer(dialog)) }
            let chooser = OpaquePointer(UnsafeMutableRawPointer(dialog))
            if let name { gtk_file_chooser_set_current_name(chooser, name) }
            let native = UnsafeMutableRawPointer(dialog).assumingMemoryBound(to: GtkNativeDialog.self)
            let answer = await withCheckedContinuation { (continuation: CheckedContinuation<Int32, Never>) in
                Signals.connectCode(UnsafeMutableRawPointer(dialog), "response") { continuation.resume(returning: $0) }
                gtk_native_dialog_show(native)
            }
            return answer == GTK_RESPONSE_ACCEPT.rawValue ? gtk_file_chooser_get_file(chooser) : nil
        }

        private func copy(_ path: String, to target: OpaquePointer, flags: GFileCopyFlags) async throws(NacreError) {
            let source = g_file_new_for_path(path)!
            defer { g_object_unref(UnsafeMutableRawPointer(source)) }
            let failure = await withCheckedContinuation { (continuation: CheckedContinuation<ShellGLibError?, Never>) in
                let (callback, data) = onFinish { result in
                    var error: UnsafeMutablePointer<GError>?
                    let copied = g_file_copy_finish(source, result, &error) != 0
                    continuation.resume(returning: copied ? nil : ShellGLibError(taking: error))
                }
                g_file_copy_async(source, target, flags, G_PRIORITY_DEFAULT, nil, nil, nil, callback, data)
            }
            if let failure {
                throw NacreError("share.failed", "The file was not saved: \(failure.message).", cause: failure)
            }
        }
    }
#endif
