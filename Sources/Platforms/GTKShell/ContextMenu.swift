// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK

    /// The menu of the right button: what makes no sense in a window without tabs or an address bar is left out.
    @MainActor
    enum ContextMenu {
        /// True when nothing is left to show.
        static func trim(_ menu: OpaquePointer, developer: Bool) -> Bool {
            var wasSeparator = true
            var kept: OpaquePointer?
            for item in items(of: menu) {
                let isSeparator = webkit_context_menu_item_is_separator(item) != 0
                let action = webkit_context_menu_item_get_stock_action(item)
                if isSeparator ? wasSeparator : !keeps(action, developer: developer) {
                    webkit_context_menu_remove(menu, item)
                } else {
                    wasSeparator = isSeparator
                    kept = item
                }
            }
            if wasSeparator, let kept { webkit_context_menu_remove(menu, kept) }
            return webkit_context_menu_get_n_items(menu) == 0
        }

        nonisolated static func keeps(_ action: WebKitContextMenuAction, developer: Bool) -> Bool {
            switch action {
            case WEBKIT_CONTEXT_MENU_ACTION_OPEN_LINK_IN_NEW_WINDOW,
                WEBKIT_CONTEXT_MENU_ACTION_OPEN_IMAGE_IN_NEW_WINDOW,
                WEBKIT_CONTEXT_MENU_ACTION_OPEN_FRAME_IN_NEW_WINDOW,
                WEBKIT_CONTEXT_MENU_ACTION_OPEN_VIDEO_IN_NEW_WINDOW,
                WEBKIT_CONTEXT_MENU_ACTION_OPEN_AUDIO_IN_NEW_WINDOW, WEBKIT_CONTEXT_MENU_ACTION_GO_BACK,
                WEBKIT_CONTEXT_MENU_ACTION_GO_FORWARD, WEBKIT_CONTEXT_MENU_ACTION_STOP,
                // The proxy's and the page channel's addresses mean nothing outside of the app (NB-4).
                WEBKIT_CONTEXT_MENU_ACTION_COPY_IMAGE_URL_TO_CLIPBOARD,
                WEBKIT_CONTEXT_MENU_ACTION_COPY_VIDEO_LINK_TO_CLIPBOARD,
                WEBKIT_CONTEXT_MENU_ACTION_COPY_AUDIO_LINK_TO_CLIPBOARD:
                false
            case WEBKIT_CONTEXT_MENU_ACTION_RELOAD, WEBKIT_CONTEXT_MENU_ACTION_INSPECT_ELEMENT: developer
            default: true
            }
        }

        /// One more entry at the end, which does this when it is chosen; `follows` puts it to the one before.
        static func append(
            _ label: String, to menu: OpaquePointer, follows: Bool = false, _ body: @escaping @MainActor () -> Void
        ) {
            // WebKit finds the action by its name again, so each entry needs one of its own.
            let action = g_simple_action_new("nacre-entry-\(webkit_context_menu_get_n_items(menu))", nil)!
            Signals.connectActivate(UnsafeMutableRawPointer(action), body)
            if !follows, webkit_context_menu_get_n_items(menu) > 0 {
                webkit_context_menu_append(menu, webkit_context_menu_item_new_separator())
            }
            webkit_context_menu_append(menu, webkit_context_menu_item_new_from_gaction(action, label, nil))
            g_object_unref(UnsafeMutableRawPointer(action))
        }

        private static func items(of menu: OpaquePointer) -> [OpaquePointer] {
            var found: [OpaquePointer] = []
            var next = webkit_context_menu_get_items(menu)
            while let link = next {
                if let data = link.pointee.data { found.append(OpaquePointer(data)) }
                next = link.pointee.next
            }
            return found
        }
    }
#endif
