// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreBridge
import NacreCore
import NacreHTTP
import NacrePorts
import NacreTesting
import Synchronization
import Testing

@testable import NacrePlugins

/// Notes every event with its data.
private final class Events: BridgeEvents {
    private let notes = Mutex<[(String, JSONValue)]>([])
    func emit(_ plugin: String, _ event: String, _ data: JSONValue) async {
        notes.withLock { $0.append((plugin + "." + event, data)) }
    }
    func takeRetained(_ plugin: String, _ event: String) async -> JSONValue? { nil }
    func hasListener(_ plugin: String, _ event: String) async -> Bool { false }
    var all: [(name: String, data: JSONValue)] { notes.withLock { $0.map { ($0.0, $0.1) } } }
    var names: [String] { all.map(\.name) }
}

@Suite("The screen around the page")
struct SurfaceTests {
    private let events = Events()
    private let box = NotedBox()

    private func state(keyboard: Double = 0) -> SurfaceState {
        var state = SurfaceState()
        (state.width, state.height, state.top, state.bottom, state.keyboard) = (390, 844, 47, 34, keyboard)
        return state
    }

    @Test("SH-9: by default the box shrinks by the keyboard, once: no variable says it again")
    func native() async {
        let surface = PageSurface(state(), box: box, events: events)
        await surface.apply(state(keyboard: 300))
        #expect(box.layouts == [[390, 844, 300]])
        let value = await surface.value
        #expect(value["keyboard"] == .number(0) && value["bottom"] == .number(0) && value["top"] == .number(47))
        await surface.apply(state())
        #expect(box.layouts == [[390, 844, 300], [390, 844, 0]])
        #expect(await surface.value["bottom"] == .number(34))
    }

    @Test("SH-9: setResizeMode(none) leaves the box alone and sets --keyboard")
    func none() async {
        let surface = PageSurface(state(), box: box, events: events)
        await surface.setResize(.none)
        await surface.apply(state(keyboard: 300))
        #expect(box.layouts == [[390, 844, 0]])
        #expect(await surface.value["keyboard"] == .number(300))
        await surface.setResize(.native)
        #expect(box.layouts.last == [390, 844, 300])
        #expect(await surface.value["keyboard"] == .number(0))
    }

    @Test("Keyboard events come before and after the change, to listeners and to the window")
    func keyboardEvents() async {
        let surface = PageSurface(state(), box: box, events: events)
        await surface.apply(state(keyboard: 300))
        await surface.hideKeyboard()
        await surface.hideKeyboard()
        let order = [
            "Keyboard.keyboardWillShow", "Nacre.trigger", "Nacre.surface", "Keyboard.keyboardDidShow", "Nacre.trigger",
        ]
        #expect(events.names == order + order.map { $0.replacingOccurrences(of: "Show", with: "Hide") })
        let triggers = events.all.filter { $0.name == "Nacre.trigger" }
        #expect(
            triggers.map { $0.data["name"]?.string } == [
                "keyboardWillShow", "keyboardDidShow", "keyboardWillHide", "keyboardDidHide",
            ])
        #expect(
            triggers.first?.data == [
                "name": "keyboardWillShow", "target": "window", "data": ["keyboardHeight": .number(300)],
            ])
    }

    @Test("SH-5: a profile's steps follow each other, each changing only what it names")
    func profile() async throws {
        let profile = try DeviceProfile(
            parsing: """
                {"name": "Phone", "touch": true, "steps": [
                  {"size": [390, 844], "insets": {"top": 47, "bottom": 34}}, {"after": 10, "keyboard": 300},
                  {"after": 10, "keyboard": 0, "size": [844, 390], "insets": {"left": 47}}]}
                """, file: "p.json")
        #expect(profile.touch == true && profile.first == state())
        let surface = PageSurface(profile.first, box: box, events: events)
        try await surface.play(profile, time: SystemTime())
        #expect(box.layouts == [[390, 844, 0], [390, 844, 300], [844, 390, 0]])
        let last = await surface.value
        #expect(last["left"] == .number(47) && last["top"] == .number(0) && last["bottom"] == .number(0))
    }

    @Test(
        "A profile that cannot be played is an error that names the place",
        arguments: [
            #"{"name": "P", "steps": []}"#, #"{"name": "P"}"#, #"{"steps": [{}]}"#, #"{"name": "P", "steps": [1]}"#,
            #"{"name": "P", "steps": [{"size": [1]}]}"#, #"{"name": "P", "steps": [{"keyboard": -1}]}"#,
            #"{"name": "P", "steps": [{"insets": {"north": 1}}]}"#, #"{"name": "P", "steps": [{"wait": 1}]}"#,
            #"{"name": "P", "steps": [{"after": 1e9}]}"#, #"{"name": "P", "steps": [{}], "speed": 2}"#,
        ])
    func malformed(_ text: String) {
        let error = #expect(throws: NacreError.self) { try DeviceProfile(parsing: text, file: "p.json") }
        #expect(error?.message.contains("p.json") == true)
    }
}

@Suite("Share")
struct SharePluginTests {
    private func share(_ options: JSONValue, cancelled: Bool = false) async -> (code: String?, seen: [ShareContent]) {
        let target = NotedShare(cancelled: cancelled)
        let plugin = SharePlugin(
            target: target, roots: FileRoots(files: "/app/files", cache: "/app/cache"),
            page: Origin(scheme: "https", host: "localhost", port: 443))
        do {
            _ = try await plugin.call("share", options: options, call: BridgeCallContext(pageLoad: 1) { _ in })
            return (nil, target.shared)
        } catch { return (BridgeRejection(error).code, target.shared) }
    }

    @Test("The app's own files are handed over, and no others")
    func files() async {
        let own = await share(["files": ["file:///app/files/data/a%20b.pdf"], "url": "file:///app/cache/temporary/c"])
        #expect(own.seen.first?.files == ["/app/files/data/a b.pdf", "/app/cache/temporary/c"])
        for uri in ["file:///etc/passwd", "/app/files/data/../../x", "file:///app/files/x", "file:///app/filesdata/a"] {
            let foreign = await share(["files": [.string(uri)]])
            #expect(foreign.code == "INVALID" && foreign.seen.isEmpty, "\(uri)")
        }
    }

    @Test("NB-4: an address of the page's own proxy is never shared; what it stands for is")
    func proxied() async {
        let url = "https://localhost/_capacitor_http_interceptor_?u=https%3A%2F%2Fmail.example.org%2Fa%3Fb%3Dc"
        #expect(await share(["url": .string(url)]).seen.first?.url == "https://mail.example.org/a?b=c")
    }

    @Test("A change of mind rejects")
    func cancelled() async {
        #expect(await share(["text": "a"], cancelled: true).code == "CANCELLED")
    }
}
