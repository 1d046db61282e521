// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import Glibc

    /// SIGTERM and SIGINT as events of the main loop, so that a session that ends closes the app as a person would.
    @MainActor
    package enum UnixSignals {
        private final class Handler {
            let body: @MainActor () -> Void
            init(_ body: @escaping @MainActor () -> Void) { self.body = body }
        }

        /// Calls the closure on each SIGTERM, SIGINT or SIGHUP, and ignores SIGPIPE, for the rest of the process's life.
        package static func onTerminate(_ body: @escaping @MainActor () -> Void) {
            signal(SIGPIPE, SIG_IGN)
            for number in [SIGTERM, SIGINT, SIGHUP] {
                g_unix_signal_add(
                    number,
                    { data in
                        guard let data else { return 1 }
                        nonisolated(unsafe) let handler = Unmanaged<Handler>.fromOpaque(data).takeUnretainedValue()
                        MainActor.assumeIsolated { handler.body() }
                        return 1
                    }, Unmanaged.passRetained(Handler(body)).toOpaque())
            }
        }
    }
#endif
