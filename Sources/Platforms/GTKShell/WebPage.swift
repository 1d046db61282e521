// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK
    import Glibc

    /// The web view: one persistent network session behind the page channel, one page at a time.
    @MainActor
    final class WebPage {
        let configuration: ShellConfiguration
        let view: UnsafeMutablePointer<WebKitWebView>
        let session: OpaquePointer
        let content: OpaquePointer
        let rule: NavigationRule
        let appName: String
        unowned let delegate: any ShellDelegate
        let proxyGuard: ProxyGuard
        let chooser: FileChooser
        private(set) var drops: FileDrop?

        /// Counts committed top-frame documents of the app.
        var lastLoad: UInt64 = 0
        /// The document now shown; 0 for a page of the shell's own, a crash, or before the first.
        var currentLoad: UInt64 = 0
        var readyLoad: UInt64 = 0
        var shownPage: ShellPage?
        var pendingPage: ShellPage?
        /// Where "reload" leads while a page of the shell's own is shown.
        var wantedURL: String
        var tlsFailures = 0
        var navigations: [(uri: String, userGesture: Bool)] = []
        /// How often something was printed into a folder.
        var prints = 0
        /// Resumed once the page that is to be replaced has gone.
        var leaving: CheckedContinuation<Void, Never>?
        var leavingRound = 0
        /// The replacement that runs, or ran last.
        var replacing: Task<Void, Never>?
        /// Bumped whenever a retry loop must end.
        var retryRound = 0
        /// Asks a person; set by the window.
        var ask: (@MainActor (_ title: String, _ text: String, _ accept: String, _ refuse: String) async -> Bool)?
        /// Saves a file; set by the window.
        var saves: (@MainActor (any ShellDownload) -> Void)?
        /// Saves a file that WebKit fetches, into a new folder; set by the window.
        var savesByWebKit: (@MainActor (_ download: OpaquePointer, _ folder: String) -> Void)?
        /// Makes a window for what the page opens, and answers its web view; set by the window.
        var opens: (@MainActor () -> UnsafeMutableRawPointer?)?
        /// Called when another document takes the place of the app's; set by the window.
        var leaves: (@MainActor () -> Void)?
        /// What a person has allowed this app since it was started.
        var permissions = PermissionMemory()
        /// Called when even the shell's own page has crashed.
        var hopeless: (@MainActor () -> Void)?

        var raw: UnsafeMutableRawPointer { UnsafeMutableRawPointer(view) }

        init(_ configuration: ShellConfiguration, appName: String, delegate: any ShellDelegate) throws {
            self.configuration = configuration
            self.appName = appName
            self.delegate = delegate
            rule = NavigationRule(origin: configuration.origin)
            chooser = FileChooser(wording: ChooserWording(french: configuration.language.resolvedHere == .french))
            wantedURL = configuration.startURL
            session = Self.makeSession(configuration)
            proxyGuard = try ProxyGuard(proxy: configuration.proxy, session: session)
            content = Self.makeContent(configuration)
            view = nacre_web_view_new(Self.makeContext(), session, content, Self.makeSettings(configuration))
            connect(content: UnsafeMutableRawPointer(content))
            drops = FileDrop(on: self)
        }

        /// Opens the first page, once the top frame is tied to the app's origin.
        func start() async throws {
            try await TopFrameFilter.install(
                for: configuration.origin, in: content, folder: configuration.cacheFolder + "/filters")
            load(configuration.startURL)
        }

        private static func makeSession(_ configuration: ShellConfiguration) -> OpaquePointer {
            for folder in [configuration.dataFolder, configuration.cacheFolder] {
                g_mkdir_with_parents(folder, 0o700)
                chmod(folder, 0o700)  // SE-1: also when it was there before
            }
            let session = webkit_network_session_new(configuration.dataFolder, configuration.cacheFolder)!
            // A page's passwords are not WebKit's to keep, and asking would start a locked keyring daemon at each launch.
            webkit_network_session_set_persistent_credential_storage_enabled(session, 0)
            let cookies = webkit_network_session_get_cookie_manager(session)
            webkit_cookie_manager_set_persistent_storage(
                cookies, configuration.dataFolder + "/cookies.sqlite", WEBKIT_COOKIE_PERSISTENT_STORAGE_SQLITE)
            return session
        }

        /// Spelling is checked in the languages of the desktop, as far as there are dictionaries.
        private static func makeContext() -> OpaquePointer {
            let context = webkit_web_context_new()!
            webkit_web_context_set_spell_checking_enabled(context, 1)
            let languages = ShellLanguage.spelling(preferred: ShellLanguage.preferredNames)
            if !languages.isEmpty {
                withCStrings(languages) { webkit_web_context_set_spell_checking_languages(context, $0) }
            }
            return context
        }

        /// Scripts go into pages of the app's origin only; the message handler exists in the bridge's world only.
        private static func makeContent(_ configuration: ShellConfiguration) -> OpaquePointer {
            let content = webkit_user_content_manager_new()!
            webkit_user_content_manager_register_script_message_handler_with_reply(
                content, configuration.bridgeHandler, ScriptWorld.bridge.name)
            add(configuration.userScripts, to: content, origin: configuration.origin)
            return content
        }

        /// From the next document on.
        func use(_ scripts: [UserScript]) {
            guard let content = webkit_web_view_get_user_content_manager(view) else { return }
            webkit_user_content_manager_remove_all_scripts(content)
            Self.add(scripts, to: content, origin: configuration.origin)
        }

        private static func add(_ scripts: [UserScript], to content: OpaquePointer, origin: String) {
            withCStrings([origin + "/*"]) { allowed in
                for script in scripts {
                    let frames =
                        script.topFrameOnly
                        ? WEBKIT_USER_CONTENT_INJECT_TOP_FRAME : WEBKIT_USER_CONTENT_INJECT_ALL_FRAMES
                    let start = WEBKIT_USER_SCRIPT_INJECT_AT_DOCUMENT_START
                    let made =
                        switch script.world {
                        case .page: webkit_user_script_new(script.source, frames, start, allowed, nil)
                        case .bridge:
                            webkit_user_script_new_for_world(
                                script.source, frames, start, ScriptWorld.bridge.name, allowed, nil)
                        }
                    webkit_user_content_manager_add_script(content, made)
                    webkit_user_script_unref(made)
                }
            }
        }

        private static func makeSettings(_ configuration: ShellConfiguration) -> OpaquePointer {
            let settings = webkit_settings_new()!
            webkit_settings_set_enable_developer_extras(settings, configuration.developer ? 1 : 0)
            webkit_settings_set_enable_write_console_messages_to_stdout(settings, configuration.developer ? 1 : 0)
            // A page taken out of this cache would come back without a new document start: the bridge's script would
            // still talk for a load that is over.
            webkit_settings_set_enable_page_cache(settings, 0)
            webkit_settings_set_enable_media_stream(settings, 1)
            webkit_settings_set_javascript_can_open_windows_automatically(settings, 0)
            webkit_settings_set_enable_smooth_scrolling(settings, 1)
            webkit_settings_set_enable_mock_capture_devices(settings, configuration.mockDevices ? 1 : 0)
            return settings
        }

        private func connect(content: UnsafeMutableRawPointer) {
            Signals.connectMessage(content, handler: configuration.bridgeHandler) { [unowned self] value, reply in
                receive(value, reply)
            }
            Signals.connectRequest(raw, "authenticate") { [unowned self] request in
                proxyGuard.answer(OpaquePointer(request)) { [unowned self] in delegate.networkProcessLost() }
            }
            Signals.connectRequest(raw, "permission-request") { [unowned self] request in
                decidePermission(request)
                return true
            }
            Signals.connectPolicy(raw) { [unowned self] decision, type in decide(decision, type) }
            Signals.connectCreate(raw) { [unowned self] action in openWindow(action) }
            Signals.connectObject(UnsafeMutableRawPointer(session), "download-started") { [unowned self] download in
                downloadStarted(OpaquePointer(download))
            }
            Signals.connectRequest(raw, "query-permission-state") { [unowned self] query in
                answer(permissionQuery: OpaquePointer(query))
                return true
            }
            Signals.connectContextMenu(raw) { [unowned self] menu in
                _ = ContextMenu.trim(menu, developer: configuration.developer)
                let french = configuration.language.resolvedHere == .french
                if configuration.changesServer {
                    ContextMenu.append(french ? "Changer de serveur…" : "Change server…", to: menu) { [weak self] in
                        self?.delegate.changeServer()
                    }
                }
                if configuration.hasAccounts, let accounts = delegate.accounts() {
                    offer(AccountMenu(accounts: accounts, french: french), in: menu)
                }
                ContextMenu.append(
                    french ? "Enregistrer un rapport d’incident…" : "Save a problem report…", to: menu
                ) { [weak self] in
                    Task { if let report = await self?.delegate.problemReport() { self?.saves?(report) } }
                }
                return false
            }
            Signals.connectRequest(raw, "run-file-chooser") { [unowned self] request in
                let dropped = drops?.take() ?? []
                if dropped.isEmpty {
                    chooser.choose(for: OpaquePointer(request), over: view)
                } else {
                    FileChooser.give(dropped, to: OpaquePointer(request))
                }
                return true
            }
            if configuration.printFolder != nil {
                Signals.connectRequest(raw, "print") { [unowned self] operation in
                    printToFile(OpaquePointer(operation))
                }
            }
            Signals.connectCode(raw, "load-changed") { [unowned self] code in
                loadChanged(WebKitLoadEvent(UInt32(bitPattern: code)))
            }
            Signals.connectLoadFailed(raw) { [unowned self] uri, error in loadFailed(uri, error) }
            Signals.connectTLSFailed(raw) { [unowned self] uri in certificateForgotten(uri) }
            Signals.connectCode(raw, "web-process-terminated") { [unowned self] code in
                processTerminated(WebKitWebProcessTerminationReason(UInt32(bitPattern: code)))
            }
        }

        /// An account goes only after a question.
        private func offer(_ accounts: AccountMenu, in menu: OpaquePointer) {
            for (place, entry) in accounts.entries.enumerated() {
                ContextMenu.append(entry.label, to: menu, follows: place > 0) { [weak self] in
                    guard let self else { return }
                    guard case .remove(let id) = entry.wish else { return delegate.account(entry.wish) }
                    guard let ask else { return }
                    let text = accounts.question(id, appName: appName)
                    Task { [delegate] in
                        guard await ask(text.title, text.body, text.accept, text.refuse) else { return }
                        delegate.account(entry.wish)
                    }
                }
            }
        }

        var uri: String { webkit_web_view_get_uri(view).map { String(cString: $0) } ?? "" }
    }

    extension ScriptWorld {
        /// The name under which WebKit knows the world; nil is the page's.
        var name: String? {
            switch self {
            case .page: nil
            case .bridge: "nacre-bridge"
            }
        }
    }

    /// A null-terminated array of C strings for the length of a call.
    func withCStrings<Result>(
        _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) throws -> Result
    ) rethrows -> Result {
        let copies = strings.map { UnsafePointer<CChar>(g_strdup($0)) }
        defer { copies.forEach { g_free(UnsafeMutableRawPointer(mutating: $0)) } }
        return try (copies + [nil]).withUnsafeBufferPointer { try body($0.baseAddress!) }
    }
#endif
