// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib

    /// A thread with a GLib main context of its own, as the executor of actors that talk to the bus.
    ///
    /// GIO's asynchronous calls report to the main context of the thread that started them; an actor on this executor
    /// starts them here and is resumed here, with or without a GTK main loop in the process.
    ///
    /// Unchecked: holds two GLib objects that are made for use from several threads, and nothing else.
    final class GLibThread: SerialExecutor, @unchecked Sendable {
        private let context: OpaquePointer
        private let loop: OpaquePointer

        init(name: String) {
            context = g_main_context_new()
            loop = g_main_loop_new(context, 0)
            g_main_loop_ref(loop)
            let thread = g_thread_new(
                name,
                { data in
                    let loop = OpaquePointer(data)
                    let context = g_main_loop_get_context(loop)
                    g_main_context_push_thread_default(context)
                    g_main_loop_run(loop)
                    g_main_context_pop_thread_default(context)
                    g_main_loop_unref(loop)
                    return nil
                }, UnsafeMutableRawPointer(loop))
            g_thread_unref(thread)
        }

        deinit {
            // From inside the loop: quitting one that has not begun to run would be lost.
            attach(
                { data in
                    g_main_loop_quit(OpaquePointer(data))
                    g_main_loop_unref(OpaquePointer(data))
                    return 0
                }, UnsafeMutableRawPointer(g_main_loop_ref(loop)))
            g_main_loop_unref(loop)
            g_main_context_unref(context)
        }

        private final class Work {
            let job: UnownedJob
            let executor: UnownedSerialExecutor
            init(job: UnownedJob, executor: UnownedSerialExecutor) {
                self.job = job
                self.executor = executor
            }
        }

        func enqueue(_ job: consuming ExecutorJob) {
            let work = Work(job: UnownedJob(job), executor: asUnownedSerialExecutor())
            attach(
                { data in
                    let work = Unmanaged<Work>.fromOpaque(data!).takeRetainedValue()
                    work.job.runSynchronously(on: work.executor)
                    return 0
                }, Unmanaged.passRetained(work).toOpaque())
        }

        private func attach(_ body: GSourceFunc, _ data: UnsafeMutableRawPointer?) {
            let source = g_idle_source_new()
            g_source_set_priority(source, G_PRIORITY_DEFAULT)
            g_source_set_callback(source, body, data, nil)
            g_source_attach(source, context)
            g_source_unref(source)
        }
    }

    /// Awaits one asynchronous GIO call; must be used on a thread with a main context, such as a `GLibThread`'s.
    ///
    /// `start` makes the call with the given callback; `finish` turns its `GAsyncResult` into a value there and then.
    func awaitGIO<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation, _ start: (GAsyncReadyCallback, UnsafeMutableRawPointer) -> Void,
        finish: @escaping (OpaquePointer) -> Value
    ) async -> Value {
        await withCheckedContinuation(isolation: isolation) { (continuation: CheckedContinuation<Value, Never>) in
            let box = Completion { continuation.resume(returning: finish($0)) }
            start(
                { _, result, data in
                    let box = Unmanaged<Completion>.fromOpaque(data!).takeRetainedValue()
                    box.body(result!)
                }, Unmanaged.passRetained(box).toOpaque())
        }
    }

    private final class Completion {
        let body: (OpaquePointer) -> Void
        init(_ body: @escaping (OpaquePointer) -> Void) { self.body = body }
    }

    /// A `GError` as a value.
    struct GLibFailure: Error, Sendable, CustomStringConvertible {
        let domain: UInt32
        let code: Int32
        let message: String

        /// Takes what a GLib function has set, and frees it.
        init(taking error: UnsafeMutablePointer<GError>?) {
            domain = error?.pointee.domain ?? 0
            code = error?.pointee.code ?? 0
            message = error?.pointee.message.map { String(cString: $0) } ?? "unknown error"
            if let error { g_error_free(error) }
        }

        var description: String { message }
    }

    /// A GLib object that outlives a C call: released with the value that holds it.
    ///
    /// Unchecked: reference counts are atomic; the objects held are used on one `GLibThread` only.
    final class GLibReference: @unchecked Sendable {
        let pointer: UnsafeMutableRawPointer

        /// Takes over one reference.
        init?(_ pointer: UnsafeMutableRawPointer?) {
            guard let pointer else { return nil }
            self.pointer = pointer
        }

        deinit { g_object_unref(pointer) }
    }
#endif
