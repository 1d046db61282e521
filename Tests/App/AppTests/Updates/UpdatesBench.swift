// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreBridge
import NacreCore
import NacreHTTP
import NacrePage
import NacrePlugins
import NacrePorts
import NacreTesting
import NacreUpdates
import Synchronization
import Testing

@testable import NacreApp

/// `AppUpdates` between a double of the updater and a window that only notes what it is asked.
final class UpdatesBench: BridgeEvents {
    let updater: FakeUpdater
    let updates: AppUpdates
    let folder: String
    private let state = Mutex((events: [(String, JSONValue)](), window: [String](), lastLoad: UInt64(0)))

    init(running: BootedBundle? = nil) async throws {
        folder = NSTemporaryDirectory() + "nacre-updates-" + UUID().uuidString
        for (name, text) in [("dist", "built in"), ("one", "first update"), ("two", "second update")] {
            try FileManager.default.createDirectory(
                atPath: folder + "/" + name, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/" + name + "/index.html"))
        }
        updater = running.map { FakeUpdater($0) } ?? FakeUpdater()
        let relay = BridgeEventsRelay()
        let hooks = Hooks()
        let configuration = try AppConfiguration(
            parsing: """
                {"app": {"id": "org.example.a", "name": "A", "version": "1.0.0"}, "bundle": {"path": "dist"},
                 "api": {"origin": "https://a.example"}, "updates": {"publicKey": "\(UpdateKeys.archive)"}}
                """, environment: [:], isDevelopment: false)
        var platform = AppPlatform.double
        let fake = updater
        platform.updater = { _, _, _, _ in fake }
        let window = AppWindow.double(
            updates: UpdateWindow(
                replacePage: { swap in await hooks.bench?.replacePage(swap) },
                reload: { hooks.bench?.note("reload") }, restart: { hooks.bench?.note("restart") }))
        updates = try #require(
            try await AppUpdates.make(
                configuration, folder, AppFolders(id: "org.example.a", environment: ["HOME": folder]), platform,
                window, AttemptHolds(time: ManualTime()), relay))
        relay.connect(self)
        hooks.connect(self)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// What the page's origin serves now.
    func served() async throws -> String? {
        guard let file = try await updates.bundle.file(at: "/index.html") else { return nil }
        let bytes = try await HTTPBody.stream(file.read(0..<file.size), length: file.size).collect(upTo: 1 << 16)
        return String(decoding: bytes, as: UTF8.self)
    }

    func update(_ name: String, _ version: String = "2.0.0", trial: Bool = true) -> BootedBundle {
        BootedBundle(folder: folder + "/" + name, version: version, stamp: "s" + version, isOnTrial: trial)
    }

    /// A call of the page of this load.
    func call(
        _ plugin: String, _ method: String, _ options: JSONValue = [:], load: UInt64 = 1
    ) async throws -> JSONValue {
        let found = try #require(updates.plugins(native: "1.0.0").first { $0.name == plugin })
        return try await found.call(
            method, options: options, call: BridgeCallContext(pageLoad: load, send: { _ in }))
    }

    /// The code with which a call is refused.
    func refusal(_ plugin: String, _ method: String, _ options: JSONValue = [:]) async -> String? {
        do {
            _ = try await call(plugin, method, options)
            return nil
        } catch { return BridgeRejection(error).code }
    }

    var events: [String] { state.withLock { $0.events.map(\.0) } }
    func data(of event: String) -> JSONValue? { state.withLock { $0.events.last { $0.0 == event }?.1 } }
    var window: [String] { state.withLock { $0.window } }
    func lastLoad(_ load: UInt64) { state.withLock { $0.lastLoad = load } }

    private func note(_ text: String) { state.withLock { $0.window.append(text) } }

    private func replacePage(_ swap: @Sendable (UInt64) async -> Void) async {
        note("leave")
        await swap(state.withLock { $0.lastLoad })
        note("load")
    }

    func emit(_ plugin: String, _ event: String, _ data: JSONValue) async {
        state.withLock { $0.events.append((plugin + "." + event, data)) }
    }
    func takeRetained(_ plugin: String, _ event: String) async -> JSONValue? { nil }
    func hasListener(_ plugin: String, _ event: String) async -> Bool { false }

    /// The window's closures are made before the bench that answers them.
    private final class Hooks: Sendable {
        private struct Weak { weak var bench: UpdatesBench? }
        private let held = Mutex(Weak())
        var bench: UpdatesBench? { held.withLock { $0.bench } }
        func connect(_ bench: UpdatesBench) { held.withLock { $0.bench = bench } }
    }
}

extension AppPlatform {
    /// Doubles of everything, and a network that nobody reaches.
    static var double: AppPlatform {
        AppPlatform(
            secrets: [], browser: NotedBrowser(), transport: KitServer(),
            device: DeviceFacts.double, network: SwitchedNetwork(), clipboard: MemoryClipboard(), share: NotedShare(),
            log: .none)
    }
}

extension AppWindow {
    static func double(updates: UpdateWindow?) -> AppWindow {
        AppWindow(
            deliver: { _, _ in true }, actions: .double, updates: updates, clearWebData: {})
    }
}

/// Answers every request alike.
final class FixedServer: HTTPTransport {
    private let status: Int
    private let body: String
    private let seen = Mutex<[HTTPRequest]>([])

    init(status: Int, body: String) {
        self.status = status
        self.body = body
    }

    var requests: [HTTPRequest] { seen.withLock { $0 } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        seen.withLock { $0.append(request) }
        return HTTPResponse(status: HTTPStatus(rawValue: status), body: .text(body))
    }
}

struct NoEvents: BridgeEvents {
    func emit(_ plugin: String, _ event: String, _ data: JSONValue) async {}
    func takeRetained(_ plugin: String, _ event: String) async -> JSONValue? { nil }
    func hasListener(_ plugin: String, _ event: String) async -> Bool { false }
}

extension DeviceFacts {
    static var double: DeviceFacts {
        DeviceFacts(
            platform: "linux", name: "host", manufacturer: "unknown", model: "unknown", systemName: "Debian",
            systemVersion: "12", isVirtual: false, language: "fr-FR", webViewVersion: "2.50.6")
    }
}

extension WindowActions {
    static var double: WindowActions { WindowActions(close: {}, present: {}, minimize: {}) }
}
