// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK

    extension WebPage {
        /// SH-7: what the app's own page wants is asked of a person; the rest is denied.
        func decidePermission(_ request: UnsafeMutableRawPointer) {
            let pending = OpaquePointer(request)
            guard shownPage == nil, rule.isOwn(uri) else { return webkit_permission_request_deny(pending) }
            if nacre_is_pointer_lock_request(request) != 0 { return webkit_permission_request_allow(pending) }
            if nacre_is_device_info_request(request) != 0 {
                // The names of devices identify a person: only with a device that was allowed.
                let knows = [PermissionKind.camera, .microphone].contains {
                    permissions.state(of: $0, load: currentLoad) == .granted
                }
                return knows ? webkit_permission_request_allow(pending) : webkit_permission_request_deny(pending)
            }
            let kinds = Self.kinds(of: request)
            guard !kinds.isEmpty, let ask else { return webkit_permission_request_deny(pending) }
            switch permissions.state(of: kinds, load: currentLoad) {
            case .granted: return webkit_permission_request_allow(pending)
            case .denied: return webkit_permission_request_deny(pending)
            case .prompt: break
            }
            let text = PermissionQuestion(
                appName: appName, kinds: kinds, french: configuration.language.resolvedHere == .french)
            let load = currentLoad
            g_object_ref(request)
            Task {
                let granted = await ask(text.title, text.body, text.accept, text.refuse)
                permissions.note(kinds, granted: granted, load: load)
                if granted && load == currentLoad {
                    webkit_permission_request_allow(pending)
                } else {
                    webkit_permission_request_deny(pending)
                }
                g_object_unref(UnsafeMutableRawPointer(pending))
            }
        }

        private static func kinds(of request: UnsafeMutableRawPointer) -> [PermissionKind] {
            if nacre_is_user_media_request(request) != 0 {
                let media = OpaquePointer(request)
                let camera = webkit_user_media_permission_is_for_video_device(media) != 0
                let microphone = webkit_user_media_permission_is_for_audio_device(media) != 0
                return (camera ? [.camera] : []) + (microphone ? [.microphone] : [])
            }
            if nacre_is_geolocation_request(request) != 0 { return [.geolocation] }
            if nacre_is_notification_request(request) != 0 { return [.notifications] }
            if nacre_is_clipboard_request(request) != 0 { return [.clipboard] }
            return []
        }

        /// What `navigator.permissions` tells.
        func answer(permissionQuery query: OpaquePointer) {
            let name = webkit_permission_state_query_get_name(query).map { String(cString: $0) } ?? ""
            let origin = webkit_permission_state_query_get_security_origin(query)
            let text = webkit_security_origin_to_string(origin).map { text in
                defer { g_free(text) }
                return String(cString: text)
            }
            guard let kind = PermissionKind(name: name), text == configuration.origin else {
                return webkit_permission_state_query_finish(query, WEBKIT_PERMISSION_STATE_DENIED)
            }
            let state =
                switch permissions.state(of: kind, load: currentLoad) {
                case .granted: WEBKIT_PERMISSION_STATE_GRANTED
                case .denied: WEBKIT_PERMISSION_STATE_DENIED
                case .prompt: WEBKIT_PERMISSION_STATE_PROMPT
                }
            webkit_permission_state_query_finish(query, state)
        }
    }
#endif
