// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK

    /// Keeps the top frame on `app.origin` (NB-10).
    ///
    /// WebKitGTK asks about a navigation without saying of which frame, and announces a load without saying where to.
    /// Its content filters do know the top frame: one that blocks every other document there ends the navigation before
    /// a byte leaves, with a failure that carries the address.
    @MainActor
    enum TopFrameFilter {
        private static let identifier = "nacre-top-frame"

        /// Compiles the filter and puts it into `content`; throws what WebKit says when it cannot.
        static func install(for origin: String, in content: OpaquePointer, folder: String) async throws {
            g_mkdir_with_parents(folder, 0o700)
            let store = webkit_user_content_filter_store_new(folder)
            defer { g_object_unref(UnsafeMutableRawPointer(store)) }
            let rules = rules(for: origin)
            let filter = try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<FilterReference, any Error>) in
                let (callback, data) = onFinish { result in
                    var failure: UnsafeMutablePointer<GError>?
                    if let filter = webkit_user_content_filter_store_save_finish(store, result, &failure) {
                        continuation.resume(returning: FilterReference(filter: filter))
                    } else {
                        continuation.resume(throwing: ShellGLibError(taking: failure))
                    }
                }
                let bytes = rules.utf8CString.withUnsafeBufferPointer {
                    g_bytes_new($0.baseAddress, gsize($0.count - 1))
                }
                webkit_user_content_filter_store_save(store, identifier, bytes, nil, callback, data)
                g_bytes_unref(bytes)
            }
            webkit_user_content_manager_add_filter(content, filter.filter)
            webkit_user_content_filter_unref(filter.filter)
        }

        /// Rules in WebKit's content blocker format.
        nonisolated static func rules(for origin: String) -> String {
            let pattern = origin.map { $0.isLetter || $0.isNumber || ":/-".contains($0) ? "\($0)" : "\\\\\($0)" }
                .joined()
            let place = #""resource-type": ["document"], "load-context": ["top-frame"]"#
            return """
                [{"trigger": {"url-filter": ".*", \(place)}, "action": {"type": "block"}},
                 {"trigger": {"url-filter": "^\(pattern)/", \(place)}, "action": {"type": "ignore-previous-rules"}}]
                """
        }

        /// A reference handed from WebKit's callback to the waiting function, both on the main actor.
        private struct FilterReference: @unchecked Sendable { let filter: OpaquePointer }
    }
#endif
