// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK

    extension WebPage {
        /// WebKit is about to download: the app fetches http and https by itself, so that a break is taken up where it
        /// was; WebKit writes what only it can have (`blob:`, `data:`, the answer to a form).
        func downloadStarted(_ download: OpaquePointer) {
            let request = webkit_download_get_request(download)
            let uri = webkit_uri_request_get_uri(request).map { String(cString: $0) } ?? ""
            let method = webkit_uri_request_get_http_method(request).map { String(cString: $0) } ?? "GET"
            guard method == "GET", uri.hasPrefix("https:") || uri.hasPrefix("http:") else {
                return saveByWebKit(download)
            }
            // A link's own word for the name is told here only, together with the head of the answer.
            var isDecided = false
            Signals.connectDestination(UnsafeMutableRawPointer(download)) { [unowned self] suggested in
                guard !isDecided, let native = delegate.download(uri, suggestedName: suggested) else { return false }
                isDecided = true
                webkit_download_cancel(download)
                saves?(native)
                return true
            }
        }

        private func saveByWebKit(_ download: OpaquePointer) {
            guard let folder = try? delegate.makeDownloadFolder(), let savesByWebKit else {
                return webkit_download_cancel(download)
            }
            savesByWebKit(download, folder)
        }

        /// Into a folder, for tests of what a page prints.
        func printToFile(_ operation: OpaquePointer) -> Bool {
            guard let folder = configuration.printFolder else { return false }
            prints += 1
            nacre_print_to_file(operation, "file://\(folder)/page-\(prints).pdf")
            return true
        }
    }
#endif
