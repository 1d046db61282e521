// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreCrypto
import NacreReleases
import NacreTesting
import Testing

@testable import NacrePublisher

@Suite("Publishing (UP-2, UP-3, UP-9)")
struct PublishTests {
    @Test("UP-9: files go first, then list, patches, bundle and release, and the manifest last")
    func order() async throws {
        let world = try await World.signed()
        try await world.publish("1.0")
        world.bucket.forget()
        try await world.publish("1.1")
        let kinds = world.bucket.puts.map { put in
            let parts = put.key.split(separator: "/").map(String.init)
            return parts[2]
        }
        var stages: [String] = []
        for kind in kinds where stages.last != kind { stages.append(kind) }
        #expect(
            stages == ["sequences", "objects", "trees", "patches", "bundles", "releases", "manifest.json"])
        // What has not changed is not put again.
        #expect(kinds.filter { $0 == "objects" }.count == 2)
    }

    @Test("UP-3: the manifest is what the source system's clients read, and a device with root keys takes it too")
    func manifest() async throws {
        let world = try await World.signed()
        let outcome = try await world.publish("1.0")
        let manifest = try #require(try await world.manifest())
        #expect(outcome.what == .announced && manifest.version == "1.0" && manifest.sequence == 1)
        #expect(manifest.url == base + "/channels/prod/bundles/1.0.zip")
        #expect(manifest.seal.sessionKey.utf8.count == 369 && manifest.seal.checksum.utf8.count == 512)
        #expect(manifest.publishedAt == "2026-09-21T14:13:20Z")
        #expect(try await world.faults() == [])
        let payload = try #require(try await world.payload())
        #expect(payload.app == "org.example.app" && payload.channel == "prod" && payload.keyEpoch == 1)
        // UP-2: the archived release is the same.
        let archived = try await world.bucket.get(ReleaseStore.release("prod", "1.0"), upTo: 1_000_000)
        #expect(archived?.bytes == manifest.bytes)
    }

    @Test("UP-3: without a release key the manifest is the source system's alone")
    func legacy() async throws {
        let world = try World()
        let publisher = try world.publisher(keys: PublisherKeys(archive: TestKeys.archive, release: nil))
        let outcome = try await world.publish("12-abc", by: publisher)
        #expect(outcome.newObjects == nil)
        let manifest = try #require(try await world.manifest())
        #expect(manifest.envelope == nil)
        let trust = AppTrust(roots: nil, archiveKey: TestKeys.archive.publicKey)
        let ways = try await publisher.verify(trust, builtIns: [], previous: 3, platform: "linux")
        #expect(ways.map(\.what) == ["manifest, version 12-abc", "archive"] && ways.allSatisfy { $0.fault == nil })
    }

    @Test("UP-10: a release brings patches from the built-in trees and from the releases before it, and they work")
    func patches() async throws {
        let world = try await World.signed()
        let builtIn = try world.build("built in")
        for version in ["1.0", "1.1", "1.2", "1.3"] { try await world.publish(version) }
        let outcome = try await world.publish("1.4") {
            $0.builtIns = [builtIn]
            $0.previous = 2
        }
        #expect(outcome.patches.map(\.from) == [builtIn, "1.3", "1.2"])
        #expect(outcome.patches.allSatisfy { $0.bytes < 300 })
        let ways = try await world.publisher().verify(
            world.trust, builtIns: [builtIn], previous: 2, platform: "linux")
        #expect(ways.filter { $0.what.hasPrefix("patch from") }.count == 3)
        #expect(ways.allSatisfy { $0.fault == nil })
    }

    @Test("UP-9: a folder without index.html at its root is refused, and nothing is put")
    func index() async throws {
        let world = try await World.signed()
        for files in [["dist/index.html": "x"], ["index.html": ""]] {
            let request = PublishRequest(folder: try world.web(files), version: "1.0")
            #expect(await code { try await world.publisher().publish(request) } == "ota.index")
        }
        #expect(world.bucket.puts.isEmpty)
    }

    @Test("UP-9: without the key nothing is published, and the reason names it")
    func noKey() async throws {
        let world = try await World.signed()
        #expect(await code { try await world.publish("1.0", by: world.publisher(keys: nil)) } == "ota.key")
        let fault = #expect(throws: NacreError.self) { try PublisherKeys(environment: [:]) }
        #expect(fault?.message.contains("MOBILE_OTA_SIGNING_PRIVATE_KEY_B64") == true)
        // A channel with a key set is not published into without a release key.
        let half = PublisherKeys(archive: TestKeys.archive, release: nil)
        #expect(await code { try await world.publish("1.0", by: world.publisher(keys: half)) } == "ota.key")
        #expect(world.bucket.puts.isEmpty)
    }

    @Test("UP-9: a version that the channel has passed is refused, also where it is only staged; --force takes it")
    func passed() async throws {
        let world = try await World.signed()
        try await world.publish("1.10")
        #expect(await code { try await world.publish("1.9") } == "ota.version_passed")
        try await world.publish("1.12") { $0.stagesOnly = true }
        #expect(await code { try await world.publish("1.11") } == "ota.version_passed")
        let outcome = try await world.publish("1.9") { $0.force = true }
        #expect(outcome.what == .announced && outcome.sequence == 3)
    }

    @Test(
        "Versions tell their order where they have one",
        arguments: [
            ("1.9", "1.10", true), ("1.10", "1.9", false), ("1.0", "1.0", false), ("9-abc", "10-aaa", true),
            ("10-aaa", "9-abc", false), ("a1b2c3d4", "0.1.0", false), ("12345678", "87654321", false),
            ("1.0", "10-abc", false),
        ])
    func versionOrder(version: String, current: String, isPassed: Bool) {
        #expect(VersionOrder.isPassed(version, by: current) == isPassed)
    }

    @Test("A version used for other files is refused for ever; with the same files it is no mistake")
    func used() async throws {
        let world = try await World.signed()
        try await world.publish("1.0", "one")
        let before = try await world.manifest()?.bytes
        #expect(await code { try await world.publish("1.0", "two") } == "ota.version_used")
        #expect(await code { try await world.publish("1.0", "two") { $0.force = true } } == "ota.version_used")
        let again = try await world.publish("1.0", "one")
        #expect(again.what == .unchanged)
        #expect(try await world.manifest()?.bytes == before)
    }

    @Test("UP-9: the same files under other terms are not what was signed, and are refused by the term's name")
    func otherTerms() async throws {
        let world = try await World.signed()
        try await world.publish("1.0", "one")
        try await world.publish("1.1", "two") { $0.stagesOnly = true }
        #expect(
            await code { try await world.publish("1.1", "two") { $0.rollout.basisPoints = 500 } } == "ota.version_used")
        #expect(await code { try await world.publish("1.1", "two") { $0.storageEpoch = 1 } } == "ota.version_used")
        #expect(await code { try await world.publish("1.1", "two") { $0.platforms = ["ios"] } } == "ota.version_used")
        #expect(try await world.manifest()?.version == "1.0")
    }

    @Test("A bundle of a publication that was cut off is not replaced by another build's")
    func bundleUsed() async throws {
        let world = try await World.signed()
        world.bucket.before { verb, key in
            if verb == "put", key.contains("/releases/") { throw NacreError("test.killed", "Killed.") }
        }
        #expect(await code { try await world.publish("1.0", "one") } == "test.killed")
        world.bucket.before(nil)
        #expect(await code { try await world.publish("1.0", "two") } == "ota.version_used")
        #expect(try await world.publish("1.0", "one").what == .announced)
        #expect(try await world.faults() == [])
    }

    @Test("Names that would leave their place in the bucket are refused", arguments: ["", "..", "a/b", "Ü", ".x"])
    func names(name: String) async throws {
        let world = try await World.signed()
        #expect(await code { try await world.publish(name, "x") } == "ota.version")
        #expect(await code { try world.publisher(channel: name) } == "ota.channel")
    }

    @Test("A release that the channel's key set would not vouch for is not published")
    func keySets() async throws {
        let world = try World()
        #expect(await code { try await world.publish("1.0") } == "ota.key_set")
        _ = try await world.publisher().put(keySet: world.keySet(days: 100))
        #expect(
            await code { try await world.publish("1.0", by: world.publisher(app: "org.example.other")) }
                == "ota.key_set")
        let other = PublisherKeys(archive: TestKeys.archive, release: try PrivateKey.generate(.edDSA))
        #expect(await code { try await world.publish("1.0", by: world.publisher(keys: other)) } == "ota.key_set")
        world.time.advance(by: .seconds(80 * 86_400))
        try await world.publish("1.0")
        #expect(world.said.text.contains("expires on"))
        world.time.advance(by: .seconds(21 * 86_400))
        #expect(await code { try await world.publish("1.1") } == "ota.key_set")
    }

    @Test("A manifest that no key of the channel has signed is not built upon without --force")
    func foreign() async throws {
        let world = try await World.signed()
        try await world.publish("1.0")
        var manifest = try #require(try await world.manifest())
        manifest.envelope = try SignedEnvelope(
            signing: #require(manifest.envelope).payload, for: .release, with: [PrivateKey.generate(.edDSA)])
        _ = try await world.bucket.put(ReleaseStore.manifest("prod"), .bytes(manifest.bytes), .always)
        #expect(await code { try await world.publish("1.1") } == "ota.foreign")
        #expect(try await world.publish("1.1") { $0.force = true }.sequence == 2)
    }

    @Test("UP-3: a channel of the source system's publisher goes on under its sequence with the first key set")
    func adopted() async throws {
        let world = try World()
        let old = PublisherKeys(archive: TestKeys.archive, release: nil)
        try await world.publish("41-aaa", by: world.publisher(keys: old))
        try await world.publish("42-bbb", by: world.publisher(keys: old))
        _ = try await world.publisher().put(keySet: world.keySet())
        #expect(try await world.publish("43-ccc").sequence == 3)
        #expect(try await world.faults() == [])
    }

    @Test("UP-4: a sequence that no publisher reaches is not gone on from")
    func implausible() async throws {
        let world = try World()
        let old = PublisherKeys(archive: TestKeys.archive, release: nil)
        try await world.publish("1.0", by: world.publisher(keys: old))
        var manifest = try #require(try await world.manifest())
        manifest.sequence = 1 << 52
        _ = try await world.bucket.put(ReleaseStore.manifest("prod"), .bytes(manifest.bytes), .always)
        #expect(await code { try await world.publish("1.1", by: world.publisher(keys: old)) } == "ota.sequence")
    }

    @Test("Channels share nothing (UP-2)")
    func channels() async throws {
        let world = try await World.signed()
        try await world.publish("1.0")
        world.bucket.forget()
        let beta = try world.publisher(channel: "beta")
        _ = try await beta.put(keySet: world.keySet())
        try await world.publish("1.0", by: beta)
        #expect(world.bucket.puts.allSatisfy { $0.key.hasPrefix("channels/beta/") })
        #expect(world.bucket.puts.contains { $0.key.contains("/objects/") })
    }

    @Test("UP-12: the manifest is asked for each time, everything else is kept")
    func served() {
        #expect(ServedAs(ReleaseStore.manifest("prod")).cacheControl == "no-cache")
        #expect(ServedAs(ReleaseStore.release("prod", "1.0")).cacheControl.contains("immutable"))
        #expect(ServedAs(ReleaseStore.bundle("prod", "1.0")).type == "application/zip")
    }
}
