// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreBridge
import NacreCore
import Synchronization
import Testing

@Suite struct BridgeCallTests {
    @Test("NB-9: a call is answered under its own callback id, in Capacitor's shape")
    func answered() async {
        let result = await Harness().send("say", ["value": 7], id: "41")
        #expect(
            result == [
                "callbackId": "41", "pluginId": "Echo", "methodName": "say", "save": false, "success": true,
                "data": ["value": 7],
            ])
    }

    @Test("NB-9: what a plugin throws rejects with its code and message")
    func thrown() async {
        let result = await Harness().send("fail")
        #expect(result["success"] == false)
        #expect(result["error"]?["code"] == "echo.refused")
        #expect(result["error"]?["message"] == "Say something else.")
    }

    @Test("NB-9: an unknown plugin or method rejects UNIMPLEMENTED", arguments: [("Echo", "sing"), ("Radio", "say")])
    func unimplemented(plugin: String, method: String) async {
        let result = await Harness().send(method, plugin: plugin)
        #expect(result["success"] == false)
        #expect(result["error"]?["code"] == "UNIMPLEMENTED")
        #expect(result["error"]?["message"]?.string == "\"\(plugin).\(method)()\" is not implemented on linux")
    }

    @Test("A plugin that never answers is given up when its page goes", .timeLimit(.minutes(1)))
    func abandoned() async {
        let harness = Harness()
        async let answer = harness.send("hang")
        try? await Task.sleep(for: .milliseconds(20))
        await harness.bridge.pageLoadStarted(2)
        #expect(await answer["error"]?["code"] == "CANCELLED")
    }

    @Test("A call of a page that has been left is refused")
    func stale() async {
        let harness = Harness()
        await harness.bridge.pageLoadStarted(2)
        #expect(await harness.send("say", load: 1)["error"]?["code"] == "CANCELLED")
        #expect(await harness.send("say", load: 2)["success"] == true)
    }

    @Test("A callback method sends its values in order, and its end last")
    func callback() async {
        let harness = Harness()
        #expect(await harness.send("count", id: "9") == .null)
        let texts = await harness.page.received(4)
        #expect(texts.compactMap { $0["data"]?["value"]?.integer } == [1, 2, 3])
        #expect(texts.map { $0["save"] } == [true, true, true, false])
    }

    @Test("A method that returns nothing has no result")
    func nothing() async { #expect(await Harness().send("tell", id: "-1") == .null) }

    @Test(
        "A malformed message is refused, so that its call settles where it was made",
        arguments: ["", "{}", "[1]", #"{"origin":"https://localhost","top":true,"message":{"callbackId":1}}"#])
    func malformed(text: String) async throws {
        let answer = try JSONParser.parse(await Harness().bridge.receive(text, pageLoad: 1))
        #expect(answer["refused"]?["code"]?.string?.isEmpty == false)
        #expect(answer["refused"]?["message"]?.string?.isEmpty == false)
    }

    @Test("A message beyond the limit is refused by the name of that")
    func refusedAsTooLarge() async throws {
        let text = String(repeating: " ", count: 16 * 1024 * 1024 + 1)
        let answer = try JSONParser.parse(await Harness().bridge.receive(text, pageLoad: 1))
        #expect(answer["refused"]?["code"] == "bridge.too_large")
    }

    @Test("A message beyond 16 MB is refused before it is read")
    func tooLarge() {
        let text = String(repeating: " ", count: 16 * 1024 * 1024 + 1)
        #expect(throws: NacreError.self) { try BridgeEnvelope(parsing: text) }
        do throws(NacreError) {
            _ = try BridgeEnvelope(parsing: text)
        } catch {
            #expect(error.code == "bridge.too_large")
        }
    }
}

@Suite struct BridgeGateTests {
    static let rows: [(origin: String, top: Bool, admitted: Bool)] = [
        ("https://localhost", true, true),
        ("https://localhost", false, false),  // a same-origin frame
        ("null", false, false),  // a sandboxed srcdoc frame: the body of a mail
        ("null", true, false),
        ("https://localhost:8443", true, false),
        ("http://localhost", true, false),
        ("https://localhost.evil.example", true, false),
        ("https://evil.example", true, false),
        ("https://evil.example", false, false),
        ("", true, false),
        ("HTTPS://LOCALHOST", true, false),
    ]

    @Test("NB-10: native powers go to the top frame of app.origin and nobody else", arguments: rows)
    func row(origin: String, top: Bool, admitted: Bool) async {
        let result = await Harness().send("say", origin: origin, top: top)
        #expect((result["success"] == true) == admitted)
    }
}

@Suite("NB-10: windows that the page has opened") struct BridgeWindowTests {
    /// A window that shows one document, and counts how often it was asked.
    final class Window: Sendable {
        private let state = Mutex((document: "d1", asked: 0))
        var asked: Int { state.withLock { $0.asked } }
        func show(_ document: String) { state.withLock { $0.document = document } }
        func shows(_ document: String) -> Bool {
            state.withLock { state in
                state.asked += 1
                return state.document == document
            }
        }
    }

    @Test("The document of the app's own window may call, another window's may not, whatever origin it has")
    func otherWindow() async {
        let window = Window()
        let harness = Harness { document, _ in window.shows(document) }
        #expect(await harness.send("say")["success"] == true)
        let refused = await harness.send("say", document: "d2")
        #expect(refused["success"] == false && refused["error"]?["code"] == "UNAVAILABLE")
        #expect(await harness.send("say", document: "")["success"] == false)
        #expect(await harness.send("say")["success"] == true)
    }

    @Test("A recognised document is not asked for again, and the next load brings its own")
    func onceALoad() async {
        let window = Window()
        let harness = Harness { document, _ in window.shows(document) }
        for _ in 0..<3 { _ = await harness.send("say") }
        #expect(window.asked == 1)
        window.show("d9")
        #expect(await harness.send("say", load: 2)["success"] == false)
        #expect(await harness.send("say", load: 2, document: "d9")["success"] == true)
    }

    @Test("A call whose page goes while its window is asked ends as cancelled")
    func leftMeanwhile() async {
        let bridge = Mutex<Bridge?>(nil)
        let harness = Harness { _, _ in
            await bridge.withLock { $0 }?.pageLoadStarted(2)
            return true
        }
        bridge.withLock { $0 = harness.bridge }
        #expect(await harness.send("say")["error"]?["code"] == "CANCELLED")
    }
}

@Suite struct BridgeListenerTests {
    @Test("A listener gets each event until it is removed, and nothing after")
    func removed() async {
        let harness = Harness()
        #expect(await harness.send("addListener", ["eventName": "tick"], id: "5") == .null)
        await harness.bridge.emit("Echo", "tick", ["value": 1])
        _ = await harness.page.received(1)
        _ = await harness.send("removeListener", ["eventName": "tick", "callbackId": "5"], id: "-1")
        await harness.bridge.emit("Echo", "tick", ["value": 2])
        try? await Task.sleep(for: .milliseconds(20))
        #expect(harness.page.received.map { $0["data"]?["value"] } == [1])
        #expect(harness.page.received.first?["save"] == true)
        #expect(harness.page.received.first?["callbackId"] == "5")
    }

    @Test("removeAllListeners ends all of a plugin's")
    func removedAll() async {
        let harness = Harness()
        _ = await harness.send("addListener", ["eventName": "tick"], id: "5")
        _ = await harness.send("addListener", ["eventName": "tock"], id: "6")
        #expect(await harness.send("removeAllListeners")["success"] == true)
        await harness.bridge.emit("Echo", "tick", ["value": 1])
        await harness.bridge.emit("Echo", "tock", ["value": 2])
        try? await Task.sleep(for: .milliseconds(20))
        #expect(harness.page.received.isEmpty)
    }

    @Test("Retained events wait for the first listener, all of them, once")
    func retained() async {
        let harness = Harness()
        await harness.bridge.emit("Echo", "kept", ["value": 1])
        await harness.bridge.emit("Echo", "kept", ["value": 2])
        await harness.bridge.emit("Echo", "lost", ["value": 3])
        _ = await harness.send("addListener", ["eventName": "lost"], id: "4")
        _ = await harness.send("addListener", ["eventName": "kept"], id: "5")
        _ = await harness.send("addListener", ["eventName": "kept"], id: "6")
        let texts = await harness.page.received(2)
        try? await Task.sleep(for: .milliseconds(20))
        #expect(harness.page.received.count == 2)
        #expect(texts.map { $0["data"]?["value"] } == [1, 2])
        #expect(texts.map { $0["callbackId"] } == ["5", "5"])
    }

    @Test("An event is retained again after its listener was removed, and delivered to the next")
    func retainedAgain() async {
        let harness = Harness()
        _ = await harness.send("addListener", ["eventName": "kept"], id: "5")
        _ = await harness.send("removeListener", ["eventName": "kept", "callbackId": "5"], id: "-1")
        await harness.bridge.emit("Echo", "kept", ["value": 1])
        _ = await harness.send("addListener", ["eventName": "kept"], id: "6")
        #expect(await harness.page.received(1).map { $0["callbackId"] } == ["6"])
    }

    @Test("removeAllListeners ends listeners only, as in Capacitor 8: what is retained waits for the next one")
    func retainedThroughRemoval() async {
        let harness = Harness()
        await harness.bridge.emit("Echo", "kept", ["value": 1])
        #expect(await harness.send("removeAllListeners")["success"] == true)
        _ = await harness.send("addListener", ["eventName": "kept"], id: "5")
        #expect(await harness.page.received(1).map { $0["data"]?["value"] } == [1])
        #expect(await harness.send("removeAllListeners")["success"] == true)
        await harness.bridge.emit("Echo", "kept", ["value": 2])
        #expect(await harness.bridge.takeRetained("Echo", "kept")?["value"] == 2)
    }

    @Test("A new page load drops the listeners of the old one")
    func dropped() async {
        let harness = Harness()
        _ = await harness.send("addListener", ["eventName": "tick"], id: "5")
        await harness.bridge.pageLoadStarted(2)
        harness.page.open(2)
        await harness.bridge.emit("Echo", "tick", ["value": 1])
        _ = await harness.send("addListener", ["eventName": "tick"], id: "5", load: 2)
        await harness.bridge.emit("Echo", "tick", ["value": 2])
        #expect(await harness.page.received(1).map { $0["data"]?["value"] } == [2])
    }

    @Test("A retained event whose page has gone waits for the next page")
    func pageGone() async {
        let harness = Harness()
        _ = await harness.send("addListener", ["eventName": "kept"], id: "5")
        harness.page.open(2)  // the shell already shows another document
        await harness.bridge.emit("Echo", "kept", ["value": 1])
        try? await Task.sleep(for: .milliseconds(20))
        _ = await harness.send("addListener", ["eventName": "kept"], id: "7", load: 2)
        #expect(await harness.page.received(1).map { $0["callbackId"] } == ["7"])
    }

    @Test("An event with a present value tells it to each new listener")
    func present() async {
        let harness = Harness()
        _ = await harness.send("addListener", ["eventName": "state"], id: "5")
        #expect(await harness.page.received(1).first?["data"]?["value"] == "now")
    }
}

@Suite struct BridgeScriptTests {
    @Test("The scripts carry their configuration, and every plugin's header its listener methods")
    func filled() throws {
        let scripts = BridgeScripts(
            BridgePageConfiguration(
                platform: "linux", origin: "https://localhost", apiOrigin: "https://localhost:8901",
                capabilities: ["signIn"], version: [:], session: ["state": "unknown"], debug: false),
            plugins: [EchoPlugin()], handler: "nacre", receiver: "nacreReceive")
        #expect(!scripts.page.contains("/*nacre:configuration*/"))
        #expect(scripts.page.contains(#""apiOrigin":"https://localhost:8901""#))
        #expect(scripts.isolated.contains(#"{"handler":"nacre","receiver":"nacreReceive"}"#))
        let methods = try #require(EchoPlugin().header["methods"]?.array)
        let kinds = Dictionary(
            uniqueKeysWithValues: methods.map { ($0["name"]?.string ?? "", $0["rtype"]?.string ?? "none") })
        #expect(kinds["say"] == "promise")
        #expect(kinds["count"] == "callback")
        #expect(kinds["tell"] == "none")
        #expect(kinds["addListener"] == "none" && kinds["removeListener"] == "none")
        #expect(kinds["removeAllListeners"] == "promise")
    }
}
