// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK

    /// Keys and mouse buttons of the window. The page sees a key first and may keep it, back and forward excepted.
    @MainActor
    enum Shortcuts {
        enum Action: Equatable {
            case back, forward, zoomIn, zoomOut, zoomReset, reload, inspector, fullscreen, print, find, findNext,
                findPrevious, close
        }

        static func install(on window: ShellWindow, developer: Bool) {
            let widget = window.raw.assumingMemoryBound(to: GtkWidget.self)
            for phase in [GTK_PHASE_CAPTURE, GTK_PHASE_BUBBLE] {
                let keys = gtk_event_controller_key_new()!
                gtk_event_controller_set_propagation_phase(keys, phase)
                Signals.connectKey(UnsafeMutableRawPointer(keys)) { [unowned window] key, state in
                    guard let action = action(key: key, state: state, developer: developer) else { return false }
                    // The web view keeps Alt with an arrow to itself, whatever the page says.
                    guard (action == .back || action == .forward) == (phase == GTK_PHASE_CAPTURE) else { return false }
                    perform(action, on: window)
                    return true
                }
                gtk_widget_add_controller(widget, keys)
            }
            for (button, action) in [(8, Action.back), (9, Action.forward)] as [(guint, Action)] {
                let click = gtk_gesture_click_new()!
                gtk_gesture_single_set_button(click, button)
                gtk_event_controller_set_propagation_phase(click, GTK_PHASE_CAPTURE)
                Signals.connectPressed(UnsafeMutableRawPointer(click)) { [unowned window] in
                    perform(action, on: window)
                }
                gtk_widget_add_controller(widget, click)
            }
        }

        static func action(key: UInt32, state: GdkModifierType, developer: Bool) -> Action? {
            let held = state.rawValue & (GDK_CONTROL_MASK.rawValue | GDK_ALT_MASK.rawValue | GDK_SHIFT_MASK.rawValue)
            let control = GDK_CONTROL_MASK.rawValue
            let key = Int32(bitPattern: gdk_keyval_to_lower(key))
            switch (held, key) {
            case (GDK_ALT_MASK.rawValue, GDK_KEY_Left): return .back
            case (GDK_ALT_MASK.rawValue, GDK_KEY_Right): return .forward
            case (_, GDK_KEY_plus), (_, GDK_KEY_equal), (_, GDK_KEY_KP_Add):
                return held & ~GDK_SHIFT_MASK.rawValue == control ? .zoomIn : nil
            case (control, GDK_KEY_minus), (control, GDK_KEY_KP_Subtract): return .zoomOut
            case (control, GDK_KEY_0), (control, GDK_KEY_KP_0): return .zoomReset
            case (0, GDK_KEY_F11): return .fullscreen
            case (control, GDK_KEY_p): return .print
            case (control, GDK_KEY_f): return .find
            case (control, GDK_KEY_g), (0, GDK_KEY_F3): return .findNext
            case (control | GDK_SHIFT_MASK.rawValue, GDK_KEY_g), (GDK_SHIFT_MASK.rawValue, GDK_KEY_F3):
                return .findPrevious
            case (control, GDK_KEY_w), (control, GDK_KEY_q): return .close
            case (control, GDK_KEY_r), (0, GDK_KEY_F5): return developer ? .reload : nil
            case (0, GDK_KEY_F12): return developer ? .inspector : nil
            case (control | GDK_SHIFT_MASK.rawValue, GDK_KEY_i): return developer ? .inspector : nil
            default: return nil
            }
        }

        private static func perform(_ action: Action, on window: ShellWindow) {
            let view = window.page.view
            switch action {
            case .back: window.back()
            case .forward: window.forward()
            case .zoomIn: window.zoom { $0 * 1.1 }
            case .zoomOut: window.zoom { $0 / 1.1 }
            case .zoomReset: window.zoom { _ in 1 }
            case .find: window.find.show()
            case .findNext: window.find.step(forward: true)
            case .findPrevious: window.find.step(forward: false)
            case .reload: window.page.reload()
            case .inspector: webkit_web_inspector_show(webkit_web_view_get_inspector(view))
            case .fullscreen:
                if gtk_window_is_fullscreen(window.window) != 0 {
                    gtk_window_unfullscreen(window.window)
                } else {
                    gtk_window_fullscreen(window.window)
                }
            case .print:
                let operation = webkit_print_operation_new(view)
                defer { g_object_unref(UnsafeMutableRawPointer(operation)) }
                if window.page.printToFile(OpaquePointer(UnsafeMutableRawPointer(operation!))) { return }
                _ = webkit_print_operation_run_dialog(operation, window.window)
            case .close: gtk_window_close(window.window)
            }
        }
    }
#endif
