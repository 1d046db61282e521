// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreReleases
import NacreTesting
import NacreUpdates
import NacreUpdatesTesting
import Testing

@testable import NacrePublisher

@Suite("The app's own updater follows what is published (UP-8, UP-10)")
struct AppTests {
    private func updater(_ world: World, _ builtIn: String, _ window: TestWindow) async throws -> Updater {
        let settings = UpdateSettings(
            app: "org.example.app", platform: "linux", native: try NativeVersion("1.0.0"), build: "1",
            archiveKey: TestKeys.archive.publicKey, roots: try TestKeys.roots, builtInVersion: "0.1")
        let folder = world.folder.path
        return await Updater.start(
            settings: settings,
            folders: UpdateFolders(updates: folder + "/updates", builtIn: builtIn, web: folder + "/storage"),
            parts: UpdateParts(
                transport: world.site,
                source: { UpdateSource(manifestURL: base + "/channels/prod/manifest.json") }, isHeld: { false },
                host: window, disk: SystemDisk(), time: HastyTime(), random: SeededRandom(3)), log: .none)
    }

    @Test(
        "By a patch, file by file, and by the whole bundle", arguments: [[], ["/patches/"], ["/patches/", "/trees/"]])
    func follows(missing: [String]) async throws {
        let world = try await World.signed()
        let builtIn = try world.build("built in")
        let window = TestWindow()
        let updater = try await updater(world, builtIn, window)
        for (load, version) in [UInt64(1): "1.0", 2: "1.1+b"].sorted(by: { $0.key < $1.key }) {
            try await world.publish(version) { $0.builtIns = [builtIn] }
            world.site.spoil { key, bytes in missing.contains { key.contains($0) } ? nil : bytes }
            #expect(await updater.check(isAsked: true) == .staged(version: version))
            try await updater.apply()
            await updater.pageLeft(lastLoad: load - 1)
            let shown = try #require(window.shown.last)
            #expect(shown.version == version)
            let tree = try TreeFolder(try #require(shown.folder)).measure()
            #expect(tree == (try TreeFolder(world.build(version)).measure()))
            world.site.spoil { $1 }
            await updater.pageLoadStarted(load)
            await updater.confirm(pageLoad: load)
        }
        _ = try await world.publisher().rollback(to: "1.0")
        let back = await updater.check(isAsked: true)
        #expect(back == .staged(version: "1.0"), "\(back)")
    }

    @Test("UP-8: below a storage epoch a rollback is followed where it says --reset-storage")
    func followsBack() async throws {
        let world = try await World.signed()
        let builtIn = try world.build("built in")
        try await world.publish("1.0")
        try await world.publish("1.1") { $0.storageEpoch = 1 }
        let window = TestWindow()
        do {
            let updater = try await updater(world, builtIn, window)
            #expect(await updater.check(isAsked: true) == .staged(version: "1.1"))
        }
        let updater = try await updater(world, builtIn, window)
        #expect(await updater.running.version == "1.1")
        await updater.pageLoadStarted(1)
        await updater.confirm(pageLoad: 1)
        _ = try await world.publisher().rollback(to: "1.0")
        guard case .refused(let why) = await updater.check(isAsked: true) else {
            Issue.record("taken without a way back")
            return
        }
        #expect(why.hasPrefix("storage"))
        _ = try await world.publisher().rollback(to: "1.0", resetsStorage: true)
        #expect(await updater.check(isAsked: true) == .staged(version: "1.0"))
    }
}
