// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreBridge
import NacreCore
import NacreHTTP
import NacreLinks
import NacrePage
import NacrePlugins
import NacrePorts
import NacreSignIn
import NacreTesting
import Synchronization
import Testing

@testable import NacreApp

/// The app half as it is put together for a person, over doubles of the system; talks in messages, as a page does.
final class BridgeHost: Sendable {
    let parts: AppParts
    let network = SwitchedNetwork()
    let folder: String
    private let inbox: Inbox
    private let state = Mutex((lastID: 0, saved: [String: String]()))

    /// What the app has sent to the page.
    final class Inbox: Sendable {
        private let messages = Mutex<[JSONValue]>([])
        func take(_ text: String) { messages.withLock { $0.append((try? JSONParser.parse(text)) ?? .string(text)) } }
        /// Takes the first that fits.
        func pull(_ fits: (JSONValue) -> Bool) -> JSONValue? {
            messages.withLock { messages in
                messages.firstIndex(where: fits).map { messages.remove(at: $0) }
            }
        }
    }

    static let api = "https://api.example.org"
    static let origin = "https://localhost"

    init() async throws {
        folder = NSTemporaryDirectory() + "nacre-kit-" + UUID().uuidString
        let configuration = try AppConfiguration(
            parsing: """
                {"app": {"id": "org.example.kit", "name": "Kit", "version": "1.0.0", "scheme": "kit"},
                 "api": {"origin": "\(Self.api)"}, "updates": {"publicKey": "\(UpdateKeys.archive)"}}
                """, environment: [:], isDevelopment: false)
        let inbox = Inbox()
        self.inbox = inbox
        var platform = AppPlatform(
            secrets: [], browser: NotedBrowser(), transport: KitServer(), device: .double, network: network,
            clipboard: MemoryClipboard(), share: NotedShare(), log: .none)
        platform.updater = { _, _, _, _ in FakeUpdater() }
        try FileManager.default.createDirectory(atPath: folder + "/dist", withIntermediateDirectories: true)
        let window = AppWindow(
            deliver: { text, _ in
                inbox.take(text)
                return true
            }, actions: .double, updates: UpdateWindow(replacePage: { await $0(1) }, reload: {}, restart: {}),
            clearWebData: {})
        parts = try await AppParts.make(
            configuration, AppFolders(id: "org.example.kit", environment: ["HOME": folder]), platform, window,
            folder: folder)
        let channel = try PageChannel(
            configuration: PageChannelConfiguration(page: configuration.origin, api: configuration.api),
            bundle: NoBundle(), authority: parts.session, transport: platform.transport, log: .none)
        parts.api.connect { try await channel.exchange($0) }
        await parts.session.restore()
        await parts.links.start()
        await parts.bridge.pageLoadStarted(1)
        await parts.links.pageStarted()
        await parts.links.pageReady()
        let plugins = parts.plugins
        Task { await plugins.network.follow() }
        try await until { self.network.isWatched }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    // MARK: Rows

    /// Plays one row and says what is wrong with what happened.
    func play(_ row: JSONValue, plugin: String) async throws -> String? {
        if row["only"]?.string == "shell" || row["covered"] != nil { return nil }
        let plugin = row["plugin"]?.string ?? plugin
        if let action = row["host"]?.string { return try await act(action, fill(row["value"] ?? .null)) }
        if let event = row["listen"]?.string {
            _ = await send(plugin, "addListener", ["eventName": .string(event)])
            return nil
        }
        if let event = row["event"]?.string { return try await expect(event, of: plugin, fill(row["data"] ?? .null)) }
        guard let method = row["call"]?.string else { return "a row that says nothing" }
        let (id, answer) = await send(plugin, method, fill(row["options"] ?? [:]))
        if let chunks = row["chunks"]?.array { return try await expect(chunks, of: id) }
        return judge(answer, row)
    }

    private func judge(_ answer: JSONValue?, _ row: JSONValue) -> String? {
        guard let answer else { return "the call was not answered" }
        guard answer["save"] == false, answer["success"]?.bool != nil else { return "not the shape of a result" }
        if answer["success"] == true {
            guard row["reject"] == nil || row["data"] != nil else { return "resolved with \(answer.text)" }
            guard let wanted = row["data"] else {
                return answer["data"] == nil ? nil : "resolved with \(answer.text), wanted nothing"
            }
            if let fault = BridgePattern.fault(answer["data"], fill(wanted)) { return fault }
            for (name, place) in row["save"]?.object ?? [:] {
                let text = answer["data"]?[place.string ?? ""]?.string
                state.withLock { $0.saved[name] = text }
            }
            return nil
        }
        guard let wanted = row["reject"] else { return "rejected: \(answer.text)" }
        guard answer["error"]?["message"]?.string?.isEmpty == false else { return "a rejection without a message" }
        return BridgePattern.fault(answer["error"]?["code"], wanted, "code")
    }

    private func send(_ plugin: String, _ method: String, _ options: JSONValue) async -> (String, JSONValue?) {
        let id = state.withLock { state -> String in
            state.lastID += 1
            return "\(state.lastID)"
        }
        let message: JSONValue = [
            "type": "message", "callbackId": .string(id), "pluginId": .string(plugin), "methodName": .string(method),
            "options": options,
        ]
        let envelope: JSONValue = ["origin": .string(Self.origin), "top": true, "message": message]
        let answer = await parts.bridge.receive(envelope.text, pageLoad: 1)
        return (id, answer.isEmpty ? nil : try? JSONParser.parse(answer))
    }

    private func expect(_ event: String, of plugin: String, _ pattern: JSONValue) async throws -> String? {
        var fault: String?
        try await until {
            let found = self.inbox.pull { message in
                message["pluginId"]?.string == plugin && message["methodName"] == "addListener"
                    && BridgePattern.fault(message["data"], pattern) == nil && message["save"] == true
            }
            if found == nil { try? await Task.sleep(for: .milliseconds(2)) }
            fault = found == nil ? "\(event) did not come" : nil
            return found != nil
        }
        return fault
    }

    private func expect(_ chunks: [JSONValue], of id: String) async throws -> String? {
        for (index, chunk) in chunks.enumerated() {
            var message: JSONValue?
            try await until {
                message = self.inbox.pull { $0["callbackId"]?.string == id }
                if message == nil { try? await Task.sleep(for: .milliseconds(2)) }
                return message != nil
            }
            if let fault = BridgePattern.fault(message?["data"], chunk, "chunk \(index)") { return fault }
            guard message?["save"]?.bool == (index < chunks.count - 1) else {
                return "chunk \(index) has the wrong save"
            }
        }
        return nil
    }

    private func act(_ action: String, _ value: JSONValue) async throws -> String? {
        switch action {
        case "link": await parts.links.receive(value.string ?? "")
        case "back":
            guard await parts.plugins.app.back(canGoBack: false) else { return "the page did not take the back action" }
        case "active", "inactive": await parts.plugins.app.becomes(active: action == "active")
        case "offline": network.become(NetworkStatus(isConnected: false, kind: .none))
        case "online": network.become(NetworkStatus(isConnected: true, kind: .wifi))
        case "keyboard":
            var next = SurfaceState()
            next.keyboard = value.real ?? 0
            await parts.surface.apply(next)
        default: return "there is no host action \(action)"
        }
        return nil
    }

    /// With the names in braces replaced.
    private func fill(_ value: JSONValue) -> JSONValue {
        let saved = state.withLock { $0.saved }
        let names = [
            "API": Self.api, "NETWORK": Self.api, "API-ESCAPED": PercentEncoding.encode(Self.api), "PAGE": Self.origin,
            "SCHEME": "kit",
        ].merging(saved) { _, new in new }
        func filled(_ text: String) -> String {
            names.reduce(text) { $0.replacingOccurrences(of: "{{\($1.key)}}", with: $1.value) }
        }
        switch value {
        case .string(let text): return .string(filled(text))
        case .array(let items): return .array(items.map(fill))
        case .object(let members): return .object(members.mapValues(fill))
        default: return value
        }
    }
}

/// The kit asks for no file.
private struct NoBundle: BundleSource {
    let stamp = "kit"
    func file(at path: String) async throws -> BundleFile? { nil }
}
