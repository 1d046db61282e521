// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    package import NacreCore
    import NacrePorts

    /// The person's own browser, mail program or telephone: the desktop's default for the address, through the OpenURI
    /// portal in a sandbox (HO-11).
    package actor LinuxBrowser: SystemBrowser {
        private nonisolated let thread = GLibThread(name: "nacre-browser")
        private let sandboxed: Bool

        package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        /// - Parameter sandboxed: whether the process runs in Flatpak or Snap, by default what the system says.
        package init(sandboxed: Bool = LinuxSandbox.isSandboxed) {
            self.sandboxed = sandboxed
        }

        package func open(_ url: String) async throws(NacreError) {
            let scheme = url.firstIndex(of: ":").map { url[..<$0].lowercased() } ?? ""
            guard ["http", "https", "mailto", "tel"].contains(scheme),  // guard: browser-schemes
                url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f })
            else {
                throw NacreError("browser.refused", "Only http, https, mailto and tel addresses open outside the app.")
            }
            if sandboxed { return try await openByPortal(url) }
            guard let handler = g_app_info_get_default_for_uri_scheme(scheme) else { throw Self.absent(scheme, nil) }
            defer { g_object_unref(UnsafeMutableRawPointer(handler)) }
            // The browser is the person's: Ctrl-C on our terminal, or our end, must not be its end (HO-8).
            var failure: UnsafeMutablePointer<GError>?
            guard nacre_launch_detached(handler, url, &failure) != 0 else {
                throw Self.absent(scheme, GLibFailure(taking: failure))
            }
        }

        private func openByPortal(_ url: String) async throws(NacreError) {
            let bus = await awaitGIO { callback, data in
                g_bus_get(G_BUS_TYPE_SESSION, nil, callback, data)
            } finish: { result -> Result<GLibReference, GLibFailure> in
                var failure: UnsafeMutablePointer<GError>?
                let bus = g_bus_get_finish(result, &failure)
                return GLibReference(bus.map { UnsafeMutableRawPointer($0) }).map { .success($0) }
                    ?? .failure(GLibFailure(taking: failure))
            }
            let connection: GLibReference
            switch bus {
            case .success(let bus): connection = bus
            case .failure(let failure): throw Self.noPortal(failure)
            }
            let asked = await awaitGIO { callback, data in
                g_dbus_connection_call(
                    OpaquePointer(connection.pointer), "org.freedesktop.portal.Desktop",
                    "/org/freedesktop/portal/desktop", "org.freedesktop.portal.OpenURI", "OpenURI",
                    nacre_portal_open_uri_arguments(url), nil, G_DBUS_CALL_FLAGS_NONE, -1, nil, callback, data)
            } finish: { result -> Result<Void, GLibFailure> in
                var failure: UnsafeMutablePointer<GError>?
                let answer = g_dbus_connection_call_finish(OpaquePointer(connection.pointer), result, &failure)
                if let answer { g_variant_unref(answer) }
                return answer == nil ? .failure(GLibFailure(taking: failure)) : .success(())
            }
            if case .failure(let failure) = asked { throw Self.noPortal(failure) }
        }

        private static func noPortal(_ cause: GLibFailure) -> NacreError {
            NacreError(
                "browser.absent", "The desktop portal does not answer; install and start xdg-desktop-portal.",
                cause: cause)
        }

        private static func absent(_ scheme: String, _ cause: GLibFailure?) -> NacreError {
            let remedy =
                switch scheme {
                case "mailto": "Install a mail program and make it the default one."
                case "tel": "Install an app that takes telephone numbers."
                default:
                    "Install a web browser (such as firefox-esr or chromium) and make it the default one: "
                        + "xdg-settings set default-web-browser NAME.desktop"
                }
            return NacreError("browser.absent", "No app opens \(scheme) addresses. \(remedy)", cause: cause)
        }
    }
#endif
