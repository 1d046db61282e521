// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreReleases
import NacreTesting
import NacreUpdates
import Synchronization

/// Some days of an app with updates, drawn by a seed: releases good and broken, kills, closings, rollbacks, a store update,
/// a bad store. Played to its end, or to the step on the disk at which the machine stops; then the app is started again.
package struct CrashStory: Sendable {
    package let seed: UInt64
    /// So many things happen.
    package var length = 16

    package init(seed: UInt64) { self.seed = seed }

    /// Plays in a folder up to a step, and then ends this process as it stands.
    package func die(at stop: Int, in folder: String, _ end: @escaping @Sendable () -> Void) async throws {
        let world = try UpdateWorld(at: folder)
        let disk = CrashDisk(root: folder + "/lost", stop: stop, end: .killed, seed: seed, die: end)
        var player = Player(world: world, random: SeededRandom(seed), press: Press())
        for _ in 0..<length { try await player.step(disk) }
    }

    /// What came of it.
    package struct Outcome: Sendable {
        /// Steps on the disk, until it stopped.
        package var steps: Int
        /// What must not be; empty when all is well.
        package var problems: [String]
    }

    /// - Parameters:
    ///   - stop: the step at which the machine stops; nil to play to the end.
    ///   - press: what one playing has published need not be made for the next.
    ///   - folder: where another process has played the same, up to its death; the app is then started there.
    package func play(
        stop: Int?, end: CrashDisk.End, press: Press = Press(), continuing folder: String? = nil
    ) async throws -> Outcome {
        let world = try UpdateWorld()
        let disk = CrashDisk(root: world.folder.path + "/lost", stop: stop, end: end, seed: seed)
        var player = Player(world: world, random: SeededRandom(seed), press: press)
        for _ in 0..<length where !disk.isDead { try await player.step(disk) }
        let steps = disk.steps
        player.leave()
        if let folder { player.move(to: folder) }
        return Outcome(steps: steps, problems: player.problems + (try await player.recover()))
    }
}

extension CrashStory {
    /// Keeps what publishing has put into a bucket.
    package final class Press: Sendable {
        private let made = Mutex<[String: [String: [UInt8]]]>([:])

        package init() {}

        func publish(_ draft: TestPublisher.Draft, _ world: UpdateWorld) throws {
            let tree = try TestPublisher.tree(draft.files).digest
            let bases = try draft.bases.map { try TestPublisher.tree($0).digest.description }.joined()
            let name = "\(draft.sequence) \(tree) \(draft.storageEpoch) \(draft.hasObjects) \(bases)"
            if let objects = made.withLock({ $0[name] }) {
                for (key, bytes) in objects { world.bucket[key] = bytes }
                return
            }
            let before = Set(world.bucket.keys)
            try world.publisher.publish(draft)
            let manifest = ReleaseStore.manifest(TestPublisher.channel)
            let bundle = ReleaseStore.bundle(TestPublisher.channel, draft.version)
            var objects: [String: [UInt8]] = [:]
            for key in world.bucket.keys where !before.contains(key) || key == manifest || key == bundle {
                objects[key] = world.bucket[key]
            }
            made.withLock { $0[name] = objects }
        }
    }
}

/// Plays a story's steps.
private struct Player {
    var world: UpdateWorld
    let random: SeededRandom
    let press: CrashStory.Press
    var problems: [String] = []
    private var updater: Updater?
    private var load: UInt64 = 0
    private var sequence: Int64 = 1
    private var epoch: Int64 = 0
    private var native = 0
    private var releases: [TreeDigest: Release] = [:]
    private var newest: [String: [UInt8]] = UpdateWorld.builtIn

    struct Release {
        var version: String
        var epoch: Int64
        var isBroken: Bool
        var files: [String: [UInt8]]
    }

    init(world: UpdateWorld, random: SeededRandom, press: CrashStory.Press) {
        (self.world, self.random, self.press) = (world, random, press)
        let builtIn = Release(version: "0.1", epoch: 0, isBroken: false, files: UpdateWorld.builtIn)
        if let tree = try? TestPublisher.tree(UpdateWorld.builtIn) { releases[tree.digest] = builtIn }
    }

    /// The process has gone, with its thread and its lock.
    mutating func leave() { updater = nil }

    mutating func move(to folder: String) { world = UpdateWorld(at: folder, like: world) }

    mutating func step(_ disk: CrashDisk) async throws {
        guard let updater else { return try await start(disk) }
        switch random.number(below: 10) {
        case 0...2:
            try publish()
            _ = await updater.check(isAsked: true)
        case 3:
            try rollback()
            _ = await updater.check(isAsked: true)
        case 4: _ = await updater.check(isAsked: true)
        case 5, 6:
            let shown = world.window.shown.count
            let restarts = world.window.restarts
            try? await updater.apply()
            if world.window.restarts > restarts {
                self.updater = nil
            } else if world.window.shown.count > shown {
                try await live(updater, disk)
            }
        case 7:
            await updater.closing()
            self.updater = nil
        case 8: self.updater = nil
        default:
            native += random.number(below: 2)
            self.updater = nil
        }
    }

    private mutating func start(_ disk: any UpdateDisk) async throws {
        let native = native
        let updater = try await world.start(disk) { $0.build = "\(native + 1)" }
        self.updater = updater
        let isDead = (disk as? CrashDisk)?.isDead ?? false
        if !isDead { try await live(updater, disk) }
    }

    /// What is shown must be whole and published; a page finds its storage, and confirms or does not.
    private mutating func live(_ updater: Updater, _ disk: any UpdateDisk) async throws {
        for _ in 0..<3 {
            let bundle = await updater.running
            guard let release = releases[try world.tree(of: bundle).digest] else {
                return problems.append("a tree is shown that nobody has published: \(bundle)")
            }
            if world.stored == nil { problems.append("\(release.version) finds nothing of what was stored") }
            let stored = Int64(world.stored ?? "0") ?? 0
            load += 1
            await updater.pageLoadStarted(load)
            let shown = world.window.shown.count
            let restarts = world.window.restarts
            if stored > release.epoch {
                problems.append("\(release.version) of epoch \(release.epoch) finds storage of epoch \(stored)")
            }
            try world.store("\(max(stored, release.epoch))")
            if release.isBroken {
                guard random.number(below: 2) == 0 else {
                    // Ended by an impatient person, twice where need be.
                    self.updater = nil
                    return
                }
                await updater.pageCrashed()
            } else if random.number(below: 8) > 0 {
                await updater.confirm(pageLoad: load)
            }
            if world.window.restarts > restarts {
                self.updater = nil
                return
            }
            guard world.window.shown.count > shown, (disk as? CrashDisk)?.isDead != true else { return }
        }
    }

    private mutating func publish() throws {
        sequence += 1
        if random.number(below: 2) == 0 { epoch += 1 }
        let version = "1.\(sequence)"
        var draft = world.draft(version, sequence)
        draft.storageEpoch = epoch
        let isBroken = random.number(below: 4) == 0
        switch random.number(below: 3) {
        case 0: draft.bases = [newest, UpdateWorld.builtIn]
        case 1: draft.hasObjects = true
        default: draft.hasObjects = false
        }
        try publish(draft, isBroken)
        if random.number(below: 4) == 0, let key = world.bucket.keys.randomElement(using: &draw) {
            world.bucket.fail(
                key, [.flipped(31), .cut(40), .short(20), .status(404), .longer(9)][random.number(below: 5)])
        }
    }

    private var draw: SeededGenerator {
        get { SeededGenerator(random: random) }
        set {}
    }

    /// An older tree under a new number, where no storage stands in the way.
    private mutating func rollback() throws {
        let candidates = releases.values.filter { $0.epoch == epoch && !$0.isBroken }.sorted { $0.version < $1.version }
        guard !candidates.isEmpty else { return }
        let old = candidates[random.number(below: candidates.count)]
        sequence += 1
        var draft = TestPublisher.Draft(old.version, sequence, old.files)
        draft.storageEpoch = old.epoch
        try publish(draft, false)
    }

    private mutating func publish(_ draft: TestPublisher.Draft, _ isBroken: Bool) throws {
        try press.publish(draft, world)
        newest = draft.files
        releases[try TestPublisher.tree(draft.files).digest] = Release(
            version: draft.version, epoch: draft.storageEpoch, isBroken: isBroken, files: draft.files)
    }

    /// After the power is back: the app starts, and gets to the newest release.
    mutating func recover() async throws -> [String] {
        problems = []
        world.bucket.heal()
        sequence += 1
        var last = world.draft("9.\(sequence)", sequence)
        last.storageEpoch = epoch
        try publish(last, false)
        for _ in 0..<8 {
            try await start(SystemDisk())
            guard let updater else { continue }
            let running = await updater.running
            if running.version == last.version, !running.isOnTrial { return problems }
            _ = await updater.check(isAsked: true)
            await updater.closing()
            leave()
        }
        return problems + ["the newest release is not reached"]
    }
}

private struct SeededGenerator: RandomNumberGenerator {
    let random: SeededRandom
    mutating func next() -> UInt64 { random.next() }
}
