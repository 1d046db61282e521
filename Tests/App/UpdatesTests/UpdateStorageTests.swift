// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreReleases
import NacreTesting
import NacreUpdatesTesting
import Testing

@testable import NacreUpdates

@Suite("What is kept: state, and what the web view has stored")
struct UpdateStorageTests {
    @Test("Storage that a new bundle has raised is brought back with the bundle before")
    func restored() async throws {
        let world = try await UpdaterTrialTests.staged { $0.storageEpoch = 1 }
        do {
            let updater = try await world.start()
            #expect(await updater.running.version == "1.1")
            await updater.pageLoadStarted(1)
            try world.store("1")
            await updater.pageCrashed()
            // No page may be alive while it is exchanged.
            #expect(world.window.restarts == 1)
            #expect(world.window.shown.isEmpty)
        }
        let updater = try await world.start()
        #expect(await updater.running.version == "0.1")
        #expect(world.stored == "0")
    }

    @Test("After the confirm there is no way back, and nothing of the copy is left")
    func settled() async throws {
        let world = try await UpdaterTrialTests.staged { $0.storageEpoch = 1 }
        let updater = try await world.start()
        await updater.pageLoadStarted(1)
        try world.store("1")
        await updater.confirm(pageLoad: 1)
        #expect(try SystemDisk().names(in: world.folder.path).filter { $0.hasPrefix("web") } == ["web", "web.epoch"])
        // An older storage's release is refused, unless it allows to remove what is there.
        try world.publisher.publish(world.draft("1.0", 3))
        guard case .refused(let why) = await updater.check(isAsked: true) else { throw Wrong("taken") }
        #expect(why.hasPrefix("storage"))
        var reset = world.draft("1.0", 4)
        reset.resetsStorage = true
        try world.publisher.publish(reset)
        #expect(await updater.check(isAsked: true) == .staged(version: "1.0"))
        try await updater.apply()
        #expect(world.window.restarts == 1)
    }

    @Test("A staged bundle that cannot read what is stored by now is dropped at the start")
    func dropped() async throws {
        let world = try await UpdaterTrialTests.staged()
        try world.folder.write("web.epoch", Array("5".utf8))
        let updater = try await world.start()
        #expect(await updater.running.version == "0.1")
        #expect(await updater.status.staged == nil)
        #expect(world.stored == "0")
    }

    @Test("A step back that allows it empties the storage")
    func emptied() async throws {
        let folder = try TemporaryFolder()
        try folder.write("web/db", [1])
        let storage = WebStorage(folder.path + "/web", SystemDisk())
        #expect(try storage.prepare(for: 2, from: 0, mayEmpty: false, keepsCopy: true) == .copied)
        try storage.settle()
        #expect(try storage.prepare(for: 1, from: 0, mayEmpty: false, keepsCopy: true) == .kept)
        #expect(folder.read("web/db") == [1])
        #expect(try storage.prepare(for: 1, from: 0, mayEmpty: true, keepsCopy: true) == .emptied)
        #expect(folder.read("web/db") == nil)
        #expect(storage.epoch == 1)
    }

    @Test("Two steps up and two down find each what was there")
    func ladder() throws {
        let folder = try TemporaryFolder()
        let storage = WebStorage(folder.path + "/web", SystemDisk())
        try folder.write("web/a/db", [0])
        #expect(try storage.prepare(for: 1, from: 0, mayEmpty: false, keepsCopy: true) == .copied)
        try folder.write("web/a/db", [1])
        #expect(try storage.prepare(for: 2, from: 0, mayEmpty: false, keepsCopy: true) == .copied)
        try folder.write("web/a/db", [2])
        #expect(try storage.prepare(for: 2, from: 0, mayEmpty: false, keepsCopy: true) == .unchanged)
        #expect(try storage.prepare(for: 1, from: 0, mayEmpty: false, keepsCopy: true) == .restored)
        #expect(folder.read("web/a/db") == [1])
        #expect(try storage.prepare(for: 0, from: 0, mayEmpty: false, keepsCopy: true) == .restored)
        #expect(folder.read("web/a/db") == [0])
    }

    @Test("A storage of a higher epoch is not tried where there is no room for a copy; the release waits")
    func noRoom() async throws {
        let world = try await UpdaterTrialTests.staged { $0.storageEpoch = 1 }
        let disk = RationedDisk.withoutCopies
        #expect(await (try await world.start(disk)).running.version == "0.1")
        let later = try await world.start()
        #expect(await later.running.version == "1.1")
        #expect(await later.status.failed == nil)
    }

    @Test("A page that asks for it at every start does not start the app for ever")
    func noRoomAsked() async throws {
        let world = try await UpdaterTrialTests.staged { $0.storageEpoch = 1 }
        let updater = try await world.start(RationedDisk.withoutCopies)
        await #expect(throws: NacreError.self) { try await updater.apply() }
        #expect(world.window.restarts == 0)
    }

    @Test("Where the confirm finds no room, there is still a way back")
    func confirmWithoutRoom() async throws {
        let world = try await UpdaterTrialTests.staged { $0.storageEpoch = 1 }
        let isFull = Switch()
        let disk = RationedDisk { step, _ in isFull.isOn && step != .rename && step != .sync }
        do {
            let updater = try await world.start(disk)
            await updater.pageLoadStarted(1)
            try world.store("1")
            isFull.isOn = true
            await updater.confirm(pageLoad: 1)
            #expect(await updater.running.isOnTrial == false)
        }
        #expect(world.folder.read("web.copy-0/db") == Array("0".utf8))
        _ = try await world.start()
        let updater = try await world.start()
        #expect(await updater.running.version == "0.1")
        #expect(world.stored == "0")
    }

    @Test("Another account meets the new epoch without a copy that could come back later")
    func otherAccount() async throws {
        let world = try await UpdaterTrialTests.staged { $0.storageEpoch = 1 }
        do {
            let updater = try await world.start()
            await updater.pageLoadStarted(1)
            await updater.confirm(pageLoad: 1)
        }
        try world.folder.write("web.epoch", Array("0".utf8))
        let updater = try await world.start()
        #expect(await updater.running.version == "1.1")
        #expect(try SystemDisk().names(in: world.folder.path).filter { $0.hasPrefix("web") } == ["web", "web.epoch"])
        try world.publisher.publish(world.draft("1.0", 3))
        guard case .refused = await updater.check(isAsked: true) else { throw Wrong("an old copy would come back") }
    }

    @Test("A step back that is cut short anywhere is gone on with", arguments: [CrashDisk.End.killed, .torn, .full])
    func cutShort(end: CrashDisk.End) throws {
        try cutShort(
            end,
            ready: { folder in
                try folder.write("web/db", [0])
                let storage = WebStorage(folder.path + "/web", SystemDisk())
                _ = try storage.prepare(for: 1, from: 0, mayEmpty: false, keepsCopy: true)
                try folder.write("web/db", [1])
            },
            step: { _ = try $0.prepare(for: 0, from: 0, mayEmpty: false, keepsCopy: false) },
            then: { folder, storage, step in
                let outcome = try storage.prepare(for: 0, from: 0, mayEmpty: false, keepsCopy: false)
                try storage.settle()
                #expect(outcome != .kept, step)
                #expect(folder.read("web/db") == [0], step)
                #expect(storage.epoch == 0, step)
            })
    }

    @Test(
        "An emptying that was cut short is undone until it is marked: another bundle may be shown after all",
        arguments: [CrashDisk.End.killed, .torn, .full])
    func emptyingCutShort(end: CrashDisk.End) throws {
        try cutShort(
            end,
            ready: { folder in
                try folder.write("web/db", [2])
                try folder.write("web.epoch", Array("2".utf8))
            },
            step: { _ = try $0.prepare(for: 1, from: 0, mayEmpty: true, keepsCopy: false) },
            then: { folder, storage, step in
                let isMarked = storage.epoch == 1
                // A sign-in is under way at the next start, say: what ran goes on.
                _ = try storage.prepare(for: 2, from: 0, mayEmpty: false, keepsCopy: false)
                try storage.settle()
                #expect(folder.read("web/db") == (isMarked ? nil : [2]), step)
            })
    }

    /// Takes `step` on a disk that ends at each of its steps in turn; after each, looks at what the app's next start finds.
    private func cutShort(
        _ end: CrashDisk.End, ready: (TemporaryFolder) throws -> Void, step: (WebStorage) throws -> Void,
        then look: (TemporaryFolder, WebStorage, Comment) throws -> Void
    ) throws {
        func made() throws -> TemporaryFolder {
            let folder = try TemporaryFolder()
            try folder.write("lost/x", [])
            try ready(folder)
            return folder
        }
        let probe = CrashDisk(root: "/tmp", stop: nil)
        let whole = try made()
        try step(WebStorage(whole.path + "/web", probe))
        for stop in 1...probe.steps {
            let folder = try made()
            let disk = CrashDisk(root: folder.path + "/lost", stop: stop, end: end)
            try? step(WebStorage(folder.path + "/web", disk))
            // As each start of the app does first.
            try SystemDisk().makeFolder(folder.path + "/web")
            try look(folder, WebStorage(folder.path + "/web", SystemDisk()), "step \(stop)")
            #expect(try left(in: folder) == ["web", "web.epoch"], "step \(stop)")
        }
    }

    private func left(in folder: TemporaryFolder) throws -> [String] {
        // A mark that was half written is no more than that, and the next one takes its place.
        try SystemDisk().names(in: folder.path).filter { $0.hasPrefix("web") && $0 != "web.epoch.new" }
    }

    /// A device on which 1.1 has raised the storage and crashed: the next start goes back.
    private func goingBack() async throws -> UpdateWorld {
        let world = try await UpdaterTrialTests.staged { $0.storageEpoch = 1 }
        let updater = try await world.start()
        await updater.pageLoadStarted(1)
        try world.store("1")
        await updater.pageCrashed()
        return world
    }

    @Test(
        "A start that steps back and stops at any step loses neither storage",
        arguments: [CrashDisk.End.killed, .powerless, .full])
    func startCutShort(end: CrashDisk.End) async throws {
        let probe = CrashDisk(root: "/tmp", stop: nil)
        _ = try await (try await goingBack()).start(probe)
        #expect(probe.steps > 10)
        for stop in 1...probe.steps {
            let world = try await goingBack()
            do {
                let disk = CrashDisk(root: world.folder.path + "/lost", stop: stop, end: end)
                let updater = try await world.start(disk)
                if end == .full { #expect(world.stored != nil, "step \(stop)") }
                _ = await updater.running
            }
            let updater = try await world.start()
            #expect(await updater.running.version == "0.1", "step \(stop)")
            #expect(world.stored == "0", "step \(stop)")
        }
    }

    @Test("A step back that the disk refuses once is made in the same start")
    func exchangeRefusedOnce() async throws {
        let world = try await goingBack()
        let isFirst = Switch()
        let disk = RationedDisk { step, path in
            guard step == .rename, path.hasSuffix("/web"), !isFirst.isOn else { return false }
            isFirst.isOn = true
            return true
        }
        let updater = try await world.start(disk)
        #expect(await updater.running.version == "0.1")
        #expect(isFirst.isOn)
        #expect(world.stored == "0")
        #expect(try left(in: world.folder) == ["web", "web.epoch"])
    }

    @Test("A step back that the disk refuses is made by the next start; the copy waits for it")
    func exchangeRefused() async throws {
        let world = try await goingBack()
        do {
            let updater = try await world.start(RationedDisk { step, path in step == .rename && path.hasSuffix("-0") })
            #expect(await updater.running.version == "0.1")
            #expect(world.stored == "1")
            await updater.pageLoadStarted(1)
            await updater.confirm(pageLoad: 1)
        }
        #expect(await (try await world.start()).running.version == "0.1")
        #expect(world.stored == "0")
        #expect(try left(in: world.folder) == ["web", "web.epoch"])
    }

    @Test("What a web view stores while its own folder cannot be brought back is set aside, and said")
    func setAside() async throws {
        let world = try await goingBack()
        do {
            let updater = try await world.start(
                RationedDisk { step, path in step == .rename && path.hasSuffix("/web") })
            #expect(await updater.running.version == "0.1")
            // The web view makes its folder anew, and goes on.
            try world.store("9")
            await updater.pageLoadStarted(1)
            await updater.confirm(pageLoad: 1)
        }
        let updater = try await world.start()
        #expect(world.stored == "0")
        #expect(world.folder.read("web.aside-1/db") == Array("9".utf8))
        let decisions = await updater.report()["decisions"]?.array ?? []
        #expect(decisions.contains { $0["why"]?.string?.contains("web.aside-1") == true })
        await updater.pageLoadStarted(1)
        await updater.confirm(pageLoad: 1)
        #expect(world.folder.read("web.aside-1/db") == Array("9".utf8))
        // Whoever's it was has left.
        await updater.forgetStorage()
        #expect(try left(in: world.folder) == ["web", "web.epoch"])
    }

    @Test("While a step back waits, its copy is all there is, and no confirm takes it away")
    func settleWaits() throws {
        let folder = try TemporaryFolder()
        try folder.write("web/db", [0])
        let storage = WebStorage(folder.path + "/web", SystemDisk())
        _ = try storage.prepare(for: 1, from: 0, mayEmpty: false, keepsCopy: true)
        try folder.write("web/db", [1])
        let refusing = RationedDisk { step, path in step == .rename && path.hasSuffix("/web") }
        #expect(throws: NacreError.self) {
            try WebStorage(folder.path + "/web", refusing).prepare(for: 0, from: 0, mayEmpty: false, keepsCopy: false)
        }
        #expect(storage.isUnfinished)
        try storage.settle()
        try SystemDisk().makeFolder(folder.path + "/web")
        #expect(try storage.prepare(for: 0, from: 0, mayEmpty: false, keepsCopy: false) == .restored)
        #expect(folder.read("web/db") == [0])
    }

    @Test("Who leaves while a step back waits leaves nothing, and what is stored afterwards stays")
    func forgottenUnfinished() async throws {
        let world = try await goingBack()
        do {
            let updater = try await world.start(
                RationedDisk { step, path in step == .rename && path.hasSuffix("/web") })
            try world.store("9")
            await updater.forgetStorage()
            #expect(try left(in: world.folder).filter { $0 != "web.epoch" } == ["web"])
        }
        #expect(await (try await world.start()).running.version == "0.1")
        #expect(world.stored == "9")
        try world.publisher.publish(world.draft("1.2", 3))
        let updater = try await world.start()
        #expect(await updater.check(isAsked: true) == .staged(version: "1.2"))
    }

    @Test("A state survives being written and read")
    func roundTrip() throws {
        var state = UpdateState()
        let bundle = InstalledBundle(
            tree: TreeDigest(of: [1]), identity: .checksum("abc"), version: "1.2", stamp: "s", channel: "c",
            sequence: nil, storageEpoch: 3, resetsStorage: true,
            native: try NativeRange(minimum: "1.0", below: "2.0"))
        (state.running, state.staged, state.fallback) = (bundle, bundle, bundle)
        state.trial = Trial(attempts: 2, nonce: "n")
        state.floors = ["c": ReleaseFloor(taken: 3, seen: 5)]
        state.failed = [
            FailedBundle(
                identity: .tree(TreeDigest(of: [2])), channel: "c", sequence: 4, version: "v", reason: .ended, count: 2)
        ]
        state.revoked = [TreeDigest(of: [3])]
        (state.keySet, state.seed, state.native, state.build) = ([1, 2], "seed", "1.0", "7")
        (state.manifestURL, state.manifestTag, state.manifestRelease) = ("u", "t", "r")
        (state.builtInVersion, state.floorEpoch) = ("0.1", 4)
        (state.checked, state.newestIssued) = (Instant(seconds: 5), Instant(seconds: 6))
        state.decide("staged", "1.2", "because", at: Instant(seconds: 7))
        #expect(UpdateState(try JSONParser.parse(state.json.bytes)) == state)
    }

    @Test("A damaged state is not believed: the one before it is, and without one everything begins anew")
    func damagedState() throws {
        let folder = try TemporaryFolder()
        let file = UpdateStateFile(folder.path, SystemDisk())
        #expect(file.load() == nil)
        var state = UpdateState()
        state.seed = "first"
        try file.keep(state)
        state.seed = "second"
        try file.keep(state)
        #expect(file.load()?.seed == "second")
        var bytes = try #require(folder.read("state.json"))
        for place in stride(from: 0, to: bytes.count, by: 7) {
            bytes[place] ^= 1
            try folder.write("state.json", bytes)
            #expect(file.load()?.seed == "first", "byte \(place)")
            bytes[place] ^= 1
        }
        for size in [0, 1, 64, 65, 66, bytes.count - 1] {
            try folder.write("state.json", Array(bytes.prefix(size)))
            #expect(file.load()?.seed == "first", "\(size) bytes")
        }
        // A damaged one is not kept as the copy.
        state.seed = "third"
        try file.keep(state)
        try folder.write("state.json", [])
        #expect(file.load()?.seed == "first")
    }

    @Test("Numbers that no publisher signs are not read: a sum with them would end the app at each start")
    func numbersOutOfRange() throws {
        let number = { (value: Int64) in JSONValue.integer(value) }
        let identity: JSONValue = ["checksum": "abc"]
        let bundle: JSONValue = [
            "tree": .string(TreeDigest(of: [1]).description), "identity": identity, "version": "1.2", "channel": "c",
            "sequence": number(.min), "storageEpoch": 0,
        ]
        let failure: JSONValue = [
            "identity": identity, "channel": "c", "sequence": 1, "version": "1.2", "count": number(.max),
        ]
        var state = try #require(
            UpdateState([
                "format": 1, "running": bundle, "failed": [failure], "checked": -1, "newestIssued": number(1 << 53),
                "floors": ["c": ["taken": 3, "seen": 5], "d": ["taken": 3, "seen": number(.max)]],
                "trial": ["attempts": number(.max), "nonce": "n"],
            ]))
        let running = try #require(state.running)
        try #require(running.sequence == nil && state.failed.first?.count == 1)
        #expect(state.trial == nil)
        #expect(state.floors == ["c": ReleaseFloor(taken: 3, seen: 5)])
        #expect(state.checked.milliseconds == 0 && state.newestIssued.milliseconds == 0)
        state.mayComeAgain(running)
        state.revert(.silent, at: Instant(seconds: 1))
        #expect(state.failed.map(\.count) == [2])
    }

    @Test("A state of a later app: what protects holds, and what it says runs does not")
    func laterState() throws {
        var state = UpdateState()
        state.floors = ["c": ReleaseFloor(taken: 3, seen: 5)]
        state.running = InstalledBundle(
            tree: TreeDigest(of: [1]), identity: .checksum("abc"), version: "1.2", stamp: "s", channel: "c",
            sequence: 3, storageEpoch: 0, resetsStorage: false, native: .any)
        var members = try #require(state.json.object)
        members["format"] = 2
        members["trial"] = "something new"
        let later = try #require(UpdateState(.object(members)))
        #expect(later.floors == state.floors)
        #expect(later.running == nil)
    }
}
