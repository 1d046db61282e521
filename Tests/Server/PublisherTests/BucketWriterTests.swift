// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreReleases
import NacreTesting
import Testing

@testable import NacrePublisher

@Suite("Whoever writes the bucket gets nothing signed (UP-4)")
struct BucketWriterTests {
    private let thief: PrivateKey
    private static let key = ReleaseStore.manifest("prod")

    init() throws { thief = try PrivateKey.generate(.edDSA) }

    /// What a publisher can be asked to do with a channel, by name.
    private static let tasks: [(name: String, task: @Sendable (World, ReleasePublisher) async throws -> Void)] = [
        ("publish", { world, publisher in try await world.publish("1.2", by: publisher) }),
        ("promote", { _, publisher in _ = try await publisher.promote("1.0") }),
        ("rollback", { _, publisher in _ = try await publisher.rollback(to: "1.0") }),
        ("revoke", { _, publisher in _ = try await publisher.revoke("1.0") }),
        ("roll out", { _, publisher in _ = try await publisher.rollOut(basisPoints: 5000) }),
        ("put", { world, publisher in _ = try await publisher.put(keySet: world.keySet()) }),
        (
            "freshness",
            { _, publisher in _ = try await publisher.freshness(signedBy: TestKeys.release, for: .seconds(60)) }
        ),
    ]

    /// The announced release with another signed part.
    private func changed(
        _ world: World, by key: PrivateKey, _ change: (inout ReleasePayload) -> Void
    ) async throws -> ReleaseManifest {
        var manifest = try #require(try await world.manifest())
        var payload = try #require(try await world.payload())
        change(&payload)
        (manifest.sequence, manifest.version) = (payload.sequence, payload.version)
        manifest.envelope = try SignedEnvelope(signing: payload.bytes, for: .release, with: [key])
        return manifest
    }

    private func write(_ world: World, _ name: String, _ bytes: [UInt8]) async throws {
        _ = try await world.bucket.put(name, .bytes(bytes), .always)
    }

    @Test("A key set that the app's roots have not signed gets nothing signed", arguments: tasks.map(\.name))
    func forgedKeySet(name: String) async throws {
        let world = try await World.signed()
        try await world.publish("1.0")
        try await world.publish("1.1")
        let forged = try world.keySet(release: [thief, TestKeys.release], signedBy: [thief])
        try await write(world, ReleaseStore.keySet("prod", 1), forged.json.bytes)
        let hostile = try await changed(world, by: thief) { $0.tree.digest = TreeDigest(of: [1]) }
        try await write(world, Self.key, hostile.bytes)
        try await write(world, ReleaseStore.release("prod", "1.0"), hostile.bytes)
        world.bucket.forget()
        let task = try #require(Self.tasks.first { $0.name == name }).task
        #expect(await code { try await task(world, world.publisher()) } == "ota.key_set")
        #expect(world.bucket.puts == [])
        // It is there to look at.
        #expect(try await world.publisher().inspect()["keySetFault"]?.string?.contains("signed none") == true)
    }

    @Test("Without the app's root keys nobody can tell a key set from a forged one", arguments: tasks.map(\.name))
    func noRoots(name: String) async throws {
        let world = try await World.signed()
        try await world.publish("1.0")
        try await world.publish("1.1")
        world.bucket.forget()
        let task = try #require(Self.tasks.first { $0.name == name }).task
        #expect(await code { try await task(world, world.publisher(roots: [])) } == "configuration.root_keys")
        #expect(world.bucket.puts == [])
    }

    @Test("UP-4: what a key has signed that was taken out of the key set is not signed anew, nor is its word passed on")
    func rotatedOut() async throws {
        let world = try await World.signed()
        try await world.publish("1.0")
        try await world.publish("1.1")
        let set = try await world.publisher().currentKeySet()
        let new = try PrivateKey.generate(.edDSA)
        // The old release key is a thief's from here on.
        _ = try await world.publisher().put(keySet: world.keySet(after: set, release: [new]))
        let publisher = try world.publisher(keys: PublisherKeys(archive: TestKeys.archive, release: new))
        let good = TreeDigest(of: [7])
        let hostile = try await changed(world, by: TestKeys.release) {
            $0.tree.digest = TreeDigest(of: [1])
            $0.revoked = [good]
        }
        try await write(world, Self.key, hostile.bytes)
        try await write(world, ReleaseStore.release("prod", "1.1"), hostile.bytes)
        #expect(await code { try await publisher.rollOut(basisPoints: 5000) } == "ota.release")
        #expect(await code { try await publisher.rollback(to: "1.0") } == "ota.release")
        #expect(await code { try await publisher.promote("1.0") } == "ota.release")
        #expect(try await world.manifest()?.bytes == hostile.bytes)
        try await world.publish("1.2", by: publisher)
        #expect(try #require(try await world.payload()).revoked == [])
        #expect(world.said.text.contains("not carried over"))
        // It can be named all the same, to be withdrawn.
        _ = try await publisher.revoke("1.0")
        #expect(try #require(try await world.payload()).revoked.count == 1)
        #expect(try await world.faults() == [])
    }

    @Test("UP-2: a release of another channel under the same keys is none of this one")
    func otherChannel() async throws {
        let world = try await World.signed()
        let beta = try world.publisher(channel: "beta")
        _ = try await beta.put(keySet: world.keySet())
        try await world.publish("0.9", by: beta)
        try await world.publish("1.0")
        let foreign = try #require(try await world.manifest("beta"))
        try await write(world, ReleaseStore.release("prod", "0.9"), foreign.bytes)
        try await write(world, ReleaseStore.bundle("prod", "0.9"), [1])
        #expect(await code { try await world.publisher().rollback(to: "0.9") } == "ota.release")
        #expect(try await world.manifest()?.version == "1.0")
    }

    @Test("UP-4: after a theft the channel goes on under a new key set, however high the thief's sequence was")
    func sequenceOfAThief() async throws {
        let world = try await World.signed()
        try await world.publish("1.0")
        let highest: Int64 = (1 << 53) - 1
        let hostile = try await changed(world, by: TestKeys.release) { $0.sequence = highest }
        try await write(world, Self.key, hostile.bytes)
        let fault = await #expect(throws: NacreError.self) { try await world.publish("1.1") }
        #expect(fault?.code == "ota.sequence" && fault?.message.contains("keys put") == true)
        let set = try await world.publisher().currentKeySet()
        let new = try PrivateKey.generate(.edDSA)
        _ = try await world.publisher().put(keySet: world.keySet(after: set, release: [new]))
        let keys = PublisherKeys(archive: TestKeys.archive, release: new)
        #expect(try await world.publish("1.1", by: world.publisher(keys: keys)).sequence == 2)
        // A number that nobody has signed moves nothing.
        let claim = "\(ReleaseStore.sequences("prod"))\(highest)-x.json"
        try await write(world, claim, Array("{}".utf8))
        #expect(try await world.publish("1.2", by: world.publisher(keys: keys)).sequence == 3)
    }

    private static let chains: [(what: String, epochs: [Int64], newest: Int64?, isFaulty: Bool)] = [
        ("from the first", [1, 2, 3], 3, false), ("without the first", [2, 3], 3, false),
        ("with a gap", [1, 3], 1, true),
        ("none", [], nil, false),
    ]

    @Test("A chain goes from set to set, and begins with any that the roots have signed", arguments: chains)
    func chain(what: String, epochs: [Int64], newest: Int64?, isFaulty: Bool) throws {
        let world = try World()
        var previous: ReleaseKeySet?
        let documents = try (1...3).map { epoch -> (epoch: Int64, bytes: [UInt8]) in
            let envelope = try world.keySet(after: previous)
            previous = try ReleaseKeySet(bytes: envelope.payload)
            return (Int64(epoch), envelope.json.bytes)
        }
        let chain = KeyChain(
            documents.filter { epochs.contains($0.epoch) }, from: try TestKeys.roots, app: "org.example.app")
        #expect(chain.newest?.epoch == newest)
        #expect((chain.fault != nil) == isFaulty)
    }

    @Test("A set under another's name, another app's, and what is no set end the chain with a reason")
    func faults() throws {
        let world = try World()
        let set = try world.keySet()
        let other = try world.keySet(app: "org.example.other")
        for (epoch, bytes) in [(2, set.json.bytes), (1, other.json.bytes), (1, Array("{}".utf8))] {
            let chain = KeyChain([(Int64(epoch), bytes)], from: try TestKeys.roots, app: "org.example.app")
            #expect(chain.newest == nil)
            #expect(chain.fault?.code == "ota.key_set" && chain.fault?.message.contains("epoch \(epoch)") == true)
        }
    }

    @Test("Sets of older roots' days are passed over, and what they signed counts no more")
    func newRoots() async throws {
        let world = try await World.signed()
        try await world.publish("1.0")
        let root = try PrivateKey.generate(.edDSA)
        var wish = KeyCeremony.Wish(app: "org.example.app", release: [try KeyText.releaseKey(TestKeys.release)])
        wish.roots = [try KeyText.releaseKey(root)]
        let set = try await world.publisher().currentKeySet()
        _ = try await world.publisher().put(
            keySet: KeyCeremony.make(wish, after: set, signedBy: [root, TestKeys.root], now: world.time.now))
        // A later build has the new root only.
        let later = try world.publisher(roots: [root])
        #expect(try await later.currentKeySet()?.epoch == 2)
        #expect(try await world.publish("1.1", by: later) { $0.force = true }.sequence == 2)
        #expect(try await world.faults() == [])
    }
}
