// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreBridge
import NacreCore
import NacreHTTP
import NacreSQLite
import NacreSignIn
import NacreTesting
import NacreUpdates
import Testing

@testable import NacreApp

@Suite("Updates among the app's parts")
struct AppUpdatesTests {
    @Test("UP-13: without `updates`, without an updater or without a window there is none")
    func absent() async throws {
        let folder = "/nowhere"
        let folders = try AppFolders(id: "org.example.a", environment: ["HOME": "/tmp/nacre-no-updates"])
        let text = #"{"app":{"id":"org.example.a","name":"A","version":"1.0.0"},"api":{"origin":"https://a.example"}}"#
        let plain = try AppConfiguration(parsing: text, environment: [:], isDevelopment: false)
        var platform = AppPlatform.double
        platform.updater = { _, _, _, _ in FakeUpdater() }
        let window = AppWindow.double(updates: UpdateWindow(replacePage: { _ in }, reload: {}, restart: {}))
        let holds = AttemptHolds(time: platform.time)
        let made = try await AppUpdates.make(plain, folder, folders, platform, window, holds, NoEvents())
        #expect(made == nil)
        let parts = try await AppParts.make(plain, folders, platform, window)
        #expect(!parts.everyPlugin.contains { ["CapacitorUpdater", "NacreUpdates"].contains($0.name) })
    }

    @Test("HO-10: a start in the middle of a sign-in holds for it, and one that is over holds nothing")
    func holdsAtStart() async throws {
        let home = FileManager.default.temporaryDirectory.path + "/nacre-holds-" + SystemRandom().identifier()
        defer { try? FileManager.default.removeItem(atPath: home) }
        let folders = try AppFolders(id: "org.example.a", environment: ["HOME": home])
        let text = #"{"app":{"id":"org.example.a","name":"A","version":"1.0.0"},"api":{"origin":"https://a.example"}}"#
        let plain = try AppConfiguration(parsing: text, environment: [:], isDevelopment: false)
        let platform = AppPlatform.double
        let window = AppWindow.double(updates: nil)
        let now = platform.time.now
        for (age, isHeld) in [(Duration.seconds(16 * 60), false), (.seconds(60), true)] {
            let store = try await SQLiteAttemptStore(
                SQLiteStore(path: folders.state + "/sign-in.sqlite"), now: now)
            try await store.save(
                AttemptRecord(id: "\(age)", phase: .waiting, flow: "f", startedAt: now - age, sealed: [1]))
            let parts = try await AppParts.make(plain, folders, platform, window)
            #expect(parts.holds.isHeld == isHeld)
        }
    }

    @Test("UP-7: what the updater has chosen is served from the start")
    func boot() async throws {
        #expect(try await UpdatesBench().served() == "built in")
        let first = try await UpdatesBench()
        let running = BootedBundle(folder: first.folder + "/one", version: "2.0.0", stamp: "x", isOnTrial: true)
        let bench = try await UpdatesBench(running: running)
        #expect(try await bench.served() == "first update")
        #expect(await bench.updates.running == running)
    }

    @Test("UP-7: an update whose folder is gone is a bundle that failed, and the one inside the app is shown")
    func missing() async throws {
        let running = BootedBundle(folder: "/nowhere/two", version: "2.0.0", stamp: "x", isOnTrial: false)
        let bench = try await UpdatesBench(running: running)
        #expect(try await bench.served() == "built in")
        #expect(bench.updater.notes == ["cannot show"])
    }

    @Test("UP-6: the old page is gone before the new bundle is served, and the new page is loaded after")
    func show() async throws {
        let bench = try await UpdatesBench()
        bench.lastLoad(3)
        await bench.updates.show(bench.update("one"))
        #expect(bench.window == ["leave", "load"])
        #expect(try await bench.served() == "first update")
        #expect(await bench.updates.running.version == "2.0.0")
        await bench.updates.show(bench.update("two", "3.0.0"))
        #expect(try await bench.served() == "second update")
    }

    @Test("UP-7: the confirm of a page from before the switch says nothing about the bundle after it")
    func oldPage() async throws {
        let bench = try await UpdatesBench()
        await bench.updates.pageLoadStarted(3)
        bench.lastLoad(3)
        await bench.updates.show(bench.update("one"))
        await bench.updates.confirm(3)
        #expect(!bench.updater.notes.contains("confirm 3"))
        await bench.updates.confirm(4)
        #expect(bench.updater.notes.suffix(3).contains("confirm 4"))
    }

    @Test("UP-7: the updater hears of a page's start before its confirm, and of each start once")
    func order() async throws {
        let bench = try await UpdatesBench()
        await bench.updates.confirm(1)
        await bench.updates.pageLoadStarted(1)
        #expect(bench.updater.notes.prefix(2) == ["load 1", "confirm 1"])
        #expect(bench.updater.notes.filter { $0 == "load 1" }.count == 1)
    }

    @Test("UP-7: the confirm precedes any check")
    func confirmFirst() async throws {
        let bench = try await UpdatesBench()
        await bench.updates.becomesActive()
        await bench.updates.pageLoadStarted(1)
        await bench.updates.becomesActive()
        for _ in 0..<50 { await Task.yield() }
        #expect(!bench.updater.notes.contains("check"))
        await bench.updates.confirm(1)
        try await until { bench.updater.notes.filter { $0 == "check" }.count >= 1 }
        await bench.updates.confirm(1)
        await bench.updates.becomesActive()
        try await until { bench.updater.notes.filter { $0 == "check" }.count >= 2 }
        #expect(!bench.updater.notes.contains("check asked"))
    }

    @Test("UP-6: what a page holds ends with the page")
    func holdOfPage() async throws {
        let bench = try await UpdatesBench()
        await bench.updates.pageLoadStarted(1)
        let id = try await bench.call("NacreUpdates", "hold", ["reason": "writing", "seconds": 30])["id"]?.string
        #expect(bench.updater.held == [try #require(id): .seconds(30)])
        // A call of the new page may come before the word of its start.
        let next = try await bench.call("NacreUpdates", "hold", ["seconds": 20], load: 2)["id"]?.string
        await bench.updates.pageLoadStarted(2)
        #expect(bench.updater.held == [try #require(next): .seconds(20)])
        await bench.updates.pageLoadStarted(3)
        #expect(bench.updater.held.isEmpty)
    }

    @Test("nacre.updates: asks, holds, applies and confirms, and says the state")
    func page() async throws {
        let bench = try await UpdatesBench()
        await bench.updates.pageLoadStarted(1)
        #expect(try await bench.call("NacreUpdates", "check") == ["outcome": "off"])
        bench.updater.nextCheck(.refused("rollout: not yet"))
        #expect(try await bench.call("NacreUpdates", "check") == ["outcome": "refused", "reason": "rollout: not yet"])
        bench.updater.nextCheck(.failed(code: "transport.unreachable", message: "No network."))
        #expect(try await bench.call("NacreUpdates", "check")["code"] == "transport.unreachable")
        #expect(await bench.refusal("NacreUpdates", "apply") == "update.none")
        bench.updater.nextCheck(.staged(version: "2.0.0"))
        #expect(try await bench.call("NacreUpdates", "check") == ["outcome": "staged", "version": "2.0.0"])
        try await until { bench.data(of: "NacreUpdates.change")?["staged"] == "2.0.0" }
        let id = try await bench.call("NacreUpdates", "hold")["id"]?.string
        #expect(bench.updater.held.values.first == .seconds(600))
        #expect(await bench.refusal("NacreUpdates", "apply") == "update.held")
        _ = try await bench.call("NacreUpdates", "release", ["id": JSONValue(id)])
        _ = try await bench.call("NacreUpdates", "apply")
        #expect(await bench.refusal("NacreUpdates", "hold", ["seconds": "x"]) == "INVALID")
        #expect(await bench.refusal("NacreUpdates", "hold", ["seconds": 0]) == "INVALID")
        bench.updater.refuseHolds(NacreError("update.holds", "Enough hold already."))
        #expect(await bench.refusal("NacreUpdates", "hold") == "update.holds")
        let kill: JSONValue = ["delayConditions": [["kind": "kill"]]]
        #expect(await bench.refusal("CapacitorUpdater", "setMultiDelay", kill) == "update.holds")
        #expect(await bench.refusal("NacreUpdates", "release") == "INVALID")
        _ = try await bench.call("NacreUpdates", "confirm")
        #expect(bench.updater.notes.contains("confirm 1"))
        #expect(try await bench.call("NacreUpdates", "report")["running"] == "1.0.0")
    }

    @Test("UP-1: the channel is the server's to say, and is asked for without a session")
    func channel() async throws {
        let seen = FixedServer(status: 200, body: #"{"MOBILE_OTA_MANIFEST_URL": "https://b.example/manifest.json"}"#)
        let api = try Origin("https://a.example")
        func asked(_ server: FixedServer) async throws(NacreError) -> String? {
            try await UpdateChannel(api: api, transport: server, time: SystemTime()).source()?.manifestURL
        }
        #expect(try await asked(seen) == "https://b.example/manifest.json")
        #expect(seen.requests.first?.target == "/api/v1.0/config/" && seen.requests.first?.fields["Cookie"] == nil)
        #expect(try await asked(FixedServer(status: 200, body: "{}")) == nil)
        for (status, body) in [(404, "{}"), (200, "<xml>"), (200, "[]"), (503, "")] {
            await #expect(throws: NacreError.self) { try await asked(FixedServer(status: status, body: body)) }
        }
    }
}
