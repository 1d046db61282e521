// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreReleases
import NacreTesting
import NacreUpdatesTesting
import Synchronization
import Testing

@testable import NacreUpdates

@Suite("A new bundle's first starts")
struct UpdaterTrialTests {
    /// A device with 1.1 staged.
    static func staged(_ change: (inout TestPublisher.Draft) -> Void = { _ in }) async throws -> UpdateWorld {
        let world = try UpdateWorld()
        var draft = world.draft("1.1", 2)
        change(&draft)
        try world.publisher.publish(draft)
        let updater = try await world.start()
        #expect(await updater.check(isAsked: true) == .staged(version: "1.1"))
        #expect(await updater.running.version == "0.1")
        return world
    }

    /// A device on which 1.1 has confirmed, and 1.2 is staged.
    static func confirmed() async throws -> UpdateWorld {
        let world = try await staged()
        let updater = try await world.start()
        await updater.pageLoadStarted(1)
        await updater.confirm(pageLoad: 1)
        try world.publisher.publish(world.draft("1.2", 3))
        #expect(await updater.check(isAsked: true) == .staged(version: "1.2"))
        return world
    }

    @Test("UP-6: a staged bundle waits for the next start, and is on trial then")
    func nextStart() async throws {
        let world = try await Self.staged()
        let updater = try await world.start()
        let running = await updater.running
        #expect(running.version == "1.1" && running.isOnTrial)
        #expect(try world.tree(of: running).digest == TestPublisher.tree(UpdateWorld.files("1.1")).digest)
        await updater.pageLoadStarted(1)
        await updater.confirm(pageLoad: 1)
        #expect(await updater.running.isOnTrial == false)
        #expect(await updater.status.staged == nil)
    }

    @Test("UP-6: shown at once where a person asks for it, and confirmed by its own page only")
    func apply() async throws {
        let world = try await Self.staged()
        let updater = try await world.start()
        // A start took it already; go back to a confirmed one and stage another.
        await updater.pageLoadStarted(1)
        await updater.confirm(pageLoad: 1)
        try world.publisher.publish(world.draft("1.2", 3))
        _ = await updater.check(isAsked: true)
        try await updater.apply()
        #expect(world.window.shown.map(\.version) == ["1.2"])
        #expect(await updater.running.isOnTrial)
        // The page that was there before says it late, and again when the new one is loading.
        await updater.confirm(pageLoad: 1)
        #expect(await updater.running.isOnTrial)
        await updater.pageLoadStarted(2)
        await updater.confirm(pageLoad: 1)
        #expect(await updater.running.isOnTrial)
        await updater.confirm(pageLoad: 2)
        #expect(
            await updater.running
                == BootedBundle(
                    folder: await updater.running.folder, version: "1.2", stamp: await updater.running.stamp,
                    isOnTrial: false))
    }

    @Test("Nothing to apply is an error, and so is what is on trial")
    func applyNothing() async throws {
        let world = try UpdateWorld()
        let updater = try await world.start()
        await #expect(throws: NacreError.self) { try await updater.apply() }
        let other = try await Self.staged()
        let second = try await other.start()
        await #expect(throws: NacreError.self) { try await second.apply() }
    }

    @Test("UP-7: silence is a failure after the time that the build grants, and not before")
    func silence() async throws {
        let world = try await Self.staged()
        let updater = try await world.start()
        await updater.pageLoadStarted(1)
        try await until { world.time.sleeperCount == 1 }
        world.time.advance(by: .seconds(9))
        // A page that loads itself again wins no time.
        await updater.pageLoadStarted(2)
        #expect(await updater.running.version == "1.1")
        world.time.advance(by: .seconds(2))
        try await until { world.window.shown.count == 1 }
        #expect(world.window.shown.first?.version == "0.1")
        #expect(await updater.status.failed == "1.1")
        // Too late.
        await updater.confirm(pageLoad: 2)
        #expect(await updater.running.version == "0.1")
    }

    @Test("UP-7: a crash before the confirm reverts at once, and the release is not taken again")
    func crash() async throws {
        let world = try await Self.staged()
        let updater = try await world.start()
        await updater.pageLoadStarted(1)
        await updater.pageCrashed()
        #expect(world.window.shown.map(\.version) == ["0.1"])
        guard case .refused = await updater.check(isAsked: true) else {
            Issue.record("the failed release was taken again")
            return
        }
        // Published again under a higher sequence it is somebody's decision.
        try world.publisher.publish(world.draft("1.1", 4))
        #expect(await updater.check(isAsked: true) == .staged(version: "1.1"))
    }

    @Test("A crash of a page that has confirmed condemns nothing")
    func crashLater() async throws {
        let world = try await Self.staged()
        let updater = try await world.start()
        await updater.pageLoadStarted(1)
        await updater.confirm(pageLoad: 1)
        await updater.pageCrashed()
        #expect(await updater.running.version == "1.1")
        #expect(world.window.shown.isEmpty)
    }

    @Test("UP-7: ended once before the confirm it gets a second chance, ended twice it has failed")
    func endedTwice() async throws {
        let world = try await Self.staged()
        for _ in 0..<2 {
            let updater = try await world.start()
            #expect(await updater.running.version == "1.1")
            await updater.pageLoadStarted(1)
        }
        let updater = try await world.start()
        #expect(await updater.running.version == "0.1")
        #expect(await updater.status.failed == "1.1")
    }

    @Test("One impatient end does not condemn a good bundle")
    func endedOnce() async throws {
        let world = try await Self.staged()
        _ = try await world.start()
        let updater = try await world.start()
        await updater.pageLoadStarted(1)
        await updater.confirm(pageLoad: 1)
        let later = try await world.start()
        #expect(await later.running.version == "1.1")
        #expect(await later.running.isOnTrial == false)
    }

    @Test("A window that is closed as windows are closed does not count, however often")
    func closedOften() async throws {
        let world = try await Self.staged()
        for _ in 0..<5 {
            let updater = try await world.start()
            #expect(await updater.running.version == "1.1")
            await updater.pageLoadStarted(1)
            await updater.closing()
        }
    }

    @Test("UP-7: back to the last good one, and to the one inside the app where that is gone")
    func fallback() async throws {
        let world = try await Self.confirmed()
        let updater = try await world.start()
        #expect(await updater.running.version == "1.2")
        await updater.pageLoadStarted(1)
        await updater.pageCrashed()
        #expect(world.window.shown.map(\.version) == ["1.1"])
        let folder = try #require(await updater.running.folder)
        try SystemDisk().remove(folder)
        let later = try await world.start()
        #expect(await later.running.version == "0.1")
    }

    @Test("HO-10: a start during a sign-in exchanges nothing")
    func heldAtStart() async throws {
        let world = try await Self.staged()
        world.isHeld = true
        #expect(await (try await world.start()).running.version == "0.1")
        world.isHeld = false
        #expect(await (try await world.start()).running.version == "1.1")
    }

    @Test("HO-10: a hold of the app or of the page keeps it from being shown, and ends by itself")
    func holds() async throws {
        let world = try await Self.staged()
        world.isHeld = true
        let updater = try await world.start()
        await #expect(throws: NacreError.self) { try await updater.apply() }
        world.isHeld = false
        let hold = try await updater.hold(for: .seconds(60), reason: "an upload")
        #expect(await updater.status.isHeld)
        await #expect(throws: NacreError.self) { try await updater.apply() }
        await updater.release(hold)
        _ = try await updater.hold(for: .seconds(86_400), reason: "for ever")
        await #expect(throws: NacreError.self) { try await updater.apply() }
        world.time.advance(by: .seconds(601))
        try await updater.apply()
        #expect(world.window.shown.map(\.version) == ["1.1"])
    }

    @Test("A hold that holds nothing is none: beyond so many a page is told what to do instead")
    func tooManyHolds() async throws {
        let world = try UpdateWorld()
        let updater = try await world.start()
        var ids: [String] = []
        for _ in 0..<64 { ids.append(try await updater.hold(for: .seconds(60), reason: "an upload")) }
        let error = await #expect(throws: NacreError.self) {
            _ = try await updater.hold(for: .seconds(60), reason: "one more")
        }
        #expect(error?.code == "update.holds")
        await updater.release(ids[0])
        _ = try await updater.hold(for: .seconds(60), reason: "in its place")
        world.time.advance(by: .seconds(61))
        _ = try await updater.hold(for: .seconds(60), reason: "the others have ended")
    }

    @Test("#907: the outgoing page, or another of its loads, cannot confirm the bundle that takes its place")
    func outgoing() async throws {
        let world = try await Self.confirmed()
        world.isHeld = true
        let updater = try await world.start()
        world.isHeld = false
        world.window.keepsPage = true
        await updater.pageLoadStarted(1)
        try await updater.apply()
        await updater.pageLoadStarted(2)
        await updater.confirm(pageLoad: 2)
        #expect(await updater.running.isOnTrial)
        await world.window.leave()
        await updater.confirm(pageLoad: 2)
        #expect(await updater.running.isOnTrial)
        await updater.pageLoadStarted(3)
        await updater.confirm(pageLoad: 3)
        #expect(await updater.running.isOnTrial == false)
    }

    @Test("A start reads its state once")
    func readsOnce() async throws {
        let world = try await Self.staged()
        do {
            let updater = try await world.start()
            await updater.pageLoadStarted(1)
            await updater.confirm(pageLoad: 1)
        }
        let reads = Mutex<[String]>([])
        let disk = RationedDisk(looks: { path in reads.withLock { $0.append(path) } })
        let updater = try await world.start(disk)
        #expect(await updater.running.version == "1.1")
        #expect(reads.withLock { $0 }.filter { $0.hasSuffix("/state.json") }.count == 1)
    }

    /// Whether what no release and no start needs is still on the device.
    private func isUntidy(_ world: UpdateWorld) -> Bool {
        let disk = SystemDisk()
        let updates = world.folder.path + "/updates"
        return disk.isFolder(updates + "/bundles/old") && disk.isFolder(updates + "/work/left")
    }

    private func litter(_ world: UpdateWorld) throws {
        try world.folder.write("updates/bundles/old/index.html", [1])
        try world.folder.write("updates/work/left/index.html", [1])
    }

    @Test("What nobody needs is removed after the first page, which does not wait for that")
    func tidiesLater() async throws {
        let world = try await Self.confirmed()
        world.isHeld = true
        try litter(world)
        let updater = try await world.start()
        await updater.pageLoadStarted(1)
        #expect(isUntidy(world))
        await updater.confirm(pageLoad: 1)
        #expect(!isUntidy(world))
        #expect(try SystemDisk().names(in: world.folder.path + "/updates/work").isEmpty)
        // What runs, and what is staged, stays; and it was once for this start.
        #expect(try SystemDisk().names(in: world.folder.path + "/updates/bundles").count == 2)
        try litter(world)
        await updater.confirm(pageLoad: 1)
        #expect(isUntidy(world))
    }

    @Test("A page that never says that it has started keeps nothing on the device")
    func tidiesAnyway() async throws {
        let world = try UpdateWorld()
        let updater = try await world.start()
        try litter(world)
        await updater.pageLoadStarted(1)
        try await until { world.time.sleeperCount == 1 }
        world.time.advance(by: .seconds(9))
        #expect(isUntidy(world))
        world.time.advance(by: .seconds(2))
        try await until { !isUntidy(world) }
        _ = await updater.running
    }

    @Test("While a bundle is on trial nothing is removed; its confirm does that")
    func tidiesAtConfirm() async throws {
        let world = try await Self.confirmed()
        let updater = try await world.start()
        #expect(await updater.running.isOnTrial)
        try litter(world)
        await updater.pageLoadStarted(1)
        #expect(isUntidy(world))
        await updater.confirm(pageLoad: 1)
        #expect(!isUntidy(world))
    }

    @Test("Files that are gone are no fault of the release: it comes again")
    func comesAgain() async throws {
        let world = try await Self.staged()
        do {
            let updater = try await world.start()
            await updater.pageLoadStarted(1)
            await updater.confirm(pageLoad: 1)
            try SystemDisk().remove(try #require(await updater.running.folder))
        }
        let updater = try await world.start()
        #expect(await updater.running.version == "0.1")
        #expect(await updater.status.failed == nil)
        #expect(await updater.check(isAsked: true) == .staged(version: "1.1"))
        // And where the window finds them gone.
        try await updater.apply()
        await updater.cannotShow()
        #expect(await updater.running.version == "0.1")
        #expect(await updater.status.failed == nil)
    }

    @Test("A store update that knows of no sequence resets, and the newest release comes again")
    func resetComesAgain() async throws {
        let world = try await Self.staged()
        do {
            let updater = try await world.start(SystemDisk()) { $0.builtInSequence = nil }
            await updater.pageLoadStarted(1)
            await updater.confirm(pageLoad: 1)
        }
        let updater = try await world.start(SystemDisk()) { ($0.build, $0.builtInSequence) = ("2", nil) }
        #expect(await updater.running.version == "0.1")
        #expect(await updater.check(isAsked: true) == .staged(version: "1.1"))
    }

    @Test("What was withdrawn while it ran is nothing to go back to")
    func withdrawnFallback() async throws {
        let world = try await Self.confirmed()
        world.isHeld = true
        let updater = try await world.start()
        world.isHeld = false
        var next = world.draft("1.3", 4)
        let tree = try TestPublisher.tree(UpdateWorld.files("1.1")).digest
        next.change = { $0.revoked = [tree] }
        try world.publisher.publish(next)
        #expect(await updater.check(isAsked: true) == .staged(version: "1.3"))
        await updater.pageLoadStarted(1)
        try await updater.apply()
        await updater.pageLoadStarted(2)
        await updater.pageCrashed()
        #expect(await updater.running.version == "0.1")
    }

    @Test("A second process of the app shows what is confirmed, and writes nothing")
    func secondProcess() async throws {
        let world = try await Self.confirmed()
        let first = try await world.start()
        #expect(await first.running.version == "1.2")
        let before = world.folder.read("updates/state.json")
        let second = try await world.start()
        #expect(await second.running.version == "1.1")
        guard case .failed(code: "update.second", _) = await second.check(isAsked: true) else {
            Issue.record("a second process has checked")
            return
        }
        #expect(world.folder.read("updates/state.json") == before)
        _ = await first.running
    }

    @Test("On a disk that takes nothing, an attempt that cannot be counted is none")
    func fullAtStart() async throws {
        let world = try await Self.staged()
        let full = RationedDisk.full
        #expect(await (try await world.start(full)).running.version == "0.1")
        #expect(await (try await world.start()).running.version == "1.1")
        // It is on trial now; its second chance cannot be counted, and is not taken.
        #expect(await (try await world.start(full)).running.version == "0.1")
        #expect(await (try await world.start()).running.version == "1.1")
    }

    @Test(
        "A store update keeps what is newer and runs in it, and nothing else",
        arguments: [
            (Int64?(1), "2.0.0", "1.1"), (Int64?(2), "2.0.0", "0.1"), (Int64?(9), "2.0.0", "0.1"),
            (nil, "2.0.0", "0.1"), (Int64?(1), "3.0.0", "0.1"), (Int64?(1), "0.9.0", "0.1"),
        ])
    func storeUpdate(sequence: Int64?, native: String, expected: String) async throws {
        let world = try await Self.staged { draft in
            draft.change = { $0.native = (try? NativeRange(minimum: "1.0", below: "3.0")) ?? .any }
        }
        do {
            let updater = try await world.start()
            await updater.pageLoadStarted(1)
            await updater.confirm(pageLoad: 1)
        }
        let native = try NativeVersion(native)
        let updater = try await world.start(SystemDisk()) { ($0.native, $0.builtInSequence) = (native, sequence) }
        #expect(await updater.running.version == expected)
        #expect(await updater.status.failed == nil)
    }

    @Test("What its publisher has withdrawn is left at the next start")
    func withdrawn() async throws {
        let world = try await Self.confirmed()
        let tree = try TestPublisher.tree(UpdateWorld.files("1.1")).digest
        do {
            let updater = try await world.start()
            await updater.pageLoadStarted(1)
            await updater.pageCrashed()
            #expect(await updater.running.version == "1.1")
            var next = world.draft("1.3", 5)
            next.change = { $0.revoked = [tree] }
            try world.publisher.publish(next)
            #expect(await updater.check(isAsked: true) == .staged(version: "1.3"))
            #expect(await updater.running.version == "1.1")
        }
        world.isHeld = true
        let updater = try await world.start()
        #expect(await updater.running.version == "0.1")
    }
}

/// What must not have happened, in words.
struct Wrong: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
