// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreBridge
import NacreCore
import Synchronization

/// A plugin whose methods show every way a call can go.
struct EchoPlugin: BridgePlugin {
    let name = "Echo"
    let methods = [
        BridgeMethod("say"), BridgeMethod("fail"), BridgeMethod("hang"), BridgeMethod("count", .callback),
        BridgeMethod("tell", .none),
    ]
    let retainedEvents: Set<String> = ["kept"]

    func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        switch method {
        case "say": return ["value": options["value"] ?? .null]
        case "fail": throw NacreError("echo.refused", "Say something else.")
        case "hang":
            // Deaf to its own cancellation, as a careless plugin would be.
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            return .null
        case "count":
            for number in Int64(1)...3 { await call.send(["value": .integer(number)]) }
            return .null
        default: return .null
        }
    }

    func currentValue(of event: String) async -> JSONValue? { event == "state" ? ["value": "now"] : nil }
}

/// The page's end: keeps what arrives; `open` is the load that still lives.
final class Page: Sendable {
    private struct State {
        var texts: [JSONValue] = []
        var open: UInt64 = 1
    }
    private let state = Mutex(State())

    var received: [JSONValue] { state.withLock { $0.texts } }
    func open(_ load: UInt64) { state.withLock { $0.open = load } }
    func take(_ text: String, _ load: UInt64) -> Bool {
        state.withLock { state in
            guard state.open == load else { return false }
            if let value = try? JSONParser.parse(text) { state.texts.append(value) }
            return true
        }
    }

    /// Waits until `count` texts are here.
    func received(_ count: Int) async -> [JSONValue] {
        let end = ContinuousClock().now + .seconds(60)
        while received.count < count, ContinuousClock().now < end { try? await Task.sleep(for: .milliseconds(1)) }
        return received
    }
}

struct Harness {
    let page = Page()
    let bridge: Bridge

    init(shows: Bridge.Shows? = nil) {
        let page = page
        bridge = Bridge(
            gate: BridgeGate(origin: "https://localhost"), platform: "linux", plugins: [EchoPlugin()], log: .none,
            shows: shows
        ) { page.take($0, $1) }
    }

    func send(
        _ method: String, _ options: JSONValue = [:], id: String = "1", plugin: String = "Echo", load: UInt64 = 1,
        origin: String = "https://localhost", top: Bool = true, document: String = "d1"
    ) async -> JSONValue {
        let message: JSONValue = [
            "type": "message", "callbackId": .string(id), "pluginId": .string(plugin), "methodName": .string(method),
            "options": options,
        ]
        let envelope: JSONValue = [
            "origin": .string(origin), "top": .bool(top), "document": .string(document), "message": message,
        ]
        let answer = await bridge.receive(envelope.text, pageLoad: load)
        return answer.isEmpty ? .null : (try? JSONParser.parse(answer)) ?? .string(answer)
    }
}
