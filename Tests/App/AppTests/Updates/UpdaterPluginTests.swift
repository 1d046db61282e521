// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreBridge
import NacreCore
import NacreTesting
import NacreUpdates
import Testing

@testable import NacreApp

@Suite("CapacitorUpdater: the source app's calls, in their order")
struct UpdaterPluginTests {
    private let plugin = "CapacitorUpdater"
    private let offer: JSONValue = [
        "url": "https://evil.example/b.zip", "version": "2.0.0", "checksum": "x", "sessionKey": "y",
    ]

    private func info(_ id: String, _ version: String, _ status: String) -> JSONValue {
        [
            "id": .string(id), "version": .string(version), "downloaded": "1970-01-01T00:00:00.000Z", "checksum": "",
            "status": .string(status),
        ]
    }

    @Test("UP-6: confirm, look, download, stage, notice, reload: the page's address is never asked")
    func story() async throws {
        let bench = try await UpdatesBench()
        await bench.updates.pageLoadStarted(1)
        #expect(try await bench.call(plugin, "notifyAppReady") == ["bundle": info("builtin", "1.0.0", "success")])
        #expect(bench.updater.notes.contains("confirm 1") && bench.events.contains("CapacitorUpdater.appReady"))
        #expect(
            try await bench.call(plugin, "current")
                == ["bundle": info("builtin", "1.0.0", "success"), "native": "1.0.0"])
        #expect(try await bench.call(plugin, "getFailedUpdate") == .null)
        #expect(try await bench.call(plugin, "list") == ["bundles": [info("builtin", "1.0.0", "success")]])
        bench.updater.nextCheck(.staged(version: "2.0.0"))
        let got = try await bench.call(plugin, "download", offer)
        #expect(got == info("2.0.0", "2.0.0", "pending"))
        #expect(bench.updater.notes.contains("check asked"))
        try await until { bench.events.contains("CapacitorUpdater.downloadComplete") }
        #expect(bench.events.contains("CapacitorUpdater.updateAvailable"))
        let asked = bench.updater.notes.filter { $0 == "check asked" }.count
        #expect(try await bench.call(plugin, "next", ["id": "2.0.0"]) == got)
        #expect(bench.updater.notes.filter { $0 == "check asked" }.count == asked)
        #expect(try await bench.call(plugin, "list")["bundles"]?.array?.last == got)
        _ = try await bench.call(plugin, "reload")
        #expect(bench.updater.notes.last == "apply" && bench.window.isEmpty)
    }

    static let refusals: [(UpdateCheck, String)] = [
        (.off, "update.off"), (.current, "update.none"), (.early, "update.none"),
        (.refused("expiry: the manifest has expired"), "update.refused"),
        (.failed(code: "transport.unreachable", message: "No network."), "transport.unreachable"),
        (.staged(version: "3.0.0"), "update.other"),
    ]

    @Test("UP-4: a page gets what our own check gives, and nothing else", arguments: refusals)
    func refused(check: UpdateCheck, code: String) async throws {
        let bench = try await UpdatesBench()
        bench.updater.nextCheck(check)
        for (method, options) in [
            ("download", offer), ("next", ["id": "2.0.0"] as JSONValue), ("set", ["id": "2.0.0"]),
        ] {
            #expect(await bench.refusal(plugin, method, options) == code, "\(method)")
        }
        #expect(!bench.updater.notes.contains("apply"))
    }

    @Test("UP-6: setMultiDelay holds and cancelDelay lets go; a reload of the page that holds goes through")
    func delays() async throws {
        let bench = try await UpdatesBench()
        await bench.updates.pageLoadStarted(1)
        let kill: JSONValue = ["delayConditions": [["kind": "kill"]]]
        _ = try await bench.call(plugin, "setMultiDelay", kill)
        _ = try await bench.call(plugin, "cancelDelay")
        let one = try #require(bench.updates.plugins(native: "1.0.0").last)
        func call(_ method: String, _ options: JSONValue = [:]) async throws {
            _ = try await one.call(method, options: options, call: .init(pageLoad: 1, send: { _ in }))
        }
        try await call("setMultiDelay", kill)
        #expect(bench.updater.held.count == 2)
        try await call("setMultiDelay", kill)
        #expect(bench.updater.held.count == 2)
        try await call("setMultiDelay", ["delayConditions": [["kind": "background", "value": "1"]]])
        #expect(bench.updater.held.count == 1)
        try await call("setMultiDelay", ["delayConditions": [["kind": "date", "value": "2030-01-01T00:00:00Z"]]])
        try await call("cancelDelay")
        #expect(bench.updater.held.count == 1)
        #expect(await bench.refusal(plugin, "setMultiDelay") == "INVALID")
        #expect(await bench.refusal(plugin, "setMultiDelay", ["delayConditions": [["kind": "never"]]]) == "INVALID")
    }

    @Test("HO-10: a sign-in that holds is not overruled by the page's reload")
    func held() async throws {
        let bench = try await UpdatesBench()
        bench.updater.nextCheck(.staged(version: "2.0.0"))
        _ = try await bench.call(plugin, "download", offer)
        try await until { await bench.updates.status.staged != nil }
        bench.updater.refuseApply(NacreError("update.held", "A sign-in is in flight."))
        #expect(await bench.refusal(plugin, "reload") == "update.held")
        #expect(await bench.refusal(plugin, "set", ["id": "2.0.0"]) == "update.held")
        #expect(bench.window.isEmpty)
    }

    @Test("Without anything staged, reload, reset and set of what runs load the page again")
    func reload() async throws {
        let bench = try await UpdatesBench()
        _ = try await bench.call(plugin, "reload")
        _ = try await bench.call(plugin, "reset")
        _ = try await bench.call(plugin, "set", ["id": "builtin"])
        #expect(bench.window == ["reload", "reload", "reload"])
    }

    @Test("UP-8: no page takes the app back to an older bundle")
    func reset() async throws {
        let bench = try await UpdatesBench()
        bench.updater.becomes(running: bench.update("one", trial: false))
        #expect(await bench.refusal(plugin, "reset", ["toLastSuccessful": true]) == "update.refused")
        #expect(await bench.refusal(plugin, "delete", ["id": "2.0.0"]) == "update.in_use")
        #expect(await bench.refusal(plugin, "delete", ["id": "0.9.0"]) == "update.unknown")
        #expect(bench.window.isEmpty)
    }

    @Test("UP-7: the bundle that did not start is told by its version, once as an event and as long as it counts")
    func failed() async throws {
        let bench = try await UpdatesBench()
        try await until { bench.events.contains("NacreUpdates.change") }
        bench.updater.becomes { $0.failed = "2.0.0" }
        try await until { bench.events.contains("CapacitorUpdater.updateFailed") }
        bench.updater.becomes { $0.phase = .checking }
        try await until { await bench.updates.status.phase == .checking }
        #expect(bench.events.filter { $0 == "CapacitorUpdater.updateFailed" }.count == 1)
        #expect(try await bench.call(plugin, "getFailedUpdate") == ["bundle": info("2.0.0", "2.0.0", "error")])
    }

    @Test("The download event tells how much is there")
    func progress() async throws {
        let bench = try await UpdatesBench()
        bench.updater.becomes { ($0.phase, $0.received, $0.size) = (.downloading, 50, 200) }
        try await until { bench.data(of: "CapacitorUpdater.download") != nil }
        #expect(bench.data(of: "CapacitorUpdater.download")?["percent"] == 25)
    }

    static let invalidOptions: [(String, JSONValue)] = [
        ("download", [:]), ("download", ["url": "https://a.example/b.zip"]), ("next", [:]), ("set", ["id": 1]),
        ("delete", ["id": ""]),
    ]

    @Test("Options that cannot be right reject with INVALID", arguments: invalidOptions)
    func invalid(method: String, options: JSONValue) async throws {
        let bench = try await UpdatesBench()
        #expect(await bench.refusal(plugin, method, options) == "INVALID")
    }
}
