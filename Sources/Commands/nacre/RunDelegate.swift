// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell
    import Foundation
    import NacreApp
    import NacreCore
    import NacreGTKShell
    import NacreHTTP
    import NacreLinux
    import NacrePage
    import NacrePlugins
    import NacrePorts
    import Synchronization

    /// Joins the Linux shell and the app half: what the shell tells goes on in the order in which it came.
    @MainActor
    final class RunDelegate: ShellDelegate {
        private let application: NacreApplication
        private let folders: AppFolders
        private let steps: AsyncStream<@Sendable () async -> Void>.Continuation

        /// Starts the app half for this window.
        static func start(_ options: RunOptions, handle: any ShellHandle) async throws -> RunDelegate {
            var options = options
            let book = try accountBook(&options)
            let seat = try seat(&options, handle)
            let configuration = options.configuration
            let tail = LogTail(next: StandardErrorSink())
            let log = Log(
                label: "nacre", minimum: options.environment["NACRE_LOG"] == "debug" ? .debug : .info, sink: tail)
            let folders = try AppFolders(
                id: configuration.id, environment: options.environment, place: configuration.place)
            var platform = try await RunCommand.platform(options, folders, log)
            platform.tail = tail
            let window = AppWindow(
                deliver: { text, load in await handle.dispatch(event: text, pageLoad: load) },
                shows: { document, load in
                    // The web view tells of a message no more than that it came from one of its windows' documents.
                    let shown = try? await handle.evaluate(NacreApplication.documentIdentity, in: .bridge)
                    return await handle.pageLoad == load && shown == JSONValue.string(document).text
                },
                actions: WindowActions(
                    close: { await handle.close() }, present: { await handle.present() },
                    minimize: { await handle.minimize() }),
                box: RunBox(handle: handle),
                updates: UpdateWindow(
                    replacePage: { swap in await handle.replacePage(swap) }, reload: { await handle.reload() },
                    restart: { await handle.restart() }),
                clearWebData: { await handle.clearWebsiteData() })
            if configuration.isDevelopment { await RunDesktop.install(options, log) }
            let application = try await NacreApplication.start(
                configuration: configuration, folder: options.folder, folders: folders, platform: platform,
                window: window, seat: seat, accounts: try book.map { try accountSeat(options, $0, handle) })
            await application.onScripts { pair in await handle.use(Self.scripts(pair)) }
            return RunDelegate(application, folders)
        }

        /// The accounts, and the one that is shown taken into the configuration; nil where there is only one.
        private static func accountBook(_ options: inout RunOptions) throws -> AccountBook? {
            guard options.configuration.hasAccounts else { return nil }
            let book = AccountBook(
                folder: try AppFolders.root(id: options.configuration.id, environment: options.environment))
            options.configuration.account = AccountBook.place(of: book.current)
            return book
        }

        private static func accountSeat(
            _ options: RunOptions, _ book: AccountBook, _ handle: any ShellHandle
        ) throws -> AccountSeat {
            let id = options.configuration.id
            return AccountSeat(
                folders: AccountFolders(
                    root: try AppFolders.root(id: id, environment: options.environment),
                    cache: try AppFolders.cacheRoot(id: id, environment: options.environment)),
                book: book, choosesServer: options.configuration.choosesServer,
                secrets: { place, state in await RunCommand.secrets(options, place.secretsID(id), state: state) },
                restart: { await handle.restart() })
        }

        /// What a person has chosen, taken into the configuration; nil where there is nothing to choose.
        private static func seat(_ options: inout RunOptions, _ handle: any ShellHandle) throws -> ServerSeat? {
            let configuration = options.configuration
            let root = try AppFolders.root(id: configuration.id, environment: options.environment)
            let folder = root + AppPlace.path(ofAccount: configuration.account)
            try PrivateFile.makeFolder(folder)
            guard configuration.choosesServer else {
                HomeServer.note(configuration.api, folder: folder)
                return nil
            }
            let home = HomeServer.read(folder: folder, isDevelopment: configuration.isDevelopment)
            var choice = ServerChoice(folder: folder, isDevelopment: configuration.isDevelopment, home: home)
            if options.asksForServer { choice.isAsking = true }
            options.configuration = configuration.with(choice, home: home)
            return ServerSeat(folder: folder, choice: choice, restart: { await handle.restart() })
        }

        private init(_ application: NacreApplication, _ folders: AppFolders) {
            self.application = application
            self.folders = folders
            let (stream, continuation) = AsyncStream.makeStream(of: (@Sendable () async -> Void).self)
            steps = continuation
            Task {
                for await step in stream { await step() }
            }
        }

        private nonisolated static func scripts(_ pair: BridgeScriptPair) -> [UserScript] {
            let frames = pair.frames.map { [UserScript(source: $0, world: .page, topFrameOnly: false)] } ?? []
            return [UserScript(source: pair.isolated, world: .bridge), UserScript(source: pair.page, world: .page)]
                + frames
        }

        func shellConfiguration(_ options: RunOptions) async throws -> ShellConfiguration {
            let configuration = application.configuration
            let endpoint = application.endpoint
            let origin = configuration.origin.description
            var result = ShellConfiguration(
                origin: origin, startURL: origin + "/",
                proxy: ShellProxy(
                    port: UInt16(endpoint.port), user: endpoint.user, secret: endpoint.secret,
                    certificatePEM: endpoint.certificatePEM, certificateHosts: endpoint.hosts),
                dataFolder: folders.web, cacheFolder: folders.cache)
            result.userScripts = Self.scripts(await application.scripts())
            result.bridgeHandler = NacreApplication.bridgeHandler
            result.eventReceiver = NacreApplication.eventReceiver
            result.phone = options.isPhone
            if let first = options.profile?.first, let width = first.width, let height = first.height {
                result.pageSize = (width, height)
            }
            result.developer = configuration.isDevelopment
            result.windowStateFile = folders.windowState
            result.apiOrigin = configuration.needsServer ? nil : configuration.visibleAPI.description
            result.changesServer = configuration.choosesServer && !configuration.needsServer
            result.hasAccounts = application.accounts != nil
            if configuration.isDevelopment, let folder = options.environment["NACRE_PRINT_FOLDER"], !folder.isEmpty {
                result.printFolder = folder
            }
            // A camera and a microphone that the engine plays by itself, for tests of what a page may record (SH-7).
            result.mockDevices = configuration.isDevelopment && options.environment["NACRE_MOCK_CAPTURE"] == "1"
            return result
        }

        /// The window's own box, behind the app half's port.
        private struct RunBox: PageBox {
            let handle: any ShellHandle
            func layout(width: Int, height: Int, keyboard: Int) async {
                await handle.layout(width: width, height: height, keyboard: keyboard)
            }
        }

        // MARK: ShellDelegate

        func bridgeMessage(_ json: String, pageLoad: UInt64) async -> String {
            await application.bridgeMessage(json, pageLoad: pageLoad)
        }

        func pageLoadStarted(_ pageLoad: UInt64) {
            steps.yield { [application] in await application.pageLoadStarted(pageLoad) }
        }

        func pageReady(_ pageLoad: UInt64) { steps.yield { [application] in await application.pageReady() } }

        func openLinks(_ links: [String]) { steps.yield { [application] in await application.openLinks(links) } }

        func openExternally(_ url: String) { Task { [application] in await application.openExternally(url) } }

        func webProcessCrashed(_ reason: ShellCrash) {
            steps.yield { [application] in await application.pageCrashed(reason.rawValue) }
        }

        func pageFailed(_ reason: String) {
            steps.yield { [application] in await application.pageFailed(reason) }
        }

        func networkProcessLost() {}

        func windowWillClose() async { await application.stop() }

        func activated() { steps.yield { [application] in await application.becomes(active: true) } }

        func deactivated() { steps.yield { [application] in await application.becomes(active: false) } }

        func backRequested(canGoBack: Bool) async -> Bool { await application.backRequested(canGoBack: canGoBack) }

        func download(_ url: String, suggestedName: String?) -> (any ShellDownload)? {
            application.downloads.download(url, suggestedName: suggestedName).map {
                RunDownload(download: $0, first: nil)
            }
        }

        func attachment(at url: String) async -> (any ShellDownload)? {
            await application.downloads.attachment(at: url).map { RunDownload(download: $0.download, first: $0.first) }
        }

        func accounts() -> ShellAccounts? {
            (application.accounts?.book).map { book in
                ShellAccounts(
                    current: book.current,
                    list: book.accounts.map { ShellAccount(id: $0.id, name: $0.name ?? $0.email) })
            }
        }

        func account(_ wish: ShellAccountWish) {
            Task { [application] in
                await application.change { keeper in
                    switch wish {
                    case .add: _ = try await keeper.add()
                    case .choose(let id): _ = try await keeper.choose(id)
                    case .remove(let id): _ = try await keeper.remove(id)
                    }
                }
            }
        }

        func changeServer() { Task { [application] in await application.changeServer() } }

        func makeDownloadFolder() throws -> String { try application.downloads.makeFolder() }

        func problemReport() async -> (any ShellDownload)? {
            guard let folder = try? application.downloads.makeFolder() else { return nil }
            return RunReport(text: await application.problemReport(), folder: folder)
        }

        // The page channel's own answers come from this process, so that a new load is worth a try at any time.
        func canRetry(_ page: ShellPage) async -> Bool { true }
    }

    /// A download of the app half as the window sees it.
    private struct RunDownload: ShellDownload {
        let download: Download
        /// The answer that is there already, for the first run.
        let first: OnceResponse

        init(download: Download, first: HTTPResponse?) {
            self.download = download
            self.first = OnceResponse(first)
        }

        func run(_ progress: @escaping @Sendable (ShellDownloadProgress) async -> Void) async throws -> String {
            let last = Mutex(ContinuousClock.now - .seconds(1))
            return try await download.run(continuing: first.take()) { now in
                // A person sees no more than a few steps a second.
                let isDue = last.withLock { last in
                    guard ContinuousClock.now - last > .milliseconds(100) || now.received == now.size else {
                        return false
                    }
                    last = .now
                    return true
                }
                if isDue {
                    await progress(ShellDownloadProgress(name: now.name, received: now.received, size: now.size))
                }
            }.path
        }

        func discard() async {
            _ = first.take()
            await download.discard()
        }
    }

    /// A problem report, saved as a download is: where the person says.
    private struct RunReport: ShellDownload {
        let text: String
        let folder: String
        private var path: String { folder + "/problem-report.txt" }

        init(text: String, folder: String) {
            self.text = text
            self.folder = folder
        }

        func run(_ progress: @escaping @Sendable (ShellDownloadProgress) async -> Void) async throws -> String {
            try PrivateFile.replace(path, Array(text.utf8))
            return path
        }

        func discard() async { try? PrivateFile.remove(path) }
    }

    /// Hands its answer out once.
    private final class OnceResponse: Sendable {
        private let response: Mutex<HTTPResponse?>
        init(_ response: HTTPResponse?) { self.response = Mutex(response) }
        func take() -> HTTPResponse? { response.withLock { $0.take() } }
    }

    /// The `.desktop` file of a development run, by which its links find it.
    enum RunDesktop {
        /// What a link that starts the app must find again in its environment.
        private static let kept = [
            "NACRE_ENV", "NACRE_LOG", "NACRE_PROFILE", "NACRE_PAGE_CHANNEL", "MOBILE_APP_ID", "MOBILE_APP_NAME",
            "MOBILE_AUTH_SCHEME",
            "MOBILE_DEV_SERVER_URL",
            "MOBILE_VERSION_CODE", "NEXT_PUBLIC_API_ORIGIN", "CAP_API_URL", "SOURCE_VERSION",
            "NACRE_API_CA_FILE", "WEBKIT_INSPECTOR_HTTP_SERVER",
        ]

        /// Never in the way of the run: what fails is said, and links then do not reach the app.
        static func install(_ options: RunOptions, _ log: Log) async {
            let configuration = options.configuration
            do throws(NacreError) {
                let variables = kept.compactMap { name in
                    options.environment[name].flatMap { $0.isEmpty ? nil : "\(name)=\($0)" }
                }
                let program = try executable()
                let entry = try DesktopEntry(
                    applicationID: configuration.id, name: configuration.name,
                    command: (variables.isEmpty ? [] : ["/usr/bin/env"] + variables) + [
                        program, "run", options.folder,
                    ],
                    schemes: [configuration.scheme], iconName: configuration.id)
                for line in try await DesktopInstaller().install(entry) {
                    log.info("desktop.entry", ["done": .string(line)])
                }
            } catch {
                log.warning("desktop.entry", ["reason": .string(error.message)])
            }
        }

        private static func executable() throws(NacreError) -> String {
            guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
                throw NacreError(
                    "desktop.program", "The path of this program cannot be found, so links cannot start it.")
            }
            return path
        }
    }
#endif
