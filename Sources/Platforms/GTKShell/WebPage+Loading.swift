// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK

    extension WebPage {
        func load(_ url: String) {
            guard rule.isOwn(url) else { return }
            wantedURL = url
            retryRound += 1
            webkit_web_view_load_uri(view, url)
        }

        /// The page again, or, from a page of the shell's own, the page that could not be shown.
        func reload() {
            if shownPage == nil && pendingPage == nil && currentLoad != 0 {
                webkit_web_view_reload(view)
            } else {
                load(wantedURL)
            }
        }

        func show(_ page: ShellPage) {
            pendingPage = page
            currentLoad = 0
            retryRound += 1
            let html = page.html(appName: appName, language: configuration.language.resolvedHere)
            webkit_web_view_load_alternate_html(view, html, wantedURL, "about:blank")
            if page.retriesAlone { retryAlone(page, round: retryRound) }
        }

        private func retryAlone(_ page: ShellPage, round: Int) {
            Task {
                while true {
                    try? await Task.sleep(for: .seconds(2))
                    guard round == retryRound else { return }
                    if await delegate.canRetry(page) {
                        guard round == retryRound else { return }
                        return load(wantedURL)
                    }
                }
            }
        }

        func loadChanged(_ event: WebKitLoadEvent) {
            switch event {
            case WEBKIT_LOAD_COMMITTED: committed()
            case WEBKIT_LOAD_FINISHED: finished()
            default: break
            }
        }

        private func committed() {
            leaves?()
            if let page = pendingPage {
                pendingPage = nil
                shownPage = page
                currentLoad = 0
                leaving?.resume()
                leaving = nil
                return
            }
            shownPage = nil
            guard rule.isOwn(uri) else {
                // The top frame shows the app's origin or nothing: a document that slipped through is replaced.
                currentLoad = 0
                return load(configuration.startURL)
            }
            wantedURL = uri
            lastLoad += 1
            currentLoad = lastLoad
            delegate.pageLoadStarted(currentLoad)
        }

        private func finished() {
            guard currentLoad != 0, readyLoad != currentLoad else { return }
            readyLoad = currentLoad
            tlsFailures = 0
            delegate.pageReady(currentLoad)
        }

        /// True: WebKit's own error page is never shown.
        func loadFailed(_ uri: String, _ error: ShellGLibError) -> Bool {
            let cancelled =
                error.domain == webkit_network_error_quark()
                && error.code == Int32(WEBKIT_NETWORK_ERROR_CANCELLED.rawValue)
            if cancelled { return true }
            guard rule.isOwn(uri) else {
                leave(to: uri)
                return true
            }
            if error.domain == webkit_policy_error_quark() { return true }
            delegate.pageFailed(error.message)
            show(.loadFailed(reason: error.message))
            return true
        }

        /// The top frame was to go elsewhere, and the filter has stopped it; the page shown stays.
        private func leave(to uri: String) {
            let gesture = navigations.last { $0.uri == uri }?.userGesture ?? false
            navigations.removeAll()
            if rule.topFrame(to: uri, userGesture: gesture) == .external { delegate.openExternally(uri) }
        }

        /// A new network process has forgotten the certificate before anything asked for the proxy's password.
        func certificateForgotten(_ uri: String) -> Bool {
            proxyGuard.allowCertificate()
            tlsFailures += 1
            if tlsFailures <= 2, rule.isOwn(uri) {
                load(uri)
            } else if rule.isOwn(uri) {
                show(.loadFailed(reason: "TLS: \(uri)"))
            }
            return true
        }

        func processTerminated(_ reason: WebKitWebProcessTerminationReason) {
            let crash: ShellCrash =
                switch reason {
                case WEBKIT_WEB_PROCESS_EXCEEDED_MEMORY_LIMIT: .outOfMemory
                case WEBKIT_WEB_PROCESS_TERMINATED_BY_API: .terminated
                default: .crashed
                }
            currentLoad = 0
            if let left = leaving {
                leaving = nil
                return left.resume()
            }
            delegate.webProcessCrashed(crash)
            if shownPage != nil || pendingPage != nil {
                hopeless?()
            } else {
                show(.crashed(crash))
            }
        }
    }

    extension ShellLanguage {
        /// By the desktop's own list of languages.
        var resolvedHere: ShellLanguage { resolved(preferred: Self.preferredNames) }

        /// The desktop's languages, the best first.
        static var preferredNames: [String] {
            var names: [String] = []
            if var next = g_get_language_names() {
                while let name = next.pointee {
                    names.append(String(cString: name))
                    next += 1
                }
            }
            return names
        }
    }
#endif
