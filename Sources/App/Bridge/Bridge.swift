// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// Takes the page's calls to the plugins and the plugins' events to the page.
///
/// Calls and listeners belong to one page load: a new one drops them all. Every call settles: by its result, by a
/// rejection, or by the end of its page.
package actor Bridge: BridgeEvents {
    /// Hands one text to the page of that load; false when that page has gone.
    package typealias Deliver = @Sendable (_ text: String, _ pageLoad: UInt64) async -> Bool

    /// Whether the app's own window shows this document, named by its isolated world, at this load.
    package typealias Shows = @Sendable (_ document: String, _ pageLoad: UInt64) async -> Bool

    private struct Listener {
        let call: BridgeCall
        let event: String
    }

    private struct Outgoing {
        let text: String
        let pageLoad: UInt64
        /// Kept for the next page when this one turns out to have gone.
        let retained: (plugin: String, event: String, data: JSONValue)?
    }

    private let gate: BridgeGate
    private let platform: String
    private let plugins: [String: any BridgePlugin]
    private let log: Log
    private let deliver: Deliver
    private let shows: Shows?
    private var pageLoad: UInt64 = 0
    /// The document of this load that has been recognised.
    private var document: String?
    private var listeners: [Listener] = []
    private var retained: [String: [JSONValue]] = [:]
    private var running = PendingCalls()
    private var outbox: [Outgoing] = []
    private var draining = false

    /// - Parameter shows: nil where the host knows from which window a message comes, and hands on its own page's only.
    package init(
        gate: BridgeGate, platform: String, plugins: [any BridgePlugin], log: Log, shows: Shows? = nil,
        deliver: @escaping Deliver
    ) {
        self.gate = gate
        self.platform = platform
        self.plugins = Dictionary(plugins.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        self.log = log
        self.shows = shows
        self.deliver = deliver
    }

    /// A new document is there: what an older one has asked for is dropped.
    package func pageLoadStarted(_ id: UInt64) {
        guard id > pageLoad else { return }
        pageLoad = id
        document = nil
        listeners = []
        running.cancelAll()
    }

    /// One message of the page; the answer is the call's result, or empty when there is none to give (now).
    package func receive(_ text: String, pageLoad load: UInt64) async -> String {
        let envelope: BridgeEnvelope
        do throws(NacreError) {
            envelope = try BridgeEnvelope(parsing: text)
        } catch {
            log.warning("bridge.malformed", ["code": .string(error.code.rawValue)])
            return BridgeRejection(error).refusal
        }
        guard case .call(let call) = envelope.message else {
            if case .pageError(let message) = envelope.message {
                log.warning("page.error", ["message": .string(String(message.prefix(300)))])
            }
            return ""
        }
        guard gate.admits(envelope.source) else {
            log.warning("bridge.refused", ["origin": .string(envelope.source.origin)])
            return rejected(call, BridgeRejection(code: "UNAVAILABLE", message: "Only the app's own page may call."))
        }
        // A call may arrive before the shell has told of its page; an older page's calls are over.
        if load > pageLoad { pageLoadStarted(load) }
        guard load == pageLoad else {  // guard: bridge-stale-load
            return rejected(call, BridgeRejection(code: "CANCELLED", message: "The page has been left."))
        }
        if let shows, document != envelope.source.document {
            guard await shows(envelope.source.document, load) else {  // guard: bridge-other-window
                log.warning("bridge.refused", ["window": "another"])
                return rejected(
                    call, BridgeRejection(code: "UNAVAILABLE", message: "Only the app's own page may call."))
            }
            guard load == pageLoad else {
                return rejected(call, BridgeRejection(code: "CANCELLED", message: "The page has been left."))
            }
            document = envelope.source.document
        }
        guard let plugin = plugins[call.pluginID] else {
            return rejected(call, .unimplemented(call, platform: platform))
        }
        switch call.methodName {
        case "addListener": return await addListener(call, plugin)
        case "removeListener":
            removeListener(call)
            return ""
        case "removeAllListeners":
            listeners.removeAll { $0.call.pluginID == call.pluginID }
            return BridgeResult(call, outcome: .success(.null)).text
        case "checkPermissions", "requestPermissions":
            // Nothing here asks by itself; a plugin that does declares the method.
            guard plugin.methods.contains(where: { $0.name == call.methodName }) else {
                return BridgeResult(call, outcome: .success([:])).text
            }
        default: break
        }
        guard let method = plugin.methods.first(where: { $0.name == call.methodName }) else {
            return rejected(call, .unimplemented(call, platform: platform))
        }
        return await run(call, method, plugin)
    }

    /// Sends an event to every listener; without one, a retained event waits for the first.
    package func emit(_ plugin: String, _ event: String, _ data: JSONValue) {
        let retains = plugins[plugin]?.retainedEvents.contains(event) ?? false
        let found = listeners.filter { $0.call.pluginID == plugin && $0.event == event }
        guard !found.isEmpty else {
            if retains { retained[key(plugin, event), default: []].append(data) }
            return
        }
        for (index, listener) in found.enumerated() {
            push(listener.call, data, retained: retains && index == 0 ? (plugin, event, data) : nil)
        }
    }

    package func takeRetained(_ plugin: String, _ event: String) -> JSONValue? {
        guard let first = retained[key(plugin, event)]?.first else { return nil }
        retained[key(plugin, event)]?.removeFirst()
        return first
    }

    package func hasListener(_ plugin: String, _ event: String) -> Bool {
        listeners.contains { $0.call.pluginID == plugin && $0.event == event }
    }

    private func rejected(_ call: BridgeCall, _ rejection: BridgeRejection) -> String {
        BridgeResult(call, outcome: .failure(rejection)).text
    }

    private func key(_ plugin: String, _ event: String) -> String { "\(plugin).\(event)" }
}

extension Bridge {
    private func addListener(_ call: BridgeCall, _ plugin: any BridgePlugin) async -> String {
        guard let event = call.options["eventName"]?.string else {
            return rejected(call, BridgeRejection(code: "bridge.malformed", message: "addListener needs an eventName."))
        }
        listeners.append(Listener(call: call, event: event))
        for data in retained.removeValue(forKey: key(plugin.name, event)) ?? [] {
            push(call, data, retained: (plugin.name, event, data))
        }
        let load = pageLoad
        if let value = await plugin.currentValue(of: event), load == pageLoad,
            listeners.contains(where: { $0.call.callbackID == call.callbackID })
        {
            push(call, value, retained: nil)
        }
        return ""
    }

    private func removeListener(_ call: BridgeCall) {
        guard let id = call.options["callbackId"]?.string else { return }
        listeners.removeAll { $0.call.pluginID == call.pluginID && $0.call.callbackID == id }
    }

    private func run(_ call: BridgeCall, _ method: BridgeMethod, _ plugin: any BridgePlugin) async -> String {
        let load = pageLoad
        let context = BridgeCallContext(pageLoad: load) { [weak self] value in
            await self?.sendMore(call, value, load: load)
        }
        let outcome = await withCheckedContinuation { continuation in
            let id = running.add(continuation)
            let task = Task {
                let result: Result<JSONValue, BridgeRejection>
                do {
                    result = .success(try await plugin.call(method.name, options: call.options, call: context))
                } catch {
                    result = .failure(BridgeRejection(error))
                }
                settle(id, result)
            }
            running.attach(task, to: id)
        }
        switch method.returns {
        case .promise: return BridgeResult(call, outcome: outcome).text
        case .callback:
            // The last result of a callback method ends it; values sent before it go through the outbox in order.
            guard load == pageLoad else { return "" }
            outbox.append(Outgoing(text: BridgeResult(call, outcome: outcome).text, pageLoad: load, retained: nil))
            drain()
            return ""
        case .none:
            if case .failure(let rejection) = outcome {
                log.warning("bridge.failed", ["code": .string(rejection.code)])
            }
            return ""
        }
    }

    private func settle(_ id: UInt64, _ result: Result<JSONValue, BridgeRejection>) { running.finish(id, result) }

    private func sendMore(_ call: BridgeCall, _ value: JSONValue, load: UInt64) {
        guard load == pageLoad else { return }
        push(call, value, retained: nil)
    }

    private func push(
        _ call: BridgeCall, _ data: JSONValue, retained: (plugin: String, event: String, data: JSONValue)?
    ) {
        let text = BridgeResult(call, save: true, outcome: .success(data)).text
        outbox.append(Outgoing(text: text, pageLoad: pageLoad, retained: retained))
        drain()
    }

    /// One delivery at a time, so that the page sees events in the order in which they happened.
    private func drain() {
        guard !draining else { return }
        draining = true
        Task {
            while !outbox.isEmpty {
                let next = outbox.removeFirst()
                let arrived = next.pageLoad == pageLoad ? await deliver(next.text, next.pageLoad) : false
                if !arrived, let (plugin, event, data) = next.retained {
                    retained[key(plugin, event), default: []].append(data)
                }
            }
            draining = false
        }
    }
}
