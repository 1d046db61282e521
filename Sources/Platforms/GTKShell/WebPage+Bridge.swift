// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK

    extension WebPage {
        /// A message of the bridge's world. Only its top-frame script can send one; the address is checked here again.
        func receive(_ value: OpaquePointer, _ reply: OpaquePointer) {
            guard rule.hears(uri, load: currentLoad, isOwnPageShown: shownPage == nil) else {
                return webkit_script_message_reply_return_error_message(
                    reply, "The bridge answers only the app's own page.")
            }
            guard jsc_value_is_string(value) != 0, let text = jsc_value_to_string(value) else {
                return webkit_script_message_reply_return_error_message(
                    reply, "A message to the bridge is a string of JSON.")
            }
            let message = String(cString: text)
            g_free(text)
            let load = currentLoad
            webkit_script_message_reply_ref(reply)
            g_object_ref(UnsafeMutableRawPointer(value))
            Task {
                let answer = await delegate.bridgeMessage(message, pageLoad: load)
                if NavigationRule.isCurrent(load, shown: currentLoad) {
                    let context = jsc_value_get_context(value)
                    let result = jsc_value_new_string(context, answer)
                    webkit_script_message_reply_return_value(reply, result)
                    g_object_unref(UnsafeMutableRawPointer(result))
                }
                g_object_unref(UnsafeMutableRawPointer(value))
                webkit_script_message_reply_unref(reply)
            }
        }

        func evaluate(_ script: String, in world: ScriptWorld) async throws -> String {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<String, any Error>) in
                let (callback, data) = onFinish { [self] result in
                    continuation.resume(with: finish(result, webkit_web_view_evaluate_javascript_finish))
                }
                webkit_web_view_evaluate_javascript(view, script, -1, world.name, nil, nil, callback, data)
            }
        }

        /// SH-5: asks the topmost open dialog or popover to close, as Escape does; true when there was one. A dialog may
        /// refuse, and then nothing else goes back either.
        func closesTopLayer() async -> Bool {
            let script = """
                (() => {
                  const open = [...document.querySelectorAll("dialog:modal, :popover-open")];
                  const top = open.findLast(e => e.contains(document.activeElement)) ?? open.at(-1);
                  if (!top) return false;
                  if (!top.matches("dialog:modal")) top.hidePopover();
                  else if (top.dispatchEvent(new Event("cancel", { cancelable: true }))) top.close();
                  return true;
                })()
                """
            return (try? await evaluate(script, in: .bridge)) == "true"
        }

        /// False when the page has gone or knows no receiver.
        func dispatch(event json: String, pageLoad: UInt64) async -> Bool {
            guard NavigationRule.isCurrent(pageLoad, shown: currentLoad) else { return false }
            let body = "\(configuration.eventReceiver)(event)"
            return await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                let (callback, data) = onFinish { [self] result in
                    let outcome = finish(result, webkit_web_view_call_async_javascript_function_finish)
                    continuation.resume(returning: (try? outcome.get()) != nil)
                }
                webkit_web_view_call_async_javascript_function(
                    view, body, -1, nacre_script_argument("event", json), ScriptWorld.bridge.name, nil, nil, callback,
                    data)
            }
        }

        private typealias Finisher = (
            UnsafeMutablePointer<WebKitWebView>?, OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
        ) -> OpaquePointer?

        private func finish(_ result: OpaquePointer, _ finisher: Finisher) -> Result<String, any Error> {
            var failure: UnsafeMutablePointer<GError>?
            guard let value = finisher(view, result, &failure) else {
                return .failure(ShellGLibError(taking: failure))
            }
            defer { g_object_unref(UnsafeMutableRawPointer(value)) }
            guard let json = jsc_value_to_json(value, 0) else { return .success("null") }
            defer { g_free(json) }
            return .success(String(cString: json))
        }

        func clearWebsiteData() async { await clear(WEBKIT_WEBSITE_DATA_ALL) }

        /// What a page has put between itself and its files, and nothing that it keeps.
        func clearServiceWorkers() async {
            let kinds: [WebKitWebsiteDataTypes] = [
                WEBKIT_WEBSITE_DATA_SERVICE_WORKER_REGISTRATIONS, WEBKIT_WEBSITE_DATA_DOM_CACHE,
                WEBKIT_WEBSITE_DATA_MEMORY_CACHE, WEBKIT_WEBSITE_DATA_DISK_CACHE,
            ]
            await clear(WebKitWebsiteDataTypes(rawValue: kinds.reduce(0) { $0 | $1.rawValue }))
        }

        private func clear(_ kinds: WebKitWebsiteDataTypes) async {
            let manager = webkit_network_session_get_website_data_manager(session)
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let (callback, data) = onFinish { result in
                    webkit_website_data_manager_clear_finish(manager, result, nil)
                    continuation.resume()
                }
                webkit_website_data_manager_clear(manager, kinds, 0, nil, callback, data)
            }
        }
    }

    /// A `GAsyncReadyCallback` that runs the closure once, on the main actor, with the `GAsyncResult`.
    @MainActor
    func onFinish(
        _ body: @escaping @MainActor (OpaquePointer) -> Void
    ) -> (GAsyncReadyCallback, UnsafeMutableRawPointer) {
        let callback: GAsyncReadyCallback = { _, result, data in
            guard let result, let data else { return }
            nonisolated(unsafe) let finished = result
            Box<@MainActor (OpaquePointer) -> Void>.main(data) { $0(finished) }
            Unmanaged<AnyObject>.fromOpaque(data).release()
        }
        return (callback, Unmanaged.passRetained(Box(body)).toOpaque())
    }
#endif
