// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreHTTP
import NacreReleases
import NacreTesting
import Synchronization
import Testing

@testable import NacrePublisher

@Suite("Publishing when things go wrong (UP-9, UP-12)")
struct PublishFaultTests {
    @Test(
        "Killed before any put, the channel keeps its release, no key ever gets other bytes, and the next try goes through"
    )
    func killedAnywhere() async throws {
        let count = try await puts()
        #expect(count >= 8)
        for point in 0..<count {
            let world = try await World.signed()
            try await world.publish("1.0")
            let before = try await world.manifest()?.bytes
            let done = Mutex(0)
            world.bucket.before { verb, key in
                // The dead do not clean up either.
                let number = done.withLock { done in
                    if verb == "put" { done += 1 }
                    return done
                }
                if number > point { throw NacreError("test.killed", "Killed before \(key).") }
            }
            #expect(await code { try await world.publish("1.1") } == "test.killed")
            world.bucket.before(nil)
            #expect(try await world.manifest()?.bytes == before)
            #expect(try await world.faults() == [])
            #expect(try await world.publish("1.1").what == .announced)
            #expect(try await world.faults() == [])
            expectImmutable(world)
        }
    }

    private func puts() async throws -> Int {
        let world = try await World.signed()
        try await world.publish("1.0")
        world.bucket.forget()
        try await world.publish("1.1")
        return world.bucket.puts.count
    }

    private func expectImmutable(_ world: World) {
        var seen: [String: [UInt8]] = [:]
        for put in world.bucket.puts where ServedAs(put.key).cacheControl != "no-cache" {
            #expect(seen[put.key] == nil || seen[put.key] == put.bytes, "\(put.key) got other bytes")
            seen[put.key] = put.bytes
        }
    }

    @Test(
        "UP-12: what the public address does not give back as it was put is not announced",
        arguments: ["/objects/", "/trees/", "/patches/", "/bundles/", "/releases/"], [true, false])
    func readBack(part: String, isMissing: Bool) async throws {
        let world = try await World.signed()
        try await world.publish("1.0")
        let before = try await world.manifest()?.bytes
        world.site.spoil { key, bytes in
            guard key.contains(part) else { return bytes }
            guard !isMissing else { return nil }
            var bytes = bytes
            bytes[bytes.count / 2] ^= 1
            return bytes
        }
        let fault = await code { try await world.publish("1.1") }
        let expected = isMissing ? "release.missing" : part == "/releases/" ? "ota.refused" : "release.damaged"
        #expect(fault == expected)
        #expect(try await world.manifest()?.bytes == before)
    }

    @Test(
        "Two publishers at once: the one that announces second says so, and the first one's release stands",
        arguments: [true, false])
    func twoAtOnce(keeps: Bool) async throws {
        let world = try await World.signed(keeps: keeps)
        try await world.publish("1.0")
        let second = try world.publisher()
        let started = Mutex(false)
        world.bucket.before { verb, key in
            let isFirst = started.withLock { started in
                defer { started = started || key.hasSuffix("/manifest.json") }
                return key.hasSuffix("/manifest.json") && !started
            }
            // Between everything else of the one and its manifest, all of the other happens.
            if isFirst, keeps { try await world.publish("2.0", by: second) }
        }
        if keeps {
            #expect(await code { try await world.publish("1.1") } == "ota.other_publisher")
            #expect(try await world.manifest()?.version == "2.0")
        } else {
            // A store that keeps no conditions: whoever comes second stands back before it puts anything.
            world.bucket.before { verb, key in
                guard verb == "put", key.contains("/bundles/1.1") else { return }
                let puts = world.bucket.puts.count
                #expect(await code { try await world.publish("2.0", by: second) } == "ota.other_publisher")
                #expect(world.bucket.puts.dropFirst(puts).allSatisfy { $0.key.contains("/sequences/") })
            }
            #expect(try await world.publish("1.1").what == .announced)
            #expect(try await world.manifest()?.version == "1.1")
        }
        world.bucket.before(nil)
        #expect(try await world.faults() == [])
    }

    @Test("Two publishers of one version: one wins, and the other says that the version is used")
    func sameVersion() async throws {
        let world = try await World.signed()
        try await world.publish("1.0")
        let second = try world.publisher()
        world.bucket.before { verb, key in
            guard verb == "put", key.hasSuffix("/bundles/1.1.zip") else { return }
            world.bucket.before(nil)
            try await world.publish("1.1", "other", by: second)
        }
        #expect(await code { try await world.publish("1.1", "one") } == "ota.version_used")
        #expect(try await world.faults() == [])
    }

    @Test("Without conditions: a manifest that changed under way is not overwritten")
    func changedUnderWay() async throws {
        let world = try await World.signed(keeps: false)
        try await world.publish("1.0")
        world.bucket.before { verb, key in
            guard verb == "put", key.contains("/releases/") else { return }
            world.bucket.before(nil)
            // Somebody who takes no claims, such as the source system's publisher.
            var manifest = try #require(try await world.manifest())
            manifest.sequence = 9
            _ = try await world.bucket.inner.put(ReleaseStore.manifest("prod"), .bytes(manifest.bytes), .always)
        }
        #expect(await code { try await world.publish("1.1") } == "ota.other_publisher")
        #expect(try await world.manifest()?.sequence == 9)
    }

    @Test("Without conditions: the claim of a publisher that was killed holds others up for ten minutes, not for ever")
    func oldClaim() async throws {
        let world = try await World.signed(keeps: false)
        let claim = SequenceClaim(sequence: 7, channel: "prod", random: SystemRandom())
        let body: JSONValue = ["sequence": 7, "version": "1.0", "at": .integer(world.time.now.milliseconds)]
        _ = try await world.bucket.put(claim.key, .bytes(body.bytes), .always)
        #expect(await code { try await world.publish("1.1") } == "ota.other_publisher")
        world.time.advance(by: .seconds(601))
        #expect(try await world.publish("1.1").sequence == 8)
    }

    @Test("Cancelled while a patch is made, nothing is announced and no folder is left behind")
    func cancelled() async throws {
        let world = try await World.signed()
        try await world.publish("1.0")
        let before = try await world.manifest()?.bytes
        let folders = { try FileManager.default.contentsOfDirectory(atPath: world.folder.path).count }
        let task = Mutex<Task<PublishOutcome, any Error>?>(nil)
        let request = PublishRequest(folder: try world.build("1.1"), version: "1.1")
        let count = try folders()
        let publisher = try world.publisher()
        world.bucket.before { verb, key in
            if verb == "put", key.contains("/trees/") { task.withLock { $0?.cancel() } }
        }
        let running = Task {
            while task.withLock({ $0 == nil }) { await Task.yield() }
            return try await publisher.publish(request)
        }
        task.withLock { $0 = running }
        await #expect(throws: (any Error).self) { try await running.value }
        #expect(try await world.manifest()?.bytes == before)
        #expect(try folders() == count)
    }

    @Test(
        "Verify finds whatever is damaged in the store", arguments: ["objects", "trees", "patches", "bundles", "keys"])
    func verifyFinds(part: String) async throws {
        let world = try await World.signed()
        for version in ["1.0", "1.1"] { try await world.publish(version) }
        #expect(try await world.faults() == [])
        world.site.spoil { key, bytes in
            guard key.contains("/\(part)/") else { return bytes }
            var bytes = bytes
            bytes[bytes.count / 2] ^= 1
            return bytes
        }
        let faults = try? await world.faults()
        #expect(faults != [])
    }

    @Test(
        "Verify goes where an app goes: a manifest that names another place for its bundle is found",
        arguments: [
            "https://bucket.example.org/app/channels/prod/bundles/0.9.zip", "https://elsewhere.example.org/1.0.zip",
        ],
        [true, false])
    func otherPlace(url: String, readsBucket: Bool) async throws {
        let world = try await World.signed()
        try await world.publish("1.0")
        var manifest = try #require(try await world.manifest())
        manifest.url = url
        _ = try await world.bucket.put(ReleaseStore.manifest("prod"), .bytes(manifest.bytes), .always)
        let ways = try await world.publisher(readsBucket: readsBucket).verify(
            world.trust, builtIns: [], previous: 0, platform: "linux")
        #expect(ways.filter { $0.fault != nil }.map(\.what) == ["archive"])
        #expect(try folders(world) == 0)
    }

    private func folders(_ world: World) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: world.folder.path).count { $0.hasPrefix("nacre-ota-") }
    }

    @Test("The app's requests are answered from the bucket, and from nowhere else")
    func bucketTransport() async throws {
        let world = try await World.signed()
        try await world.publish("1.0+a")
        try Data("secret".utf8).write(to: URL(filePath: world.folder.path + "/secret"))
        let work = try WorkFolder(in: world.folder.path, random: SystemRandom())
        let transport = try BucketSource(world.bucket).transport(under: base, world.threads, work)
        func status(_ path: String) async throws -> Int {
            try await transport.send(HTTPRequest(.get, try WebURL("https://bucket.example.org" + path))).status.rawValue
        }
        #expect(try await status("/app/channels/prod/manifest.json") == 200)
        #expect(try await status("/channels/prod/manifest.json") == 404)
        #expect(try await status("/app/channels/prod/none") == 404)
        for way in ["../secret", "channels/../../secret", "%2e%2e/secret", "%2E%2E%2Fsecret"] {
            #expect(try await status("/app/" + way) == 404, "\(way)")
        }
        let url = try WebURL(world.publisher().bundleURL("1.0+a"))
        let bundle = try await transport.send(HTTPRequest(.get, url)).body.collect(upTo: 1_000_000)
        #expect(
            bundle
                == Array(
                    try Data(
                        contentsOf: URL(filePath: world.folder.path + "/bucket/" + ReleaseStore.bundle("prod", "1.0+a"))
                    )))
    }

    @Test("Verify finds a release that signs another bundle than the one that lies there")
    func signedWrong() async throws {
        let world = try await World.signed()
        try await world.publish("1.0")
        var manifest = try #require(try await world.manifest())
        var payload = try #require(try await world.payload())
        payload.archive.digest = payload.tree.digest
        manifest.envelope = try SignedEnvelope(signing: payload.bytes, for: .release, with: [TestKeys.release])
        _ = try await world.bucket.put(ReleaseStore.manifest("prod"), .bytes(manifest.bytes), .always)
        #expect(try await world.faults().count == 1)
    }
}
