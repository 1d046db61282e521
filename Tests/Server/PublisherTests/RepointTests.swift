// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreCrypto
import NacreReleases
import Testing

@testable import NacrePublisher

@Suite("Going back, going on, withdrawing (UP-8)")
struct RepointTests {
    @Test("UP-8: a rollback re-points the manifest under a higher sequence, at the same bundle and tree")
    func rollback() async throws {
        let world = try await World.signed()
        try await world.publish("1.0")
        let first = try #require(try await world.payload())
        try await world.publish("1.1")
        world.bucket.forget()
        let outcome = try await world.publisher().rollback(to: "1.0")
        #expect(outcome.what == .announced && outcome.sequence == 3)
        #expect(world.bucket.puts.map(\.key).filter { !$0.contains("/sequences/") } == [ReleaseStore.manifest("prod")])
        let payload = try #require(try await world.payload())
        #expect(payload.tree == first.tree && payload.rollbackOf == 1 && payload.version == "1.0")
        #expect(try await world.faults() == [])
        // A device that runs 1.1 follows.
        var device = try world.publisher().device(
            try await world.publisher().currentKeySet(), native: .any, platform: "linux")
        device.floor = ReleaseFloor(taken: 2)
        #expect(try device.judge(#require(try await world.manifest()).bytes, from: base).payload == payload)
        #expect(try await world.publisher().rollback(to: "1.0").what == .unchanged)
    }

    @Test("UP-8: a rollback to what was never published, or whose bundle is gone, changes nothing")
    func noRollback() async throws {
        let world = try await World.signed()
        #expect(await code { try await world.publisher().rollback(to: "1.0") } == "ota.nothing_published")
        try await world.publish("1.0")
        try await world.publish("1.1")
        let before = try await world.manifest()?.bytes
        #expect(await code { try await world.publisher().rollback(to: "0.9") } == "ota.release")
        try await world.bucket.inner.remove(ReleaseStore.bundle("prod", "1.0"))
        #expect(await code { try await world.publisher().rollback(to: "1.0") } == "release.missing")
        #expect(try await world.manifest()?.bytes == before)
    }

    @Test("UP-8: a rollback below a storage epoch says what devices do, and --reset-storage lets them follow")
    func resetStorage() async throws {
        let world = try await World.signed()
        try await world.publish("1.0")
        try await world.publish("1.1") { $0.storageEpoch = 1 }
        _ = try await world.publisher().rollback(to: "1.0")
        #expect(world.said.text.contains("--reset-storage"))
        #expect(try #require(try await world.payload()).resetsStorage == false)
        // Said afterwards as well; the same once more changes nothing.
        let outcome = try await world.publisher().rollback(to: "1.0", resetsStorage: true)
        #expect(outcome.what == .announced && outcome.sequence == 4)
        let payload = try #require(try await world.payload())
        #expect(payload.resetsStorage && payload.storageEpoch == 0 && payload.rollbackOf == 1)
        #expect(try await world.publisher().rollback(to: "1.0", resetsStorage: true).what == .unchanged)
        #expect(try await world.publisher().rollback(to: "1.0").what == .unchanged)
        // It is said of this announcement, and of no later one.
        _ = try await world.publisher().rollback(to: "1.1")
        _ = try await world.publisher().rollback(to: "1.0")
        #expect(try #require(try await world.payload()).resetsStorage == false)
        #expect(try await world.faults() == [])
    }

    @Test("Without a signed part nothing can say --reset-storage, and nothing is announced")
    func resetUnsigned() async throws {
        let world = try World()
        let publisher = try world.publisher(keys: PublisherKeys(archive: TestKeys.archive, release: nil))
        try await world.publish("1.0", by: publisher)
        try await world.publish("1.1", by: publisher)
        #expect(await code { try await publisher.rollback(to: "1.0", resetsStorage: true) } == "ota.release")
        #expect(try await world.manifest()?.version == "1.1")
        #expect(try await publisher.rollback(to: "1.0").what == .announced)
    }

    @Test("UP-8: a staged release is announced by promote, without any key, and a second time changes nothing")
    func stage() async throws {
        let world = try await World.signed()
        try await world.publish("1.0")
        let before = try await world.manifest()?.bytes
        let staged = try await world.publish("1.1") { $0.stagesOnly = true }
        #expect(staged.what == .staged && staged.sequence == 2)
        #expect(try await world.manifest()?.bytes == before)
        let deploy = try world.publisher(keys: nil)
        #expect(try await deploy.promote().what == .announced)
        #expect(try await world.manifest()?.version == "1.1")
        #expect(try await world.faults() == [])
        let after = try await world.manifest()?.bytes
        #expect(try await deploy.promote().what == .unchanged)
        #expect(try await world.manifest()?.bytes == after)
    }

    @Test("UP-8: what another publication has passed is signed anew, and without the key it is refused")
    func stagedAndPassed() async throws {
        let world = try await World.signed()
        try await world.publish("1.0")
        try await world.publish("1.1") { $0.stagesOnly = true }
        try await world.publish("1.2")
        let before = try await world.manifest()?.bytes
        #expect(await code { try await world.publisher(keys: nil).promote() } == "ota.key")
        #expect(try await world.manifest()?.bytes == before)
        // The deploy of an older build is a deliberate step back.
        let outcome = try await world.publisher().promote("1.1")
        #expect(outcome.what == .announced && outcome.sequence == 4)
        #expect(try await world.faults() == [])
    }

    @Test("Nothing staged, nothing to promote")
    func nothingStaged() async throws {
        let world = try await World.signed()
        #expect(await code { try await world.publisher().promote() } == "ota.nothing_staged")
    }

    @Test("UP-4: what is revoked stays revoked in every release that follows, and its files are not published again")
    func revoke() async throws {
        let world = try await World.signed()
        try await world.publish("1.0", "bad")
        #expect(await code { try await world.publisher().revoke("1.0") } == "ota.revoke_current")
        let bad = try #require(try await world.payload()).tree.digest
        try await world.publish("1.1")
        let outcome = try await world.publisher().revoke("1.0")
        #expect(outcome.sequence == 3)
        #expect(try await world.payload()?.revoked == [bad])
        #expect(try await world.publisher().revoke("1.0").what == .unchanged)
        try await world.publish("1.2")
        #expect(try await world.payload()?.revoked == [bad])
        #expect(await code { try await world.publisher().rollback(to: "1.0") } == "ota.revoked")
        #expect(await code { try await world.publish("1.3", "bad") } == "ota.revoked")
    }

    @Test("A rollout begins with part of the devices and is widened under the same salt")
    func rollout() async throws {
        let world = try await World.signed()
        try await world.publish("1.0") { $0.rollout.basisPoints = 250 }
        #expect(try await world.payload()?.rollout == .init(basisPoints: 250, salt: "1.0"))
        _ = try await world.publisher().rollOut(basisPoints: 10_000)
        let payload = try #require(try await world.payload())
        #expect(payload.rollout == .init(basisPoints: 10_000, salt: "1.0") && payload.sequence == 2)
    }

    @Test("Inspect says what the channel has")
    func inspect() async throws {
        let world = try await World.signed()
        try await world.publish("1.0")
        try await world.publish("1.1") { $0.stagesOnly = true }
        let answer = try await world.publisher(keys: nil).inspect()
        #expect(answer["version"] == "1.0" && answer["staged"] == "1.1" && answer["signed"] == true)
        #expect(answer["releases"]?.array?.compactMap { $0["version"]?.string } == ["1.0", "1.1"])
    }
}
