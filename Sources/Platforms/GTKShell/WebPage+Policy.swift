// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK

    extension WebPage {
        /// `decide-policy`; always decided here.
        func decide(_ decision: UnsafeMutableRawPointer, _ type: WebKitPolicyDecisionType) -> Bool {
            let policy = decision.assumingMemoryBound(to: WebKitPolicyDecision.self)
            switch type {
            case WEBKIT_POLICY_DECISION_TYPE_NAVIGATION_ACTION: decideNavigation(policy, OpaquePointer(decision))
            case WEBKIT_POLICY_DECISION_TYPE_NEW_WINDOW_ACTION: decideWindow(policy, OpaquePointer(decision))
            default: decideResponse(policy, OpaquePointer(decision))
            }
            return true
        }

        private func decideNavigation(_ policy: UnsafeMutablePointer<WebKitPolicyDecision>, _ decision: OpaquePointer) {
            let action = webkit_navigation_policy_decision_get_navigation_action(decision)
            let (target, gesture) = Self.read(action)
            if target == ShellPage.retryURL {
                webkit_policy_decision_ignore(policy)
                if shownPage != nil { reload() }
                return
            }
            switch rule.navigation(to: target, userGesture: gesture) {
            case .allow:
                if !rule.isOwn(target) {
                    navigations = navigations.suffix(7) + [(target, gesture)]
                }
                guard gesture, mayBeFile(target) else { return webkit_policy_decision_use(policy) }
                decideLater(policy, target)
            case .external:
                webkit_policy_decision_ignore(policy)
                delegate.openExternally(target)
            case .refuse: webkit_policy_decision_ignore(policy)
            }
        }

        /// NB-5 before NB-10: a file of the API is saved, whichever frame asks; anything else goes the way it went.
        private func decideLater(_ policy: UnsafeMutablePointer<WebKitPolicyDecision>, _ target: String) {
            g_object_ref(policy)
            Task {
                if let download = await delegate.attachment(at: target) {
                    webkit_policy_decision_ignore(policy)
                    saves?(download)
                } else {
                    webkit_policy_decision_use(policy)
                }
                g_object_unref(policy)
            }
        }

        /// Whether the address is the API's, so that a file may stand there.
        private func mayBeFile(_ target: String) -> Bool {
            guard let api = configuration.apiOrigin else { return false }
            return target == api || target.hasPrefix(api + "/")
        }

        private func decideWindow(_ policy: UnsafeMutablePointer<WebKitPolicyDecision>, _ decision: OpaquePointer) {
            let action = webkit_navigation_policy_decision_get_navigation_action(decision)
            let (target, gesture) = Self.read(action)
            // What may have a window of the app's own gets it by `create`.
            if gesture, PopupRule(page: rule).mayOpen(target) { return webkit_policy_decision_use(policy) }
            webkit_policy_decision_ignore(policy)
            leaveWindow(target, gesture)
        }

        /// `window.open`, and `target=_blank` once it was decided to use it: a window of the app's own for what is its
        /// own, the system for the rest.
        func openWindow(_ action: OpaquePointer?) -> UnsafeMutableRawPointer? {
            let (target, gesture) = Self.read(action)
            if gesture, PopupRule(page: rule).mayOpen(target) { return opens?() }
            leaveWindow(target, gesture)
            return nil
        }

        private func leaveWindow(_ target: String, _ gesture: Bool) {
            guard rule.newWindow(to: target, userGesture: gesture) == .external else { return }
            guard mayBeFile(target) else { return delegate.openExternally(target) }
            Task {
                if let download = await delegate.attachment(at: target) {
                    saves?(download)
                } else {
                    delegate.openExternally(target)
                }
            }
        }

        private func decideResponse(_ policy: UnsafeMutablePointer<WebKitPolicyDecision>, _ decision: OpaquePointer) {
            let response = webkit_response_policy_decision_get_response(decision)
            let target = webkit_uri_response_get_uri(response).map { String(cString: $0) } ?? ""
            let topFrame = webkit_response_policy_decision_is_main_frame_main_resource(decision) != 0
            if topFrame && !rule.isOwn(target) {
                webkit_policy_decision_ignore(policy)
            } else if Self.isFile(decision, response) {
                webkit_policy_decision_download(policy)
            } else {
                webkit_policy_decision_use(policy)
            }
        }

        /// Whether the answer is to be saved: by its own word, or because no page can be made of it.
        private static func isFile(_ decision: OpaquePointer, _ response: OpaquePointer?) -> Bool {
            if webkit_response_policy_decision_is_mime_type_supported(decision) == 0 { return true }
            guard let headers = webkit_uri_response_get_http_headers(response),
                let field = soup_message_headers_get_one(headers, "Content-Disposition")
            else { return false }
            return DownloadFile.isAttachment(String(cString: field))
        }

        static func read(_ action: OpaquePointer?) -> (uri: String, userGesture: Bool) {
            let request = webkit_navigation_action_get_request(action)
            let uri = webkit_uri_request_get_uri(request).map { String(cString: $0) } ?? ""
            return (uri, webkit_navigation_action_is_user_gesture(action) != 0)
        }
    }
#endif
