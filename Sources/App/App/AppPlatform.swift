// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreBridge
package import NacreCore
package import NacreHTTP
package import NacrePage
package import NacrePlugins
package import NacrePorts

/// What the system under the app brings.
package struct AppPlatform: Sendable {
    /// Keyrings in the order in which they are tried, without memory.
    package var secrets: [any SecretStore]
    package var browser: any SystemBrowser
    package var transport: any HTTPTransport
    package var device: DeviceFacts
    package var network: any NetworkMonitor
    package var clipboard: any Clipboard
    package var share: any ShareTarget
    /// A device played by a script; development only.
    package var profile: DeviceProfile?
    /// How the page's requests come to the app.
    package var pageChannel: PageChannelKind
    /// The system's proxy settings.
    package var proxy: ProxyResolver
    /// Whom the page's sockets believe; the system's authorities where it is nil.
    package var trust: TLSTrust?
    /// Names for which `nacre.can(name)` is true, beside the app half's own.
    package var capabilities: [String]
    package var time: any TimeSource
    package var random: any RandomSource
    /// Starts the updater of an app that has one (UP-13); nil where the system has another way to its updates.
    package var updater: UpdaterStart?
    package var log: Log
    /// What the log has said last, for a problem report.
    package var tail: LogTail?

    package init(
        secrets: [any SecretStore], browser: any SystemBrowser, transport: any HTTPTransport, device: DeviceFacts,
        network: any NetworkMonitor, clipboard: any Clipboard, share: any ShareTarget, profile: DeviceProfile? = nil,
        pageChannel: PageChannelKind = .proxy,
        proxy: @escaping ProxyResolver = { _ in .direct }, capabilities: [String] = [], updater: UpdaterStart? = nil,
        time: any TimeSource = SystemTime(), random: any RandomSource = SystemRandom(), log: Log
    ) {
        self.secrets = secrets
        self.browser = browser
        self.transport = transport
        self.device = device
        self.network = network
        self.clipboard = clipboard
        self.share = share
        self.profile = profile
        self.pageChannel = pageChannel
        self.proxy = proxy
        self.capabilities = capabilities
        self.updater = updater
        self.time = time
        self.random = random
        self.log = log
    }
}

/// The two implementations of the page channel (design section 4).
package enum PageChannelKind: String, Sendable, CaseIterable {
    /// The web view's own network, pointed at an endpoint of ours.
    case proxy
    /// A script in the page that hands its requests over, where a web view takes no proxy.
    case patched
}

/// What the app half asks of the window.
package struct AppWindow: Sendable {
    /// Hands an event to the page of that load; false when it is gone.
    package let deliver: @Sendable (_ text: String, _ pageLoad: UInt64) async -> Bool
    /// Whether the app's own window shows the document whose isolated world has given itself this name
    /// (`NacreApplication.documentIdentity`); nil where no other window can speak to the bridge.
    package let shows: Bridge.Shows?
    package let actions: WindowActions
    package let box: any PageBox
    /// Clears what the page has stored: databases, local storage, caches, service workers.
    package let clearWebData: @Sendable () async -> Void
    /// What updates ask of it; without it there are none.
    package let updates: UpdateWindow?

    package init(
        deliver: @escaping @Sendable (_ text: String, _ pageLoad: UInt64) async -> Bool, shows: Bridge.Shows? = nil,
        actions: WindowActions, box: any PageBox = FixedPageBox(), updates: UpdateWindow? = nil,
        clearWebData: @escaping @Sendable () async -> Void
    ) {
        self.deliver = deliver
        self.shows = shows
        self.actions = actions
        self.box = box
        self.clearWebData = clearWebData
        self.updates = updates
    }
}
