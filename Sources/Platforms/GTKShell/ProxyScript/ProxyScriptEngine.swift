// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CWebKitGTK
    import NacreCore

    /// An automatic proxy configuration, run by JavaScriptCore with nothing in reach but its own functions.
    ///
    /// It is somebody's program and may never end: run it where it can be ended (`ProxyScriptServer`).
    final class ProxyScriptEngine {
        private let context: OpaquePointer
        private let names: ProxyScriptNames

        /// Reads the script.
        ///
        /// - Throws: `proxy.script` with what JavaScriptCore says.
        init(script: String, names: ProxyScriptNames = ProxyScriptNames()) throws(NacreError) {
            context = jsc_context_new()
            self.names = names
            define("dnsResolve") { host, names in
                guard let host, let names else { return nil }
                return Unmanaged<ProxyScriptNames>.fromOpaque(names).takeUnretainedValue()
                    .address(of: String(cString: host)).flatMap { g_strdup($0) }
            }
            define("myIpAddress") { _, _ in g_strdup(ProxyScriptNames.ownAddress()) }
            try evaluate(ProxyScriptFunctions.source)
            try evaluate(script)
        }

        deinit { g_object_unref(UnsafeMutableRawPointer(context)) }

        /// The script's answer for a URL, such as `PROXY proxy.example.org:3128; DIRECT`.
        ///
        /// - Throws: `proxy.script`.
        func answer(for url: String, host: String) throws(NacreError) -> String {
            let function = jsc_context_get_value(context, "FindProxyForURL")!
            defer { g_object_unref(UnsafeMutableRawPointer(function)) }
            guard jsc_value_is_function(function) != 0 else {
                throw NacreError("proxy.script", "it has no function FindProxyForURL")
            }
            var arguments: [OpaquePointer?] = [url, host].map { (text: String) in
                jsc_value_new_string(context, text)
            }
            defer { arguments.forEach { g_object_unref(UnsafeMutableRawPointer($0!)) } }
            let value = jsc_value_function_callv(function, guint(arguments.count), &arguments)!
            defer { g_object_unref(UnsafeMutableRawPointer(value)) }
            try throwException()
            // Nothing said is no proxy, as the format has it.
            if jsc_value_is_null(value) != 0 { return "DIRECT" }
            guard jsc_value_is_string(value) != 0, let text = jsc_value_to_string(value) else {
                throw NacreError("proxy.script", "its FindProxyForURL answers with no text")
            }
            defer { g_free(text) }
            return String(cString: text)
        }

        private typealias Native = @convention(c) (UnsafePointer<CChar>?, gpointer?) -> UnsafeMutablePointer<CChar>?

        private func define(_ name: String, _ body: Native) {
            // G_TYPE_STRING is a macro that casts: 16 << G_TYPE_FUNDAMENTAL_SHIFT.
            let text = GType(16 << 2)
            var parameters = [text]
            let function = jsc_value_new_functionv(
                context, name, unsafeBitCast(body, to: GCallback.self), Unmanaged.passUnretained(names).toOpaque(), nil,
                text, 1, &parameters)
            jsc_context_set_value(context, name, function)
            g_object_unref(UnsafeMutableRawPointer(function!))
        }

        private func evaluate(_ script: String) throws(NacreError) {
            let value = jsc_context_evaluate(context, script, -1)
            if let value { g_object_unref(UnsafeMutableRawPointer(value)) }
            try throwException()
        }

        private func throwException() throws(NacreError) {
            guard let exception = jsc_context_get_exception(context) else { return }
            let line = jsc_exception_get_line_number(exception)
            let message = jsc_exception_get_message(exception).map { String(cString: $0) } ?? "it fails"
            jsc_context_clear_exception(context)
            throw NacreError("proxy.script", "line \(line): \(message)")
        }
    }
#endif
