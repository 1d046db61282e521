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
                webkit_policy_decision_use(policy)
            case .external:
                webkit_policy_decision_ignore(policy)
                delegate.openExternally(target)
            case .refuse: webkit_policy_decision_ignore(policy)
            }
        }

        private func decideWindow(_ policy: UnsafeMutablePointer<WebKitPolicyDecision>, _ decision: OpaquePointer) {
            webkit_policy_decision_ignore(policy)
            openWindow(webkit_navigation_policy_decision_get_navigation_action(decision))
        }

        /// `target=_blank` comes as a policy decision, `window.open` as a view to create; there is only one window.
        func openWindow(_ action: OpaquePointer?) {
            let (target, gesture) = Self.read(action)
            if rule.newWindow(to: target, userGesture: gesture) == .external { delegate.openExternally(target) }
        }

        private func decideResponse(_ policy: UnsafeMutablePointer<WebKitPolicyDecision>, _ decision: OpaquePointer) {
            let response = webkit_response_policy_decision_get_response(decision)
            let target = webkit_uri_response_get_uri(response).map { String(cString: $0) } ?? ""
            let topFrame = webkit_response_policy_decision_is_main_frame_main_resource(decision) != 0
            if topFrame && !rule.isOwn(target) {
                webkit_policy_decision_ignore(policy)
            } else if webkit_response_policy_decision_is_mime_type_supported(decision) == 0 {
                webkit_policy_decision_download(policy)
            } else {
                webkit_policy_decision_use(policy)
            }
        }

        private static func read(_ action: OpaquePointer?) -> (uri: String, userGesture: Bool) {
            let request = webkit_navigation_action_get_request(action)
            let uri = webkit_uri_request_get_uri(request).map { String(cString: $0) } ?? ""
            return (uri, webkit_navigation_action_is_user_gesture(action) != 0)
        }

        /// SH-7: camera and microphone by asking a person; anything else is denied.
        func decidePermission(_ request: UnsafeMutableRawPointer) {
            guard nacre_is_user_media_request(request) != 0, shownPage == nil, rule.isOwn(uri), let ask else {
                return webkit_permission_request_deny(OpaquePointer(request))
            }
            let media = OpaquePointer(request)
            let camera = webkit_user_media_permission_is_for_video_device(media) != 0
            let microphone = webkit_user_media_permission_is_for_audio_device(media) != 0
            guard camera || microphone else { return webkit_permission_request_deny(media) }
            let text = MediaQuestion(
                appName: appName, camera: camera, microphone: microphone,
                french: configuration.language.resolvedHere == .french)
            let load = currentLoad
            g_object_ref(request)
            Task {
                let granted = await ask(text.title, text.body, text.accept, text.refuse)
                if granted && load == currentLoad {
                    webkit_permission_request_allow(media)
                } else {
                    webkit_permission_request_deny(media)
                }
                g_object_unref(UnsafeMutableRawPointer(media))
            }
        }
    }
#endif
