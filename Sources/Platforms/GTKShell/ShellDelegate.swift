// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

// The seam between the shell and whoever composes an app with it. The shell knows a window, a web view and a main
// loop; what a bridge message means, where a request goes and what a link does is the delegate's business.

/// The identity under which the desktop knows the app, needed before anything of the app is started.
package struct ShellIdentity: Sendable {
    /// Reverse-DNS name; also the name of the `.desktop` file and of the window's class.
    package var applicationID: String
    /// What a person calls the app.
    package var name: String
    /// False for tests that run several copies side by side; then a second start is simply another app.
    package var singleInstance: Bool

    package init(applicationID: String, name: String, singleInstance: Bool = true) {
        self.applicationID = applicationID
        self.name = name
        self.singleInstance = singleInstance
    }
}

/// Where the page's requests go: the app's own CONNECT endpoint on the loopback interface (design, "The page channel").
package struct ShellProxy: Sendable {
    package var port: UInt16
    package var user: String
    /// Made anew for each launch; answers the endpoint's 407.
    package var secret: String
    /// The public half of this launch's certificate, PEM.
    package var certificatePEM: String
    /// Hosts, without port, for which exactly this certificate is accepted.
    package var certificateHosts: [String]

    package init(port: UInt16, user: String, secret: String, certificatePEM: String, certificateHosts: [String]) {
        self.port = port
        self.user = user
        self.secret = secret
        self.certificatePEM = certificatePEM
        self.certificateHosts = certificateHosts
    }
}

/// In which JavaScript world a script runs: the page's own, or the bridge's isolated one that shares only the DOM.
package enum ScriptWorld: Sendable { case page, bridge }

/// A script put into every page of `app.origin` before its own first script.
package struct UserScript: Sendable {
    package var source: String
    package var world: ScriptWorld
    package var topFrameOnly: Bool

    package init(source: String, world: ScriptWorld, topFrameOnly: Bool = true) {
        self.source = source
        self.world = world
        self.topFrameOnly = topFrameOnly
    }
}

package enum ShellColorScheme: Sendable { case system, light, dark }

/// Everything the window and the web view need.
package struct ShellConfiguration: Sendable {
    /// The one origin the top frame may show, such as `https://localhost`.
    package var origin: String
    /// First page to load, on `origin`.
    package var startURL: String
    package var proxy: ShellProxy
    /// Persistent website data; made private to the user (SE-1).
    package var dataFolder: String
    package var cacheFolder: String
    package var userScripts: [UserScript] = []
    /// Name of the message handler in the bridge's world: `webkit.messageHandlers.<name>.postMessage(string)`.
    package var bridgeHandler = "nacre"
    /// Global function of the bridge's world that takes an event as a JSON string.
    package var eventReceiver = "nacreReceive"
    /// Open at the size of a phone, 390 × 844.
    package var phone = false
    /// The page's first size, for a device that is played; the usual one if nil.
    package var pageSize: (width: Int, height: Int)?
    /// Web inspector, its shortcut, console messages on standard output.
    package var developer = false
    /// Name of an icon of the desktop's icon theme; the application id if nil.
    package var iconName: String?
    /// Where size and maximised state are kept; nil keeps nothing.
    package var windowStateFile: String?
    package var colorScheme: ShellColorScheme = .system
    /// The API's origin as the page sees it: what a person opens there is looked at for a file to save (NB-5).
    package var apiOrigin: String?
    /// Whether the menu of the right button offers another server (`api.choose`).
    package var changesServer = false
    /// Whether the menu of the right button offers other accounts (`accounts`).
    package var hasAccounts = false
    /// For tests: what is printed goes here as PDF files, and nobody is asked.
    package var printFolder: String?
    /// For tests: a camera and a microphone that only seem to be there.
    package var mockDevices = false
    /// Language of the shell's own pages and dialogs.
    package var language: ShellLanguage = .system

    package init(origin: String, startURL: String, proxy: ShellProxy, dataFolder: String, cacheFolder: String) {
        self.origin = origin
        self.startURL = startURL
        self.proxy = proxy
        self.dataFolder = dataFolder
        self.cacheFolder = cacheFolder
    }
}

/// Free space around the page that the system covers, in CSS pixels (SH-5); a desktop window covers none.
package struct ShellInsets: Sendable, Equatable {
    package var top = 0.0, right = 0.0, bottom = 0.0, left = 0.0
    package static let none = ShellInsets()
}

/// What the app half hears from the shell. All calls come on the main actor, in the order in which things happened.
@MainActor
package protocol ShellDelegate: AnyObject, Sendable {
    /// A message of the bridge's script in the top frame of `app.origin`; the result resolves the page's promise, and is
    /// dropped when another page has been loaded meanwhile.
    func bridgeMessage(_ json: String, pageLoad: UInt64) async -> String
    /// A new top-frame document of `app.origin` is there; whatever belonged to an earlier id is dead.
    func pageLoadStarted(_ pageLoad: UInt64)
    /// That document and its resources have loaded.
    func pageReady(_ pageLoad: UInt64)
    /// Deep links, also those that started the process. Called before the page is ready: keep them.
    func openLinks(_ links: [String])
    /// The page wants to go to a place that is not the app's; already checked to be http, https, mailto or tel and
    /// to follow a person's action.
    func openExternally(_ url: String)
    func webProcessCrashed(_ reason: ShellCrash)
    /// The app's own page could not be loaded; the shell shows a page that says so.
    func pageFailed(_ reason: String)
    /// WebKit's network process died and a new one has been set up: WebSockets have closed, a request may have failed.
    func networkProcessLost()
    /// The last moment to write something down. The process ends when this returns, or after five seconds.
    func windowWillClose() async
    func activated()
    func deactivated()
    /// Alt+Left or the mouse's back button (SH-5). True if the page has dealt with it; false lets the shell go back in
    /// history, or, at its beginning and in a phone-sized window, close.
    func backRequested(canGoBack: Bool) async -> Bool
    /// A page wants the file at this http or https address saved; the app fetches it itself, with the session. Nil where
    /// it does not, and WebKit then fetches.
    func download(_ url: String, suggestedName: String?) -> (any ShellDownload)?
    /// A person wants to go to an address that is not the app's: the file that stands there to be saved, if one does.
    func attachment(at url: String) async -> (any ShellDownload)?
    /// What a person hands to somebody who is to help, to be saved as a download is.
    func problemReport() async -> (any ShellDownload)?
    /// A new, private folder for a file that WebKit writes by itself, a `blob:` say.
    func makeDownloadFolder() throws -> String
    /// A person wants another server (`ShellConfiguration.changesServer`).
    func changeServer()
    /// The accounts to offer (`ShellConfiguration.hasAccounts`).
    func accounts() -> ShellAccounts?
    /// A person wants something of the accounts.
    func account(_ wish: ShellAccountWish)
    /// Asked every two seconds while a page with a retry button is shown: true loads the app again.
    func canRetry(_ page: ShellPage) async -> Bool
}

extension ShellDelegate {
    package func changeServer() {}
    package func accounts() -> ShellAccounts? { nil }
    package func account(_ wish: ShellAccountWish) {}
    package func pageFailed(_ reason: String) {}
    package func download(_ url: String, suggestedName: String?) -> (any ShellDownload)? { nil }
    package func attachment(at url: String) async -> (any ShellDownload)? { nil }
    package func problemReport() async -> (any ShellDownload)? { nil }
    package func makeDownloadFolder() throws -> String { throw ShellNoDownloads() }
}

/// The app takes no downloads.
package struct ShellNoDownloads: Error, Sendable, CustomStringConvertible {
    package var description: String { "This app saves no files." }
}

/// A file on its way into the cache folder.
package protocol ShellDownload: Sendable {
    /// The path of the whole file, named as it should be. May be called again after a failure and goes on where it stood;
    /// cancelled by cancelling the task.
    func run(_ progress: @escaping @Sendable (ShellDownloadProgress) async -> Void) async throws -> String
    /// Removes what has arrived.
    func discard() async
}

package struct ShellDownloadProgress: Sendable {
    package let name: String
    package let received: Int
    /// Nil where nobody knows.
    package let size: Int?

    package init(name: String, received: Int, size: Int?) {
        self.name = name
        self.received = received
        self.size = size
    }
}

package enum ShellCrash: String, Sendable {
    case crashed, outOfMemory = "out of memory", terminated
}

/// How `GTKShell.run` tells that the app is to be started again.
package enum ShellRestart {
    /// No exit status of a process.
    package static let code: Int32 = 256
}

/// What the app half may ask of the shell.
@MainActor
package protocol ShellHandle: AnyObject, Sendable {
    /// The id of the document now shown; 0 when there is none of the app's.
    var pageLoad: UInt64 { get }
    var insets: ShellInsets { get }
    /// Runs a script in the top frame and returns its value as JSON text.
    func evaluate(_ script: String, in world: ScriptWorld) async throws -> String
    /// Hands an event to the bridge's script; false, and nothing done, when `pageLoad` is no longer shown.
    @discardableResult func dispatch(event json: String, pageLoad: UInt64) async -> Bool
    /// From the next document on these scripts start it, instead of those before.
    func use(_ scripts: [UserScript])
    func load(_ url: String)
    func reload()
    /// Brings the window to the front.
    func present()
    /// Takes the window out of the way.
    func minimize()
    /// Gives the page this size, less what a keyboard takes at its lower edge; for a device that is played (SH-9).
    func layout(width: Int, height: Int, keyboard: Int)
    /// Closes the window and ends the process, gracefully.
    func close()
    /// Closes the window gracefully and ends the main loop with `ShellRestart.code`: the app starts anew.
    func restart()
    /// Shows a page of the shell's own instead of the app.
    func show(_ page: ShellPage)
    func setTitle(_ title: String)
    /// Takes the page away, with the promise that no script of it runs any more, calls `swap` with the id of the last
    /// page load, removes service workers, the Cache API's content and the HTTP cache, and loads the start page. Cookies,
    /// `localStorage` and IndexedDB stay.
    func replacePage(_ swap: @escaping @Sendable (UInt64) async -> Void) async
    /// Removes cookies, storage and caches of the web view.
    func clearWebsiteData() async
}
