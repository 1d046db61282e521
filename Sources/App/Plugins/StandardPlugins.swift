// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreBridge
package import NacreCore
package import NacreHTTP
package import NacrePorts

/// What the plugins stand on.
package struct PluginParts: Sendable {
    package var app: AppFacts
    package var device: DeviceFacts
    package var window: WindowActions
    package var browser: any SystemBrowser
    package var network: any NetworkMonitor
    package var clipboard: any Clipboard
    package var share: any ShareTarget
    package var files: FileRoots
    package var surface: PageSurface
    package var preferences: PreferencesPlugin
    package var transport: any HTTPTransport
    /// The API's answers with the session, as the page channel has them.
    package var api: any HTTPTransport
    package var cookies: any CookieHolder
    package var address: APIAddress
    package var session: SessionActions
    package var webAuth: WebAuthSessionPlugin
    /// The text of a problem report, redacted.
    package var report: @Sendable () async -> String
    package var time: any TimeSource
    package var random: any RandomSource
    package var events: any BridgeEvents

    package init(
        app: AppFacts, device: DeviceFacts, window: WindowActions, browser: any SystemBrowser,
        network: any NetworkMonitor, clipboard: any Clipboard, share: any ShareTarget, files: FileRoots,
        surface: PageSurface, preferences: PreferencesPlugin, transport: any HTTPTransport,
        api: any HTTPTransport, cookies: any CookieHolder, address: APIAddress, session: SessionActions,
        webAuth: WebAuthSessionPlugin, report: @escaping @Sendable () async -> String, time: any TimeSource,
        random: any RandomSource, events: any BridgeEvents
    ) {
        self.app = app
        self.device = device
        self.window = window
        self.browser = browser
        self.network = network
        self.clipboard = clipboard
        self.share = share
        self.files = files
        self.surface = surface
        self.preferences = preferences
        self.transport = transport
        self.api = api
        self.cookies = cookies
        self.address = address
        self.session = session
        self.webAuth = webAuth
        self.report = report
        self.time = time
        self.random = random
        self.events = events
    }
}

/// The plugins of NB-9, made once for an app.
package struct StandardPlugins: Sendable {
    package let app: AppPlugin
    package let network: NetworkPlugin
    /// In the order of their headers.
    package let all: [any BridgePlugin]

    package init(_ parts: PluginParts) {
        let jar = PageCookieJar(api: parts.address.api, session: parts.cookies, time: parts.time)
        app = AppPlugin(facts: parts.app, window: parts.window, events: parts.events)
        network = NetworkPlugin(monitor: parts.network, events: parts.events)
        all = [
            app, BrowserPlugin(browser: parts.browser, window: parts.window), parts.webAuth, parts.preferences,
            DevicePlugin(facts: parts.device, preferences: parts.preferences, random: parts.random),
            NacrePlugin(session: parts.session, surface: parts.surface, report: parts.report),
            HTTPPlugin(
                transport: parts.transport, api: parts.api, cookies: jar, address: parts.address,
                time: parts.time, random: parts.random),
            CookiesPlugin(cookies: jar, address: parts.address), network,
            FilesystemPlugin(roots: parts.files, random: parts.random),
            SharePlugin(target: parts.share, roots: parts.files, page: parts.address.page),
            ClipboardPlugin(clipboard: parts.clipboard), PushNotificationsPlugin(events: parts.events),
            StatusBarPlugin(surface: parts.surface, events: parts.events), SystemBarsPlugin(),
            KeyboardPlugin(surface: parts.surface), HapticsPlugin(),
        ]
    }
}
