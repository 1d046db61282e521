// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK
    import Glibc
    import NacreLinux

    /// The process's main loop with one window in it.
    ///
    /// `run` must be called on the main thread from synchronous top-level code: GLib owns that thread, and a GLib source
    /// drives the main actor from it.
    @MainActor
    package final class GTKShell {
        /// What `prepare` makes: the window's configuration and the one who answers.
        package typealias Prepared = (configuration: ShellConfiguration, delegate: any ShellDelegate)
        package typealias Prepare = @MainActor (any ShellHandle) async throws -> Prepared

        private let identity: ShellIdentity
        private let prepare: Prepare
        private let application: UnsafeMutablePointer<GtkApplication>
        private var window: ShellWindow?
        private var delegate: (any ShellDelegate)?
        private var started = false
        private var waitingLinks: [String] = []
        private var closing = false
        private var restarting = false
        private var closeRound = 0
        private var failure: Int32 = 0

        /// Runs the app until its window is closed and returns the process's exit code, or `ShellRestart.code`.
        ///
        /// A second start of a running app (SH-6) hands its links over, raises the window there and returns 0 without
        /// calling `prepare`; so nothing of the app may be opened before.
        /// - Parameter prepare: starts the app half. What it throws is shown in a dialog and ends the run with 1.
        package static func run(_ identity: ShellIdentity, links: [String], prepare: @escaping Prepare) -> Int32 {
            GLibDefaults.make()
            MainQueueSource.install()
            makeDefaults()
            g_set_prgname(identity.applicationID)
            g_set_application_name(identity.name)
            let shell = GTKShell(identity, prepare)
            if let code = shell.handOver(links) { return code }
            return shell.loop(links)
        }

        /// Makes GIO's defaults while there is one thread only. GIO makes them under one lock and takes that of class
        /// initialisation inside; WebKit, whose inspector connects while a class of its own is initialised, takes them the
        /// other way round. A window beside a thread that asked for the network's state then stood still for ever.
        private static func makeDefaults() {
            _ = g_proxy_resolver_get_default()
            _ = g_network_monitor_get_default()
        }

        /// The version of WebKitGTK that runs, such as `2.50.6`.
        package nonisolated static var engineVersion: String {
            "\(webkit_get_major_version()).\(webkit_get_minor_version()).\(webkit_get_micro_version())"
        }

        private init(_ identity: ShellIdentity, _ prepare: @escaping Prepare) {
            self.identity = identity
            self.prepare = prepare
            let unique = identity.singleInstance ? 0 : G_APPLICATION_NON_UNIQUE.rawValue
            application = gtk_application_new(
                identity.applicationID, GApplicationFlags(rawValue: G_APPLICATION_HANDLES_OPEN.rawValue | unique))
        }

        private var raw: UnsafeMutableRawPointer { UnsafeMutableRawPointer(application) }
        private var base: UnsafeMutablePointer<GApplication> { raw.assumingMemoryBound(to: GApplication.self) }

        /// Nil when this is the first instance; without a session bus every instance is.
        private func handOver(_ links: [String]) -> Int32? {
            var failure: UnsafeMutablePointer<GError>?
            guard g_application_register(base, nil, &failure) != 0 else {
                let error = ShellGLibError(taking: failure)
                Self.complain("\(identity.name) could not be registered on the session bus: \(error)")
                return 1
            }
            guard g_application_get_is_remote(base) != 0 else { return nil }
            if links.isEmpty {
                g_application_activate(base)
            } else {
                var files: [OpaquePointer?] = links.map { g_file_new_for_uri($0) }
                g_application_open(base, &files, gint(files.count), "")
                files.forEach { g_object_unref(UnsafeMutableRawPointer($0!)) }
            }
            if let bus = g_application_get_dbus_connection(base) { g_dbus_connection_flush_sync(bus, nil, nil) }
            return 0
        }

        private func loop(_ links: [String]) -> Int32 {
            Signals.connect(raw, "activate") { [unowned self] in begin() }
            Signals.connectOpen(raw) { [unowned self] links in
                if let delegate { delegate.openLinks(links) } else { waitingLinks += links }
                begin()
            }
            UnixSignals.onTerminate { [weak self] in self?.finish() }
            var arguments: [UnsafeMutablePointer<CChar>?] = ([identity.applicationID] + links).map { g_strdup($0) }
            let code = g_application_run(base, gint(arguments.count), &arguments)
            arguments.forEach { g_free($0) }
            // The next start is to find the name of this one free.
            if restarting, let bus = g_application_get_dbus_connection(base) {
                g_dbus_connection_close_sync(bus, nil, nil)
                return ShellRestart.code
            }
            return restarting ? ShellRestart.code : failure == 0 ? code : failure
        }

        /// First activation starts the app; each later one raises its window.
        private func begin() {
            comeBack()
            guard !started else { return present() }
            started = true
            g_application_hold(base)
            Task {
                do {
                    let (configuration, delegate) = try await prepare(self)
                    try await open(configuration, delegate)
                } catch {
                    await refuse(error)
                }
                g_application_release(base)
            }
        }

        private func open(_ configuration: ShellConfiguration, _ delegate: any ShellDelegate) async throws {
            self.delegate = delegate
            let window = try ShellWindow(
                application: application, identity: identity, configuration: configuration, delegate: delegate,
                closed: { [unowned self] in finish() })
            self.window = window
            let links = waitingLinks
            waitingLinks = []
            if !links.isEmpty { delegate.openLinks(links) }
            try await window.page.start()
            window.present()
        }

        private func refuse(_ error: any Error) async {
            failure = 1
            Self.complain("\(identity.name) could not start: \(error)")
            let french = ShellLanguage.system.resolvedHere == .french
            let alert = nacre_alert_new(
                nil, french ? "\(identity.name) n’a pas pu démarrer" : "\(identity.name) could not start", "\(error)",
                french ? "Fermer" : "Close")!
            let dialog = UnsafeMutableRawPointer(alert).assumingMemoryBound(to: GtkWindow.self)
            gtk_window_set_application(dialog, application)
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                Signals.connectCode(UnsafeMutableRawPointer(alert), "response") { _ in continuation.resume() }
                gtk_window_present(dialog)
            }
            gtk_window_destroy(dialog)
        }

        /// Hides the window, lets the app write down what it must, and leaves WebKit the second it needs to commit
        /// localStorage. A link that arrives meanwhile brings everything back.
        private func finish() {
            guard !closing, let window, let delegate else {
                if window == nil { g_application_quit(base) }
                return
            }
            closing = true
            closeRound += 1
            let round = closeRound
            window.saveState()
            window.hide()
            Task {
                await delegate.windowWillClose()
                try? await Task.sleep(for: .seconds(1))
                quit(round)
            }
            Task {
                try? await Task.sleep(for: .seconds(5))
                quit(round)
            }
        }

        private func quit(_ round: Int) {
            if closing && round == closeRound { g_application_quit(base) }
        }

        private func comeBack() {
            guard closing, !restarting, let window else { return }
            closing = false
            window.page.load(window.page.configuration.startURL)
        }

        private static func complain(_ text: String) {
            var bytes = Array((text + "\n").utf8)
            write(STDERR_FILENO, &bytes, bytes.count)
        }
    }

    extension GTKShell: ShellHandle {
        package var pageLoad: UInt64 { window?.page.currentLoad ?? 0 }
        package var insets: ShellInsets { .none }

        package func evaluate(_ script: String, in world: ScriptWorld) async throws -> String {
            guard let window else { throw ShellNotOpen() }
            return try await window.page.evaluate(script, in: world)
        }

        @discardableResult
        package func dispatch(event json: String, pageLoad: UInt64) async -> Bool {
            await window?.page.dispatch(event: json, pageLoad: pageLoad) ?? false
        }

        package func use(_ scripts: [UserScript]) { window?.page.use(scripts) }
        package func load(_ url: String) { window?.page.load(url) }
        package func reload() { window?.page.reload() }
        package func present() { window?.present() }
        package func minimize() { if let window { gtk_window_minimize(window.window) } }
        package func layout(width: Int, height: Int, keyboard: Int) {
            window?.layout(
                width: Int32(clamping: width), height: Int32(clamping: height), keyboard: Int32(clamping: keyboard))
        }
        package func close() { if let window { gtk_window_close(window.window) } }
        package func restart() {
            restarting = true
            finish()
        }
        package func show(_ page: ShellPage) { window?.page.show(page) }
        package func setTitle(_ title: String) { if let window { gtk_window_set_title(window.window, title) } }
        package func replacePage(_ swap: @escaping @Sendable (UInt64) async -> Void) async {
            guard let window else { return await swap(0) }
            await window.page.replace(swap)
        }
        package func clearWebsiteData() async { await window?.page.clearWebsiteData() }
    }

    /// A script was to run before the window exists.
    package struct ShellNotOpen: Error, Sendable, CustomStringConvertible {
        package var description: String { "The window is not open yet: call this after `prepare` has returned." }
    }
#endif
