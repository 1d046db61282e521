// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreBridge
import NacreCore
import NacrePlugins
import NacrePorts
import NacreSQLite
import NacreTesting
import Synchronization
import Testing

/// Notes what plugins ask of browser and window.
private final class Desk: SystemBrowser {
    private let notes = Mutex<[String]>([])
    var seen: [String] { notes.withLock { $0 } }
    func note(_ text: String) { notes.withLock { $0.append(text) } }
    func open(_ url: String) async throws(NacreError) { note("open \(url)") }
    var window: WindowActions {
        WindowActions(
            close: { self.note("close") }, present: { self.note("present") }, minimize: { self.note("minimize") })
    }
}

private func context() -> BridgeCallContext { BridgeCallContext(pageLoad: 1) { _ in } }

extension BridgePlugin {
    fileprivate func call(_ method: String, _ options: JSONValue = [:]) async throws -> JSONValue {
        try await call(method, options: options, call: context())
    }
    fileprivate func rejection(_ method: String, _ options: JSONValue = [:]) async -> String? {
        do {
            _ = try await call(method, options)
            return nil
        } catch { return BridgeRejection(error).code }
    }
}

@Suite final class AppPluginTests: Sendable {
    private let desk = Desk()
    private let relay = BridgeEventsRelay()
    private let texts = Mutex<[JSONValue]>([])

    private func plugin() -> (AppPlugin, Bridge) {
        let plugin = AppPlugin(
            facts: AppFacts(id: "org.example.app", name: "App", version: "1.2.0", build: "42", language: "fr-FR"),
            window: desk.window, events: relay)
        let bridge = Bridge(
            gate: BridgeGate(origin: "https://localhost"), platform: "linux", plugins: [plugin], log: .none
        ) { text, _ in
            self.texts.withLock { $0.append((try? JSONParser.parse(text)) ?? .null) }
            return true
        }
        relay.connect(bridge)
        return (plugin, bridge)
    }

    private func listen(_ bridge: Bridge, _ event: String, id: String) async {
        let text = """
            {"origin":"https://localhost","top":true,"message":{"callbackId":"\(id)","pluginId":"App",\
            "methodName":"addListener","options":{"eventName":"\(event)"}}}
            """
        _ = await bridge.receive(text, pageLoad: 1)
        try? await Task.sleep(for: .milliseconds(20))
    }

    private var received: [JSONValue] { texts.withLock { $0 } }

    @Test("NB-9: getInfo answers strings, the build too")
    func info() async throws {
        let (app, _) = plugin()
        #expect(
            try await app.call("getInfo")
                == ["id": "org.example.app", "name": "App", "version": "1.2.0", "build": "42"])
        #expect(try await app.call("getAppLanguage") == ["value": "fr-FR"])
        #expect(try await app.call("getState") == ["isActive": true])
    }

    @Test("HO-9: a launch link is had once, by getLaunchUrl or by the event, never by both")
    func launchLink() async throws {
        let (app, bridge) = plugin()
        await app.open("stmessages://thread/5")
        #expect(try await app.call("getLaunchUrl") == ["url": "stmessages://thread/5"])
        #expect(try await app.call("getLaunchUrl") == [:])
        await listen(bridge, "appUrlOpen", id: "1")
        #expect(received.isEmpty)
        await app.open("stmessages://thread/6")
        await listen(bridge, "nothing", id: "2")
        try await until { self.received.count >= 1 }
        #expect(received.compactMap { $0["data"]?["url"] } == ["stmessages://thread/6"])
        #expect(try await app.call("getLaunchUrl") == [:])
    }

    @Test("A link before the first listener is retained")
    func retained() async throws {
        let (app, bridge) = plugin()
        await app.open("stmessages://thread/5")
        await listen(bridge, "appUrlOpen", id: "1")
        try await until { self.received.count >= 1 }
        #expect(received.compactMap { $0["data"]?["url"] } == ["stmessages://thread/5"])
    }

    @Test("appStateChange is told once per change, and not retained")
    func activity() async throws {
        let (app, bridge) = plugin()
        await app.becomes(active: false)
        await listen(bridge, "appStateChange", id: "1")
        await app.becomes(active: true)
        await app.becomes(active: true)
        try await until { self.received.count >= 1 }
        // A second one would come now.
        try await Task.sleep(for: .milliseconds(20))
        #expect(received.compactMap { $0["data"]?["isActive"] } == [true])
    }

    @Test("SH-5: back goes to the page while it listens, and not when it has switched its handler off")
    func back() async throws {
        let (app, bridge) = plugin()
        #expect(await app.back(canGoBack: true) == false)
        await listen(bridge, "backButton", id: "1")
        #expect(await app.back(canGoBack: true))
        try await until { self.received.count >= 1 }
        #expect(received.last?["data"] == ["canGoBack": true])
        _ = try await app.call("toggleBackButtonHandler", ["enabled": false])
        #expect(await app.back(canGoBack: true) == false)
        #expect(await app.rejection("toggleBackButtonHandler") == "INVALID")
    }

    @Test("exitApp closes the window, minimizeApp takes it out of the way")
    func exit() async throws {
        let (app, _) = plugin()
        _ = try await app.call("exitApp")
        _ = try await app.call("minimizeApp")
        #expect(desk.seen == ["close", "minimize"])
    }
}

@Suite struct BrowserPluginTests {
    private let desk = Desk()

    @Test("Browser.open opens the person's own browser, with the fragment")
    func open() async throws {
        let browser = BrowserPlugin(browser: desk, window: desk.window)
        _ = try await browser.call("open", ["url": "https://example.org/a?b=c#d"])
        #expect(desk.seen == ["open https://example.org/a?b=c#d"])
    }

    @Test(
        "Browser.open takes web addresses only",
        arguments: ["file:///etc/passwd", "javascript:1", "stmessages://x", "", "https://a b"])
    func refused(url: String) async {
        let browser = BrowserPlugin(browser: desk, window: desk.window)
        #expect(await browser.rejection("open", ["url": .string(url)]) == "INVALID")
        #expect(await browser.rejection("open") == "INVALID")
        #expect(desk.seen.isEmpty)
    }

    @Test("OA-6: close brings the window to the front, for the browser's tab cannot be closed")
    func close() async throws {
        _ = try await BrowserPlugin(browser: desk, window: desk.window).call("close")
        #expect(desk.seen == ["present"])
    }

    private func session(link: String?) -> WebAuthSessionPlugin {
        WebAuthSessionPlugin(
            scheme: "stmessages", window: desk.window,
            run: { url in
                self.desk.note("run \(url)")
                return link
            }, signIn: { ["outcome": "signedIn"] }, cancel: { self.desk.note("cancel") })
    }

    @Test("WebAuthSession.start answers the link that came back, and rejects a cancel")
    func webAuth() async throws {
        let url: JSONValue = ["url": "https://mail.example.org/api/v1.0/authenticate/", "callbackScheme": "stmessages"]
        #expect(
            try await session(link: "stmessages://auth?token=t").call("start", url)
                == ["url": "stmessages://auth?token=t"])
        #expect(desk.seen.last == "present")
        #expect(await session(link: nil).rejection("start", url) == "CANCELLED")
        #expect(
            await session(link: "x").rejection("start", ["url": "https://x.example/", "callbackScheme": "other"])
                == "INVALID")
        #expect(try await session(link: nil).call("start") == ["outcome": "signedIn"])
    }
}

@Suite struct PreferencesPluginTests {
    private func plugin(_ store: SQLiteStore) async throws -> PreferencesPlugin {
        try await PreferencesPlugin(store, now: SystemTime().now)
    }

    @Test("SE-6: what was set is there after a restart; groups are apart")
    func persists() async throws {
        let store = try SQLiteStore(path: ":memory:")
        let first = try await plugin(store)
        #expect(try await first.call("set", ["key": "a", "value": "1"]) == .null)
        _ = try await first.call("set", ["key": "b", "value": "2"])
        _ = try await first.call("configure", ["group": "other"])
        #expect(try await first.call("get", ["key": "a"]) == ["value": .null])
        _ = try await first.call("set", ["key": "a", "value": "3"])
        let second = try await plugin(store)
        #expect(try await second.call("get", ["key": "a"]) == ["value": "1"])
        #expect(try await second.call("keys") == ["keys": ["a", "b"]])
        _ = try await second.call("remove", ["key": "a"])
        #expect(try await second.call("keys") == ["keys": ["b"]])
        _ = try await second.call("clear")
        #expect(try await second.call("keys") == ["keys": []])
        _ = try await second.call("configure", ["group": "other"])
        #expect(try await second.call("get", ["key": "a"]) == ["value": "3"])
        #expect(try await second.call("migrate") == ["migrated": [], "existing": []])
        #expect(try await second.call("removeOld") == .null)
    }

    @Test("A missing key rejects, and a value beyond 1 MB too")
    func refused() async throws {
        let preferences = try await plugin(SQLiteStore(path: ":memory:"))
        #expect(await preferences.rejection("get") == "INVALID")
        let large = JSONValue.string(String(repeating: "x", count: 1 << 20))
        #expect(await preferences.rejection("set", ["key": "a", "value": large]) == "TOO_LARGE")
        #expect(try await preferences.call("get", ["key": "a"]) == ["value": .null])
    }

    @Test("Device: the id is random and stays; what is not known is said not to be")
    func device() async throws {
        let preferences = try await plugin(SQLiteStore(path: ":memory:"))
        func device(_ battery: (level: Double, isCharging: Bool)?) -> DevicePlugin {
            DevicePlugin(
                facts: DeviceFacts(
                    platform: "linux", name: "host", manufacturer: "unknown", model: "unknown", systemName: "Debian",
                    systemVersion: "12", isVirtual: false, language: "fr-FR", battery: { battery }),
                preferences: preferences, random: SystemRandom())
        }
        let id = try await device(nil).call("getId")["identifier"]?.string
        #expect(id?.count == 32)
        #expect(try await device(nil).call("getId")["identifier"]?.string == id)
        #expect(await device(nil).rejection("getBatteryInfo") == "UNAVAILABLE")
        #expect(
            try await device((0.5, true)).call("getBatteryInfo") == ["batteryLevel": .number(0.5), "isCharging": true])
        #expect(try await device(nil).call("getLanguageCode") == ["value": "fr"])
        #expect(try await device(nil).call("getLanguageTag") == ["value": "fr-FR"])
        let info = try await device(nil).call("getInfo")
        #expect(info["platform"] == "linux" && info["osVersion"] == "12" && info["webViewVersion"] == nil)
    }
}
