// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib

    /// Whether the desktop's proxy is set to an automatic configuration, and which.
    ///
    /// GLib's own way (glib-pacrunner with libproxy) answers "no proxy" where a configuration cannot be read, and where
    /// libproxy's script engine is not installed; so the setting is read here. In a sandbox the portal answers instead.
    struct AutomaticSetting {
        private let settings: GLibReference?

        init() {
            let schema = "org.gnome.system.proxy"
            guard let resolver = g_proxy_resolver_get_default(),
                String(
                    cString: g_type_name_from_instance(
                        UnsafeMutableRawPointer(resolver).assumingMemoryBound(to: GTypeInstance.self)))
                    == "GProxyResolverGnome",
                let source = g_settings_schema_source_get_default(),
                let found = g_settings_schema_source_lookup(source, schema, 1)
            else {
                settings = nil
                return
            }
            g_settings_schema_unref(found)
            settings = GLibReference(UnsafeMutableRawPointer(g_settings_new(schema)))
        }

        /// The address of the configuration that counts now; nil where none is named. Without an address GNOME means Web
        /// Proxy Auto-Discovery, which stays the resolver's business.
        var address: String? {
            guard let settings else { return nil }
            let object = settings.pointer.assumingMemoryBound(to: GSettings.self)
            guard text(object, "mode") == "auto", let address = text(object, "autoconfig-url"), !address.isEmpty else {
                return nil
            }
            return address
        }

        private func text(_ settings: UnsafeMutablePointer<GSettings>, _ key: String) -> String? {
            guard let value = g_settings_get_string(settings, key) else { return nil }
            defer { g_free(value) }
            return String(cString: value)
        }
    }
#endif
