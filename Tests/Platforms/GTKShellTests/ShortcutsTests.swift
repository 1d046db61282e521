// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK
    import Testing

    @testable import NacreGTKShell

    @MainActor
    @Suite("Keys of the window")
    struct ShortcutsTests {
        private func action(_ key: Int32, _ mask: GdkModifierType..., developer: Bool = false) -> Shortcuts.Action? {
            Shortcuts.action(
                key: UInt32(key), state: GdkModifierType(mask.reduce(0) { $0 | $1.rawValue }), developer: developer)
        }

        @Test("SH-5: Alt with an arrow goes back and forward")
        func history() {
            #expect(action(GDK_KEY_Left, GDK_ALT_MASK) == .back)
            #expect(action(GDK_KEY_Right, GDK_ALT_MASK) == .forward)
            #expect(action(GDK_KEY_Left) == nil)
            #expect(action(GDK_KEY_Left, GDK_ALT_MASK, GDK_SHIFT_MASK) == nil)
        }

        @Test("Zoom, print, close; caps lock and num lock do not matter")
        func common() {
            #expect(action(GDK_KEY_plus, GDK_CONTROL_MASK, GDK_SHIFT_MASK) == .zoomIn)
            #expect(action(GDK_KEY_equal, GDK_CONTROL_MASK) == .zoomIn)
            #expect(action(GDK_KEY_minus, GDK_CONTROL_MASK, GDK_LOCK_MASK) == .zoomOut)
            #expect(action(GDK_KEY_0, GDK_CONTROL_MASK) == .zoomReset)
            #expect(action(GDK_KEY_P, GDK_CONTROL_MASK) == .print)
            #expect(action(GDK_KEY_w, GDK_CONTROL_MASK) == .close)
            #expect(action(GDK_KEY_plus) == nil)
        }

        @Test("Reload and inspector are a developer's")
        func developer() {
            #expect(action(GDK_KEY_F12, developer: true) == .inspector)
            #expect(action(GDK_KEY_F12) == nil)
            #expect(action(GDK_KEY_r, GDK_CONTROL_MASK, developer: true) == .reload)
            #expect(action(GDK_KEY_r, GDK_CONTROL_MASK) == nil)
        }
    }
#endif
