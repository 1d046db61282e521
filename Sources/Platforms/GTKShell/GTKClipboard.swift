// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK
    package import NacreCore
    package import NacrePorts

    /// The desktop's clipboard, by GdkClipboard.
    @MainActor
    package final class GTKClipboard: nonisolated Clipboard {
        package nonisolated init() {}

        private func clipboard() throws(NacreError) -> OpaquePointer {
            guard let display = gdk_display_get_default(), let clipboard = gdk_display_get_clipboard(display) else {
                throw NacreError("clipboard.absent", "There is no display, so there is no clipboard.")
            }
            return clipboard
        }

        @MainActor package func read() async throws(NacreError) -> ClipboardContent? {
            let clipboard = try clipboard()
            if let text = await text(of: clipboard) { return .text(text) }
            return await png(of: clipboard).map(ClipboardContent.png)
        }

        private func text(of clipboard: OpaquePointer) async -> String? {
            await withCheckedContinuation { (continuation: CheckedContinuation<String?, Never>) in
                let (callback, data) = onFinish { result in
                    guard let text = gdk_clipboard_read_text_finish(clipboard, result, nil) else {
                        return continuation.resume(returning: nil)
                    }
                    defer { g_free(text) }
                    continuation.resume(returning: String(cString: text))
                }
                gdk_clipboard_read_text_async(clipboard, nil, callback, data)
            }
        }

        private func png(of clipboard: OpaquePointer) async -> [UInt8]? {
            await withCheckedContinuation { (continuation: CheckedContinuation<[UInt8]?, Never>) in
                let (callback, data) = onFinish { result in
                    guard let texture = gdk_clipboard_read_texture_finish(clipboard, result, nil) else {
                        return continuation.resume(returning: nil)
                    }
                    defer { g_object_unref(UnsafeMutableRawPointer(texture)) }
                    guard let bytes = gdk_texture_save_to_png_bytes(texture) else {
                        return continuation.resume(returning: nil)
                    }
                    defer { g_bytes_unref(bytes) }
                    var size: gsize = 0
                    let start = g_bytes_get_data(bytes, &size)
                    continuation.resume(returning: Array(UnsafeRawBufferPointer(start: start, count: Int(size))))
                }
                gdk_clipboard_read_texture_async(clipboard, nil, callback, data)
            }
        }

        @MainActor package func write(_ content: ClipboardContent) async throws(NacreError) {
            let clipboard = try clipboard()
            switch content {
            case .text(let text): gdk_clipboard_set_text(clipboard, text)
            case .png(let png):
                let bytes = g_bytes_new(png, gsize(png.count))
                defer { g_bytes_unref(bytes) }
                guard let texture = gdk_texture_new_from_bytes(bytes, nil) else {
                    throw NacreError("clipboard.image", "These bytes are no picture; give a PNG, JPEG or TIFF.")
                }
                gdk_clipboard_set_texture(clipboard, texture)
                g_object_unref(UnsafeMutableRawPointer(texture))
            }
        }
    }
#endif
