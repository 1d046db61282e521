// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import Dispatch  // for the linker: the shim calls into it

    /// Lets a GLib main loop drive the main actor: on Linux the main actor's jobs wait in libdispatch's main queue, which
    /// announces them on an eventfd. Foundation's `RunLoop.main` and `Timer` are not driven.
    package enum MainQueueSource {
        /// Once, on the main thread, before its GLib main loop runs.
        @discardableResult
        package static func install() -> UInt32 { nacre_main_queue_source_add() }
    }
#endif
