// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreReleases
import NacreTesting
import NacreUpdatesTesting
import Testing

@testable import NacreUpdates

@Suite("After a theft of the release key")
struct UpdaterTheftTests {
    private static let most: Int64 = (1 << 53) - 1

    /// A device that has seen the highest sequence there is, from whoever has stolen the release key of epoch 1.
    private func frozen(_ change: @escaping @Sendable (inout ReleasePayload) -> Void) async throws -> UpdateWorld {
        let world = try UpdateWorld()
        var stolen = world.draft("6.6", Self.most)
        stolen.change = change
        try world.publisher.publish(stolen)
        _ = await (try await world.start()).check(isAsked: true)
        return world
    }

    /// A release under another key set.
    private func draft(
        _ world: UpdateWorld, _ version: String, _ sequence: Int64, epoch: Int64, _ key: PrivateKey
    ) -> TestPublisher.Draft {
        var draft = world.draft(version, sequence)
        (draft.key, draft.change) = (key, { $0.keyEpoch = epoch })
        return draft
    }

    @Test("UP-4: a thief's sequence holds under the thief's keys; new keys count anew")
    func afterTheft() async throws {
        let world = try await frozen { $0.platforms = ["ios"] }
        let updater = try await world.start()
        try world.publisher.publish(world.draft("1.1", 9))
        guard case .refused(let why) = await updater.check(isAsked: true) else { throw Wrong("a replay is taken") }
        #expect(why.hasPrefix("sequence"))
        let next = try PrivateKey.generate(.edDSA)
        try world.publisher.publishKeys(epoch: 2, release: next)
        try world.publisher.publish(draft(world, "1.2", 10, epoch: 2, next))
        #expect(await updater.check(isAsked: true) == .staged(version: "1.2"))
        // Under the new keys there is a floor again, and the store build's own one held all the time.
        try world.publisher.publish(draft(world, "1.1", 9, epoch: 2, next))
        guard case .refused(let old) = await updater.check(isAsked: true) else { throw Wrong("a replay is taken") }
        #expect(old.hasPrefix("sequence"))
    }

    @Test("UP-4: the store build's own sequence is a floor under any keys")
    func storeFloorAfterTheft() async throws {
        let world = try await frozen { $0.platforms = ["ios"] }
        let updater = try await world.start(SystemDisk()) { $0.builtInSequence = 10 }
        let next = try PrivateKey.generate(.edDSA)
        try world.publisher.publishKeys(epoch: 2, release: next)
        try world.publisher.publish(draft(world, "1.2", 10, epoch: 2, next))
        guard case .refused(let why) = await updater.check(isAsked: true) else { throw Wrong("taken") }
        #expect(why.hasPrefix("sequence"))
        try world.publisher.publish(draft(world, "1.2", 11, epoch: 2, next))
        #expect(await updater.check(isAsked: true) == .staged(version: "1.2"))
    }

    @Test("What a thief has staged is not shown once the keys are others, even where a release leads back to what runs")
    func stagedByThief() async throws {
        let world = try await frozen { _ in }
        world.isHeld = true
        let updater = try await world.start()
        #expect(await updater.status.staged == "6.6")
        let next = try PrivateKey.generate(.edDSA)
        try world.publisher.publishKeys(epoch: 2, release: next)
        var same = draft(world, "0.1", 10, epoch: 2, next)
        same.files = UpdateWorld.builtIn
        try world.publisher.publish(same)
        #expect(await updater.check(isAsked: true) == .current)
        #expect(await updater.status.staged == nil)
    }

    @Test("UP-4: a release of an earlier epoch raises nothing, though a key that stayed has signed it")
    func earlierEpoch() async throws {
        let world = try UpdateWorld()
        let updater = try await world.start()
        let key = world.publisher.release
        try world.publisher.publishKeys(epoch: 2)
        try world.publisher.publish(draft(world, "1.1", 10, epoch: 2, key))
        #expect(await updater.check(isAsked: true) == .staged(version: "1.1"))
        try world.publisher.publish(world.draft("0.9", 500))
        guard case .refused(let why) = await updater.check(isAsked: true) else { throw Wrong("taken") }
        #expect(why.hasPrefix("key_epoch"))
        try world.publisher.publish(draft(world, "1.2", 11, epoch: 2, key))
        #expect(await updater.check(isAsked: true) == .staged(version: "1.2"))
    }

    @Test("Roots that are new in the app itself do not open the way to releases of before")
    func newRootsKeepFloors() {
        var state = UpdateState()
        state.enter(epoch: 2, at: Instant(seconds: 1))
        state.raise("c", seen: 9, taken: 7)
        state.keySet = nil
        state.enter(epoch: 1, at: Instant(seconds: 2))
        state.enter(epoch: 2, at: Instant(seconds: 3))
        #expect(state.floors == ["c": ReleaseFloor(taken: 7, seen: 9)])
        state.enter(epoch: 3, at: Instant(seconds: 4))
        #expect(state.floors.isEmpty)
        // Nor does the first set after a build without roots.
        var legacy = UpdateState()
        legacy.raise("c", taken: 7)
        legacy.enter(epoch: 5, at: Instant(seconds: 1))
        #expect(legacy.floors == ["c": ReleaseFloor(taken: 7)])
    }
}
