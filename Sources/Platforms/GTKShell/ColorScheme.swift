// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK

    /// Light or dark. GTK itself does not follow the desktop's choice, so the settings portal is asked, and heard when
    /// it changes; the web view takes `prefers-color-scheme` from GTK's setting. Without a portal GTK's own setting stays.
    @MainActor
    final class ColorScheme {
        private var portal: UnsafeMutablePointer<GDBusProxy>?

        init(_ choice: ShellColorScheme) {
            switch choice {
            case .light: Self.setDark(false)
            case .dark: Self.setDark(true)
            case .system: follow()
            }
        }

        private func follow() {
            let (callback, data) = onFinish { [weak self] result in
                guard let self, let portal = g_dbus_proxy_new_for_bus_finish(result, nil) else { return }
                self.portal = portal
                Signals.connectBusSignal(UnsafeMutableRawPointer(portal)) { [weak self] in self?.read() }
                read()
            }
            g_dbus_proxy_new_for_bus(
                G_BUS_TYPE_SESSION, G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES, nil, "org.freedesktop.portal.Desktop",
                "/org/freedesktop/portal/desktop", "org.freedesktop.portal.Settings", nil, callback, data)
        }

        private func read() {
            guard let portal else { return }
            let (callback, data) = onFinish { result in
                guard let answer = g_dbus_proxy_call_finish(portal, result, nil) else { return }
                let value = g_variant_get_child_value(answer, 0)
                Self.setDark(nacre_portal_color_scheme_value(value) == 1)
                g_variant_unref(value)
                g_variant_unref(answer)
            }
            g_dbus_proxy_call(
                portal, "Read", nacre_portal_color_scheme_arguments(), G_DBUS_CALL_FLAGS_NONE, 2_000, nil, callback,
                data)
        }

        private static func setDark(_ dark: Bool) {
            guard let settings = gtk_settings_get_default() else { return }
            nacre_object_set_flag(UnsafeMutableRawPointer(settings), "gtk-application-prefer-dark-theme", dark ? 1 : 0)
        }
    }
#endif
