// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK

    /// The only place that connects GLib signals. `g_signal_connect_data` takes any C function for any signal, so the
    /// compiler checks nothing: each function here states, in its comment, the C handler's signature it stands for.
    ///
    /// GLib calls handlers on the thread of the main loop, which is the main actor's; the closure lives as long as the
    /// connection. The pointers are handed on to the main actor on that same thread, hence `nonisolated(unsafe)`.
    @MainActor
    enum Signals {
        typealias Pointer = UnsafeMutableRawPointer

        /// `void (*)(Instance *, gpointer data)`
        static func connect(_ object: Pointer, _ name: String, _ body: @escaping @MainActor () -> Void) {
            let handler: @convention(c) (Pointer, Pointer) -> Void = { _, data in
                Box<@MainActor () -> Void>.main(data) { $0() }
            }
            attach(object, name, unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        /// `void (*)(GSimpleAction *, GVariant *parameter, gpointer data)`: `activate`
        static func connectActivate(_ object: Pointer, _ body: @escaping @MainActor () -> Void) {
            let handler: @convention(c) (Pointer, Pointer?, Pointer) -> Void = { _, _, data in
                Box<@MainActor () -> Void>.main(data) { $0() }
            }
            attach(object, "activate", unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        /// `void (*)(Instance *, GParamSpec *, gpointer data)`, for `notify::…`
        static func connectNotify(_ object: Pointer, _ property: String, _ body: @escaping @MainActor () -> Void) {
            let handler: @convention(c) (Pointer, Pointer, Pointer) -> Void = { _, _, data in
                Box<@MainActor () -> Void>.main(data) { $0() }
            }
            attach(object, "notify::" + property, unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        /// `void (*)(Instance *, gint or enum, gpointer data)`
        static func connectCode(_ object: Pointer, _ name: String, _ body: @escaping @MainActor (Int32) -> Void) {
            let handler: @convention(c) (Pointer, Int32, Pointer) -> Void = { _, code, data in
                Box<@MainActor (Int32) -> Void>.main(data) { $0(code) }
            }
            attach(object, name, unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        /// `gboolean (*)(Instance *, gpointer data)`
        static func connectQuestion(_ object: Pointer, _ name: String, _ body: @escaping @MainActor () -> Bool) {
            let handler: @convention(c) (Pointer, Pointer) -> gboolean = { _, data in
                Box<@MainActor () -> Bool>.main(data) { $0() ? 1 : 0 }
            }
            attach(object, name, unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        /// `gboolean (*)(Instance *, GObject *, gpointer data)`: `authenticate`, `permission-request`
        static func connectRequest(_ object: Pointer, _ name: String, _ body: @escaping @MainActor (Pointer) -> Bool) {
            let handler: @convention(c) (Pointer, Pointer, Pointer) -> gboolean = { _, request, data in
                nonisolated(unsafe) let request = request
                return Box<@MainActor (Pointer) -> Bool>.main(data) { $0(request) ? 1 : 0 }
            }
            attach(object, name, unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        /// `GtkWidget *(*)(WebKitWebView *, WebKitNavigationAction *, gpointer data)`: `create`; nil refuses
        static func connectCreate(_ object: Pointer, _ body: @escaping @MainActor (OpaquePointer) -> Pointer?) {
            typealias Body = @MainActor (OpaquePointer) -> Pointer?
            let handler: @convention(c) (Pointer, OpaquePointer, Pointer) -> Pointer? = { _, action, data in
                nonisolated(unsafe) let action = action
                return Box<Body>.main(data) { $0(action).map(UInt.init(bitPattern:)) }.flatMap {
                    Pointer(bitPattern: $0)
                }
            }
            attach(object, "create", unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        /// `gboolean (*)(WebKitWebView *, WebKitPolicyDecision *, WebKitPolicyDecisionType, gpointer data)`
        static func connectPolicy(
            _ object: Pointer, _ body: @escaping @MainActor (Pointer, WebKitPolicyDecisionType) -> Bool
        ) {
            typealias Body = @MainActor (Pointer, WebKitPolicyDecisionType) -> Bool
            let handler: @convention(c) (Pointer, Pointer, WebKitPolicyDecisionType, Pointer) -> gboolean = {
                _, decision, type, data in
                nonisolated(unsafe) let decision = decision
                return Box<Body>.main(data) { $0(decision, type) ? 1 : 0 }
            }
            attach(object, "decide-policy", unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        /// `gboolean (*)(WebKitUserContentManager *, JSCValue *, WebKitScriptMessageReply *, gpointer data)`
        static func connectMessage(
            _ object: Pointer, handler name: String, _ body: @escaping @MainActor (OpaquePointer, OpaquePointer) -> Void
        ) {
            typealias Body = @MainActor (OpaquePointer, OpaquePointer) -> Void
            let handler: @convention(c) (Pointer, OpaquePointer, OpaquePointer, Pointer) -> gboolean = {
                _, value, reply, data in
                nonisolated(unsafe) let value = value
                nonisolated(unsafe) let reply = reply
                Box<Body>.main(data) { $0(value, reply) }
                return 1
            }
            attach(
                object, "script-message-with-reply-received::" + name, unsafeBitCast(handler, to: GCallback.self),
                Box(body))
        }

        /// `gboolean (*)(WebKitWebView *, WebKitLoadEvent, const char *uri, GError *, gpointer data)`
        static func connectLoadFailed(
            _ object: Pointer, _ body: @escaping @MainActor (_ uri: String, _ error: ShellGLibError) -> Bool
        ) {
            typealias Body = @MainActor (String, ShellGLibError) -> Bool
            let handler:
                @convention(c) (Pointer, WebKitLoadEvent, UnsafePointer<CChar>, UnsafePointer<GError>, Pointer)
                    -> gboolean = { _, _, uri, error, data in
                        let uri = String(cString: uri)
                        let error = ShellGLibError(error.pointee)
                        return Box<Body>.main(data) { $0(uri, error) ? 1 : 0 }
                    }
            attach(object, "load-failed", unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        /// `gboolean (*)(WebKitWebView *, const char *uri, GTlsCertificate *, GTlsCertificateFlags, gpointer data)`
        static func connectTLSFailed(_ object: Pointer, _ body: @escaping @MainActor (_ uri: String) -> Bool) {
            let handler:
                @convention(c) (Pointer, UnsafePointer<CChar>, Pointer, GTlsCertificateFlags, Pointer) -> gboolean = {
                    _, uri, _, _, data in
                    let uri = String(cString: uri)
                    return Box<@MainActor (String) -> Bool>.main(data) { $0(uri) ? 1 : 0 }
                }
            attach(object, "load-failed-with-tls-errors", unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        /// `void (*)(GApplication *, GFile **files, gint count, const char *hint, gpointer data)`
        static func connectOpen(_ object: Pointer, _ body: @escaping @MainActor ([String]) -> Void) {
            let handler:
                @convention(c) (Pointer, UnsafePointer<OpaquePointer>, gint, UnsafePointer<CChar>?, Pointer) -> Void = {
                    _, files, count, _, data in
                    let links = UnsafeBufferPointer(start: files, count: Int(count)).compactMap { file -> String? in
                        guard let uri = g_file_get_uri(file) else { return nil }
                        defer { g_free(uri) }
                        return String(cString: uri)
                    }
                    Box<@MainActor ([String]) -> Void>.main(data) { $0(links) }
                }
            attach(object, "open", unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        /// `gboolean (*)(GtkEventControllerKey *, guint key, guint code, GdkModifierType, gpointer data)`
        static func connectKey(
            _ object: Pointer, _ body: @escaping @MainActor (_ key: UInt32, _ state: GdkModifierType) -> Bool
        ) {
            typealias Body = @MainActor (UInt32, GdkModifierType) -> Bool
            let handler: @convention(c) (Pointer, guint, guint, GdkModifierType, Pointer) -> gboolean = {
                _, key, _, state, data in
                Box<Body>.main(data) { $0(key, state) ? 1 : 0 }
            }
            attach(object, "key-pressed", unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        /// `void (*)(GtkGestureClick *, gint presses, double x, double y, gpointer data)`
        static func connectPressed(_ object: Pointer, _ body: @escaping @MainActor () -> Void) {
            let handler: @convention(c) (Pointer, gint, Double, Double, Pointer) -> Void = { _, _, _, _, data in
                Box<@MainActor () -> Void>.main(data) { $0() }
            }
            attach(object, "pressed", unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        /// `GdkDragAction (*)(GtkDropTarget *, double x, double y, gpointer data)`: `enter`, `motion`
        static func connectPlace(
            _ object: Pointer, _ name: String, _ body: @escaping @MainActor (_ x: Double, _ y: Double) -> GdkDragAction
        ) {
            let handler: @convention(c) (Pointer, Double, Double, Pointer) -> GdkDragAction = { _, x, y, data in
                Box<@MainActor (Double, Double) -> GdkDragAction>.main(data) { $0(x, y) }
            }
            attach(object, name, unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        /// `gboolean (*)(GtkDropTarget *, const GValue *, double x, double y, gpointer data)`: `drop`
        static func connectDrop(
            _ object: Pointer, _ body: @escaping @MainActor (_ value: Pointer, _ x: Double, _ y: Double) -> Bool
        ) {
            let handler: @convention(c) (Pointer, Pointer, Double, Double, Pointer) -> gboolean = {
                _, value, x, y, data in
                nonisolated(unsafe) let value = value
                return Box<@MainActor (Pointer, Double, Double) -> Bool>.main(data) { $0(value, x, y) ? 1 : 0 }
            }
            attach(object, "drop", unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        /// `void (*)(WebKitNetworkSession *, GObject *, gpointer data)`, and others that are told of one object
        static func connectObject(_ object: Pointer, _ name: String, _ body: @escaping @MainActor (Pointer) -> Void) {
            let handler: @convention(c) (Pointer, Pointer, Pointer) -> Void = { _, told, data in
                nonisolated(unsafe) let told = told
                Box<@MainActor (Pointer) -> Void>.main(data) { $0(told) }
            }
            attach(object, name, unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        /// `gboolean (*)(WebKitDownload *, const char *suggested, gpointer data)`: `decide-destination`
        static func connectDestination(_ object: Pointer, _ body: @escaping @MainActor (String) -> Bool) {
            let handler: @convention(c) (Pointer, UnsafePointer<CChar>?, Pointer) -> gboolean = { _, name, data in
                let name = name.map { String(cString: $0) } ?? ""
                return Box<@MainActor (String) -> Bool>.main(data) { $0(name) ? 1 : 0 }
            }
            attach(object, "decide-destination", unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        /// `void (*)(WebKitDownload *, GError *, gpointer data)`: `failed`
        static func connectFailed(_ object: Pointer, _ body: @escaping @MainActor (ShellGLibError) -> Void) {
            let handler: @convention(c) (Pointer, UnsafePointer<GError>, Pointer) -> Void = { _, error, data in
                let error = ShellGLibError(error.pointee)
                Box<@MainActor (ShellGLibError) -> Void>.main(data) { $0(error) }
            }
            attach(object, "failed", unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        /// `gboolean (*)(WebKitWebView *, WebKitContextMenu *, WebKitHitTestResult *, gpointer data)`
        static func connectContextMenu(_ object: Pointer, _ body: @escaping @MainActor (OpaquePointer) -> Bool) {
            let handler: @convention(c) (Pointer, OpaquePointer, Pointer, Pointer) -> gboolean = { _, menu, _, data in
                nonisolated(unsafe) let menu = menu
                return Box<@MainActor (OpaquePointer) -> Bool>.main(data) { $0(menu) ? 1 : 0 }
            }
            attach(object, "context-menu", unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        /// `void (*)(WebKitFindController *, guint matches, gpointer data)`: `found-text`, `counted-matches`
        static func connectCount(_ object: Pointer, _ name: String, _ body: @escaping @MainActor (UInt32) -> Void) {
            let handler: @convention(c) (Pointer, guint, Pointer) -> Void = { _, count, data in
                Box<@MainActor (UInt32) -> Void>.main(data) { $0(count) }
            }
            attach(object, name, unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        /// `void (*)(GDBusProxy *, const char *sender, const char *signal, GVariant *parameters, gpointer data)`
        static func connectBusSignal(_ object: Pointer, _ body: @escaping @MainActor () -> Void) {
            let handler:
                @convention(c) (Pointer, UnsafePointer<CChar>?, UnsafePointer<CChar>?, OpaquePointer?, Pointer) -> Void =
                    { _, _, _, _, data in
                        Box<@MainActor () -> Void>.main(data) { $0() }
                    }
            attach(object, "g-signal", unsafeBitCast(handler, to: GCallback.self), Box(body))
        }

        private static func attach<Body>(_ object: Pointer, _ name: String, _ handler: GCallback, _ box: Box<Body>) {
            g_signal_connect_data(
                object, name, handler, Unmanaged.passRetained(box).toOpaque(),
                { data, _ in if let data { Unmanaged<AnyObject>.fromOpaque(data).release() } },
                GConnectFlags(rawValue: 0))
        }
    }

    /// Carries a Swift closure through a C callback's `data`.
    final class Box<Body> {
        let body: Body

        init(_ body: Body) { self.body = body }

        static func main<Result: Sendable>(
            _ data: UnsafeMutableRawPointer, _ call: @MainActor (Body) -> Result
        ) -> Result {
            nonisolated(unsafe) let body = Unmanaged<Box<Body>>.fromOpaque(data).takeUnretainedValue().body
            return MainActor.assumeIsolated { call(body) }
        }
    }

    /// A `GError` as a value.
    package struct ShellGLibError: Error, Sendable, CustomStringConvertible {
        package let domain: UInt32
        package let code: Int32
        package let message: String

        init(_ error: GError) {
            domain = error.domain
            code = error.code
            message = error.message.map { String(cString: $0) } ?? "unknown error"
        }

        /// Takes an error that a GLib function has set, and frees it.
        init(taking error: UnsafeMutablePointer<GError>?) {
            self.init(error?.pointee ?? GError(domain: 0, code: 0, message: nil))
            if let error { g_error_free(error) }
        }

        package var description: String { message }
    }
#endif
