// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    package import NacreCore

    /// Makes the desktop know a development run's app, so that its links start it.
    package actor DesktopInstaller {
        private nonisolated let thread = GLibThread(name: "nacre-desktop")
        private let dataHome: String

        package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        /// - Parameter dataHome: `$XDG_DATA_HOME`, by default the environment's.
        package init(dataHome: String = String(cString: g_get_user_data_dir())) {
            self.dataHome = dataHome
        }

        /// Writes the entry where it is missing or other, makes it the handler of its schemes, and says what it did, one
        /// sentence a line; nothing when everything was so before.
        /// - Throws: `desktop.foreign` when another program's entry has that name, `desktop.write_failed`.
        package func install(_ entry: DesktopEntry) async throws(NacreError) -> [String] {
            let folder = dataHome + "/applications"
            let file = folder + "/" + entry.fileName
            var said: [String] = []
            let before = read(file)
            if let before, !before.contains(DesktopEntry.marker) {  // guard: desktop-entry-foreign
                throw NacreError(
                    "desktop.foreign",
                    "\(file) belongs to an installed app; remove it, or give the development run another app.id.")
            }
            if before != entry.text {
                try write(entry.text, to: file, in: folder)
                said.append("Wrote \(file).")
                if await run(["update-desktop-database", folder]) { said.append("Updated the database of \(folder).") }
            }
            for scheme in entry.schemes where handler(of: scheme) != entry.fileName {
                try await makeDefault(entry, scheme, file)
                said.append("Links \(scheme):// now open with \(entry.name).")
            }
            return said
        }

        private func read(_ file: String) -> String? {
            var contents: UnsafeMutablePointer<CChar>?
            guard g_file_get_contents(file, &contents, nil, nil) != 0, let contents else { return nil }
            defer { g_free(contents) }
            return String(cString: contents)
        }

        private func write(_ text: String, to file: String, in folder: String) throws(NacreError) {
            var failure: UnsafeMutablePointer<GError>?
            guard g_mkdir_with_parents(folder, 0o755) == 0, g_file_set_contents(file, text, -1, &failure) != 0 else {
                throw NacreError(
                    "desktop.write_failed", "\(file) could not be written; check the folder's rights and space.",
                    cause: GLibFailure(taking: failure))
            }
        }

        /// Id of the entry that opens a scheme's links now.
        private func handler(of scheme: String) -> String? {
            guard let info = g_app_info_get_default_for_uri_scheme(scheme) else { return nil }
            defer { g_object_unref(UnsafeMutableRawPointer(info)) }
            return g_app_info_get_id(info).map { String(cString: $0) }
        }

        private func makeDefault(_ entry: DesktopEntry, _ scheme: String, _ file: String) async throws(NacreError) {
            let type = "x-scheme-handler/" + scheme
            if await run(["xdg-mime", "default", entry.fileName, type]), handler(of: scheme) == entry.fileName {
                return
            }
            var failure: UnsafeMutablePointer<GError>?
            guard let info = g_desktop_app_info_new_from_filename(file) else {
                throw NacreError(
                    "desktop.write_failed", "\(file) is not accepted by the desktop; does its program exist?")
            }
            defer { g_object_unref(UnsafeMutableRawPointer(info)) }
            guard g_app_info_set_as_default_for_type(info, type, &failure) != 0 else {
                throw NacreError(
                    "desktop.write_failed", "\(entry.name) could not be made the handler of \(scheme) links.",
                    cause: GLibFailure(taking: failure))
            }
        }

        /// Whether the tool is there and succeeded.
        private func run(_ arguments: [String]) async -> Bool {
            guard let path = g_find_program_in_path(arguments[0]) else { return false }
            g_free(path)
            let copies = arguments.map { UnsafePointer<CChar>(g_strdup($0)) }
            defer { copies.forEach { g_free(UnsafeMutableRawPointer(mutating: $0)) } }
            let flags = GSubprocessFlags(
                rawValue: G_SUBPROCESS_FLAGS_STDOUT_SILENCE.rawValue | G_SUBPROCESS_FLAGS_STDERR_SILENCE.rawValue)
            guard
                let process = GLibReference(
                    (copies + [nil]).withUnsafeBufferPointer({
                        g_subprocess_newv($0.baseAddress!, flags, nil).map { UnsafeMutableRawPointer($0) }
                    }))
            else { return false }
            return await awaitGIO { callback, data in
                g_subprocess_wait_check_async(OpaquePointer(process.pointer), nil, callback, data)
            } finish: { result in
                g_subprocess_wait_check_finish(OpaquePointer(process.pointer), result, nil) != 0
            }
        }
    }
#endif
