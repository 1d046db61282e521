// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib

    /// GIO's default objects that both the main thread and threads of ours ask for.
    package enum GLibDefaults {
        /// Makes them; on the main thread, before there is another.
        ///
        /// GIO makes each when it is first asked for, holding one lock, and meanwhile needs the lock under which GObject
        /// initialises classes. WebKit opens a connection, which asks for the proxy resolver, from inside of such an
        /// initialisation. So our network thread and the main thread could wait for each other for ever, and the window
        /// never asked for its page. An object that exists is handed out without a lock.
        package static func make() {
            _ = g_proxy_resolver_get_default()
            _ = g_network_monitor_get_default()
        }
    }
#endif
