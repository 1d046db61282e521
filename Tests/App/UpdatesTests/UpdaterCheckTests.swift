// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreReleases
import NacreTesting
import NacreUpdatesTesting
import Testing

@testable import NacreUpdates

@Suite("Looking for a release, and bringing it")
struct UpdaterCheckTests {
    private static let channel = TestPublisher.channel
    private static let manifest = ReleaseStore.manifest(channel)

    @Test("UP-10: a patch is all that comes where one starts from a tree on the device")
    func patch() async throws {
        let world = try UpdateWorld()
        var draft = world.draft("1.1", 2)
        draft.bases = [UpdateWorld.builtIn]
        try world.publisher.publish(draft)
        let updater = try await world.start()
        #expect(await updater.check(isAsked: true) == .staged(version: "1.1"))
        #expect(world.bucket.requests.filter { $0.contains("/patches/") }.count == 1)
        #expect(!world.bucket.requests.contains { $0.contains("/objects/") || $0.contains("/bundles/") })
    }

    @Test("UP-10: a check reads the bundle inside the app once")
    func readOnce() async throws {
        let world = try UpdateWorld()
        var draft = world.draft("1.1", 2)
        draft.bases = [UpdateWorld.builtIn]
        try world.publisher.publish(draft)
        // The guards ask for room after it was read, and before the download: read again, it would be another tree.
        let disk = RationedDisk(looks: { path in
            guard path.hasSuffix("/updates"), world.bucket.requests.contains(Self.manifest) else { return }
            _ = try? world.folder.write("dist/late.txt", [1])
        })
        let updater = try await world.start(disk)
        #expect(await updater.check(isAsked: true) == .staged(version: "1.1"))
        #expect(world.folder.read("dist/late.txt") == [1])
        #expect(world.bucket.requests.filter { $0.contains("/patches/") }.count == 1)
        #expect(!world.bucket.requests.contains { $0.contains("/trees/") || $0.contains("/bundles/") })
    }

    @Test("UP-10: without a patch only files come that are not here")
    func objects() async throws {
        let world = try UpdateWorld()
        try world.publisher.publish(world.draft("1.1", 2))
        let updater = try await world.start()
        #expect(await updater.check(isAsked: true) == .staged(version: "1.1"))
        // Three of the four files are new; the picture is not.
        #expect(world.bucket.requests.filter { $0.contains("/objects/") }.count == 3)
    }

    @Test("UP-5: at last the archive")
    func archive() async throws {
        let world = try UpdateWorld()
        var draft = world.draft("1.1", 2)
        draft.hasObjects = false
        try world.publisher.publish(draft)
        let updater = try await world.start()
        #expect(await updater.check(isAsked: true) == .staged(version: "1.1"))
        #expect(world.bucket.requests.contains { $0.contains("/bundles/") })
    }

    @Test("UP-8: what is on the device already is shown without a download")
    func copy() async throws {
        let world = try await UpdaterTrialTests.confirmed()
        let updater = try await world.start()
        await updater.pageLoadStarted(1)
        await updater.confirm(pageLoad: 1)
        var back = world.draft("1.1", 4)
        back.change = { $0.rollbackOf = 2 }
        try world.publisher.publish(back)
        world.bucket.forget()
        #expect(await updater.check(isAsked: true) == .staged(version: "1.1"))
        #expect(world.bucket.requests == [Self.manifest])
    }

    @Test("A patch or a file that is damaged is no reason to stay behind: the next way is taken")
    func ways() async throws {
        let world = try UpdateWorld()
        var draft = world.draft("1.1", 2)
        draft.bases = [UpdateWorld.builtIn]
        try world.publisher.publish(draft)
        let patch = try #require(world.bucket.keys.first { $0.contains("/patches/") })
        world.bucket[patch] = [UInt8](repeating: 7, count: world.bucket[patch]?.count ?? 0)
        let object = ReleaseStore.object(Self.channel, TreeDigest(of: UpdateWorld.files("1.1")["app.js"] ?? []))
        world.bucket[object] = try PackedFile.pack(Array("something else".utf8))
        let updater = try await world.start()
        #expect(await updater.check(isAsked: true) == .staged(version: "1.1"))
        #expect(world.bucket.requests.contains { $0.contains("/bundles/") })
        #expect(
            try TreeFolder(world.folder.path + "/updates/bundles/\(try TestPublisher.tree(draft.files).digest)")
                .measure().digest == TestPublisher.tree(draft.files).digest)
    }

    @Test("A base on the device that was touched is not patched")
    func touchedBase() async throws {
        let world = try UpdateWorld()
        var draft = world.draft("1.1", 2)
        draft.bases = [UpdateWorld.builtIn]
        try world.publisher.publish(draft)
        try world.folder.write("dist/app.js", Array("touched".utf8))
        let updater = try await world.start()
        #expect(await updater.check(isAsked: true) == .staged(version: "1.1"))
        #expect(!world.bucket.requests.contains { $0.contains("/patches/") })
    }

    @Test(
        "A download goes on where it stood, and a store that lies about it is not believed",
        arguments: [
            [TestBucket.Fault.cut(300)], [.cut(300), .otherPart], [.cut(300), .whole], [.cut(300), .status(416)],
            [.cut(1), .cut(2)], [.unreachable], [.short(10)], [.cut(300), .flipped(9)],
        ])
    func resume(faults: [TestBucket.Fault]) async throws {
        let world = try UpdateWorld()
        var draft = world.draft("1.1", 2)
        draft.hasObjects = false
        try world.publisher.publish(draft)
        let key = ReleaseStore.bundle(Self.channel, "1.1")
        for fault in faults { world.bucket.fail(key, fault) }
        let updater = try await world.start()
        #expect(await updater.check(isAsked: true) == .staged(version: "1.1"))
        if case .cut(let count) = faults[0], count > 1 {
            #expect(world.bucket.requests.contains("\(key) bytes=\(count)-"))
        }
    }

    @Test(
        "What is not what was signed is refused, and nothing of it is left",
        arguments: [
            TestBucket.Fault.flipped(100), .longer(1), .status(404), .status(403), .status(500),
            .redirect("http://bucket.example.org/channels/production/bundles/1.1.zip"),
            .redirect("/channels/production/bundles/1.1.zip/"),
        ])
    func damaged(fault: TestBucket.Fault) async throws {
        let world = try UpdateWorld()
        var draft = world.draft("1.1", 2)
        draft.hasObjects = false
        try world.publisher.publish(draft)
        for _ in 0..<8 { world.bucket.fail(ReleaseStore.bundle(Self.channel, "1.1"), fault) }
        let updater = try await world.start()
        guard case .failed = await updater.check(isAsked: true) else {
            Issue.record("a damaged release was taken")
            return
        }
        #expect(await updater.status.staged == nil)
        #expect(try SystemDisk().names(in: world.folder.path + "/updates/bundles").isEmpty)
        // All is well again, and the same release is taken: a failure of the network condemns nothing.
        world.bucket.heal()
        #expect(await updater.check(isAsked: true) == .staged(version: "1.1"))
    }

    /// Everything but the archive is gone, and that is served so.
    private func archiveOnly(_ fault: TestBucket.Fault, times: Int = 8) throws -> UpdateWorld {
        let world = try UpdateWorld()
        var draft = world.draft("1.1", 2)
        draft.hasObjects = false
        try world.publisher.publish(draft)
        for _ in 0..<times { world.bucket.fail(ReleaseStore.bundle(Self.channel, "1.1"), fault) }
        return world
    }

    @Test("A part that was not asked for is not put behind what is here")
    func otherPart() async throws {
        let world = try archiveOnly(.cut(300), times: 1)
        world.bucket.fail(ReleaseStore.bundle(Self.channel, "1.1"), .otherPart, .status(500))
        let updater = try await world.start()
        // The lie is found at its head: what is here is thrown away, and the next request is for the whole.
        guard case .failed(code: "update.unwell", _) = await updater.check(isAsked: true) else {
            throw Wrong("a foreign part was read")
        }
        #expect(world.bucket.requests.last == ReleaseStore.bundle(Self.channel, "1.1"))
    }

    @Test("UP-5: what was fetched whole and is not what was signed is not even opened")
    func flipped() async throws {
        let world = try archiveOnly(.flipped(100))
        let updater = try await world.start()
        guard case .failed(code: "update.damaged", _) = await updater.check(isAsked: true) else {
            throw Wrong("an archive of nobody's was opened")
        }
    }

    @Test("UP-5: not one byte more than was signed is kept")
    func endless() async throws {
        let world = try archiveOnly(.longer(500_000))
        let updater = try await world.start()
        guard case .failed(code: "update.too_long", _) = await updater.check(isAsked: true) else {
            throw Wrong("an endless answer was read to its end")
        }
    }

    @Test("No redirect of a release leads out of TLS")
    func cleartext() async throws {
        let world = try archiveOnly(
            .redirect("http://bucket.example.org/channels/production/bundles/1.1.zip"), times: 1)
        let updater = try await world.start()
        guard case .failed(code: "update.cleartext", _) = await updater.check(isAsked: true) else {
            throw Wrong("an address without TLS was asked")
        }
    }

    @Test("A file that is not the one that was asked for is not written down")
    func damagedFile() async throws {
        let world = try UpdateWorld()
        try world.publisher.publish(world.draft("1.1", 2))
        let digest = TreeDigest(of: UpdateWorld.files("1.1")["app.js"] ?? [])
        world.bucket[ReleaseStore.object(Self.channel, digest)] = try PackedFile.pack(Array("else".utf8))
        for _ in 0..<8 { world.bucket.fail(ReleaseStore.bundle(Self.channel, "1.1"), .status(404)) }
        let updater = try await world.start()
        _ = await updater.check(isAsked: true)
        #expect(try !SystemDisk().names(in: world.folder.path + "/updates/downloads").contains(digest.description))
    }

    @Test("A release without index.html is not put on the shelf")
    func withoutIndex() async throws {
        let world = try UpdateWorld()
        var draft = world.draft("1.1", 2)
        draft.files["index.html"] = nil
        try world.publisher.publish(draft)
        let updater = try await world.start()
        guard case .failed(code: "update.index", _) = await updater.check(isAsked: true) else {
            Issue.record("a release without a page was taken")
            return
        }
    }

    @Test("UP-1: off without an address, early within 30 minutes, asked for at any time, one at a time")
    func when() async throws {
        let world = try UpdateWorld()
        let updater = try await world.start()
        let named = world.source
        world.source = nil
        #expect(await updater.check(isAsked: true) == .off)
        world.source = named
        try world.publisher.publish(world.draft("0.1", 1))
        guard case .refused = await updater.check(isAsked: false) else { throw Wrong("not refused") }
        #expect(await updater.check(isAsked: false) == .early)
        world.time.advance(by: .seconds(1799))
        #expect(await updater.check(isAsked: false) == .early)
        world.time.advance(by: .seconds(2))
        #expect(await updater.check(isAsked: false) == .current)
        try world.publisher.publish(world.draft("1.1", 2))
        world.bucket.forget()
        async let one = updater.check(isAsked: true)
        async let two = updater.check(isAsked: true)
        #expect(await [one, two] == [.staged(version: "1.1"), .staged(version: "1.1")])
        #expect(world.bucket.requests.filter { $0 == Self.manifest }.count == 1)
    }

    @Test("UP-7: the confirm precedes any check")
    func trialFirst() async throws {
        let world = try await UpdaterTrialTests.staged()
        let updater = try await world.start()
        #expect(await updater.check(isAsked: true) == .early)
    }

    @Test("A check that finds nothing is one request, and with a fresh word of the server none")
    func nothingNew() async throws {
        let world = try await UpdaterTrialTests.staged()
        let updater = try await world.start()
        await updater.pageLoadStarted(1)
        await updater.confirm(pageLoad: 1)
        world.bucket.forget()
        #expect(await updater.check(isAsked: true) == .current)
        #expect(world.bucket.requests == [Self.manifest])
        #expect(world.bucket.sent == 0)
        let bytes = try #require(world.bucket[Self.manifest])
        let envelope = try #require(try ReleaseManifest(bytes: bytes).envelope)
        let word = FreshnessStatement(
            app: TestPublisher.app, channel: Self.channel, release: TreeDigest(of: envelope.payload), sequence: 2,
            expires: world.time.now + .seconds(600))
        let signed = try SignedEnvelope(signing: word.bytes, for: .freshness, with: [world.publisher.freshness])
        world.source = UpdateSource(manifestURL: TestPublisher.manifestURL, freshness: signed.json)
        world.bucket.forget()
        #expect(await updater.check(isAsked: true) == .current)
        #expect(world.bucket.requests.isEmpty)
        // Out of date it says nothing.
        world.time.advance(by: .seconds(601))
        #expect(await updater.check(isAsked: true) == .current)
        #expect(world.bucket.requests == [Self.manifest])
    }

    @Test("A fresh word stands for an expiry, of the release that it names only")
    func freshness() async throws {
        let world = try UpdateWorld()
        var draft = world.draft("1.1", 2)
        draft.change = { $0.expires = $0.issued + .seconds(60) }
        let manifest = try world.publisher.publish(draft)
        world.time.advance(by: .seconds(120))
        let updater = try await world.start()
        guard case .refused = await updater.check(isAsked: true) else { throw Wrong("an expired one is taken") }
        let payload = try #require(manifest.envelope?.payload)
        func name(_ release: [UInt8], _ key: PrivateKey) throws {
            let word = FreshnessStatement(
                app: TestPublisher.app, channel: Self.channel, release: TreeDigest(of: release), sequence: 2,
                expires: world.time.now + .seconds(600))
            let signed = try SignedEnvelope(signing: word.bytes, for: .freshness, with: [key])
            world.source = UpdateSource(manifestURL: TestPublisher.manifestURL, freshness: signed.json)
        }
        try name([1], world.publisher.freshness)
        guard case .refused = await updater.check(isAsked: true) else { throw Wrong("another's word counts") }
        try name(payload, world.publisher.release)
        guard case .refused = await updater.check(isAsked: true) else { throw Wrong("anybody's word counts") }
        try name(payload, world.publisher.freshness)
        #expect(await updater.check(isAsked: true) == .staged(version: "1.1"))
    }

    @Test("UP-4: a forged sequence cannot freeze a device, and an old manifest is refused")
    func floors() async throws {
        let world = try await UpdaterTrialTests.confirmed()
        let updater = try await world.start()
        await updater.pageLoadStarted(1)
        await updater.confirm(pageLoad: 1)
        var forged = world.draft("9.9", 1_000_000)
        forged.key = try PrivateKey.generate(.edDSA)
        try world.publisher.publish(forged)
        guard case .refused(let why) = await updater.check(isAsked: true) else { throw Wrong("forged taken") }
        #expect(why.hasPrefix("signature"))
        try world.publisher.publish(world.draft("1.1", 2))
        guard case .refused(let old) = await updater.check(isAsked: true) else { throw Wrong("replay taken") }
        #expect(old.hasPrefix("sequence"))
        try world.publisher.publish(world.draft("1.3", 4))
        #expect(await updater.check(isAsked: true) == .staged(version: "1.3"))
    }

    @Test("UP-4: the store build's own sequence is a floor")
    func storeFloor() async throws {
        let world = try UpdateWorld()
        try world.publisher.publish(world.draft("1.1", 5))
        let updater = try await world.start(SystemDisk()) { $0.builtInSequence = 5 }
        guard case .refused(let why) = await updater.check(isAsked: true) else { throw Wrong("taken") }
        #expect(why.hasPrefix("sequence"))
    }

    @Test("A newer release that leads back to what runs takes the staged one away")
    func backToRunning() async throws {
        let world = try await UpdaterTrialTests.confirmed()
        world.isHeld = true
        let updater = try await world.start()
        #expect(await updater.running.version == "1.1")
        try world.publisher.publish(world.draft("1.1", 4))
        #expect(await updater.check(isAsked: true) == .current)
        #expect(await updater.status.staged == nil)
    }

    @Test("New keys are followed one set after another, and a set that nobody vouches for is not")
    func keys() async throws {
        let world = try await UpdaterTrialTests.staged()
        let updater = try await world.start()
        await updater.pageLoadStarted(1)
        await updater.confirm(pageLoad: 1)
        let next = try PrivateKey.generate(.edDSA)
        try world.publisher.publishKeys(epoch: 2)
        try world.publisher.publishKeys(epoch: 3, release: next)
        var draft = world.draft("1.2", 3)
        (draft.key, draft.change) = (next, { $0.keyEpoch = 3 })
        try world.publisher.publish(draft)
        let good = world.bucket[ReleaseStore.keySet(Self.channel, 3)]
        let set = ReleaseKeySet(
            app: TestPublisher.app, epoch: 3, issued: world.time.now, expires: world.time.now + .seconds(900),
            roots: try RootKeys([ReleaseKey(next.publicKey)]), release: [ReleaseKey(next.publicKey)])
        world.bucket[ReleaseStore.keySet(Self.channel, 3)] = try SignedEnvelope(
            signing: set.bytes, for: .keySet, with: [next]
        ).json.bytes
        guard case .failed(code: "release.key_set", _) = await updater.check(isAsked: true) else {
            throw Wrong("anybody's keys are taken")
        }
        world.bucket[ReleaseStore.keySet(Self.channel, 3)] = good
        #expect(await updater.check(isAsked: true) == .staged(version: "1.2"))
    }

    @Test("New roots in the app itself are the last word: whom others have named counts no more")
    func newRoots() async throws {
        let world = try await UpdaterTrialTests.staged()
        let roots = try RootKeys([ReleaseKey(try PrivateKey.generate(.edDSA).publicKey)])
        let updater = try await world.start(SystemDisk()) { $0.roots = roots }
        await updater.pageLoadStarted(1)
        await updater.confirm(pageLoad: 1)
        try world.publisher.publish(world.draft("1.2", 3))
        guard case .failed(code: "release.key_set", _) = await updater.check(isAsked: true) else {
            throw Wrong("the keys of the old roots are followed")
        }
    }

    @Test("A publisher's clock that runs ahead does not let everything after it be expired")
    func clockAhead() async throws {
        let world = try UpdateWorld()
        var draft = world.draft("1.1", 2)
        draft.change = {
            $0.issued = $0.issued + .seconds(10 * 365 * 86_400)
            $0.expires = $0.issued + .seconds(86_400)
        }
        try world.publisher.publish(draft)
        let updater = try await world.start()
        #expect(await updater.check(isAsked: true) == .staged(version: "1.1"))
        try world.publisher.publish(world.draft("1.2", 3))
        #expect(await updater.check(isAsked: true) == .staged(version: "1.2"))
    }

    @Test("A build with the archive key alone follows the source system's manifests, and their rules")
    func sourceSystem() async throws {
        let world = try UpdateWorld()
        var manifest = try world.publisher.prepare(world.draft("1.1", 2))
        manifest.envelope = nil
        world.bucket[Self.manifest] = manifest.bytes
        do {
            let updater = try await world.start(SystemDisk()) { $0.roots = nil }
            #expect(await updater.check(isAsked: true) == .staged(version: "1.1"))
        }
        let updater = try await world.start(SystemDisk()) { $0.roots = nil }
        #expect(await updater.running.version == "1.1")
        await updater.pageLoadStarted(1)
        await updater.confirm(pageLoad: 1)
        manifest.seal = SourceSystemSeal(sessionKey: "", checksum: manifest.seal.checksum)
        manifest.sequence = 3
        world.bucket[Self.manifest] = manifest.bytes
        guard case .refused = await updater.check(isAsked: true) else { throw Wrong("unsigned is taken") }
    }

    /// A manifest of the source system's: nobody has signed the tree.
    private func unsigned(_ world: UpdateWorld, _ draft: TestPublisher.Draft) throws {
        var manifest = try world.publisher.prepare(draft)
        manifest.envelope = nil
        world.bucket[Self.manifest] = manifest.bytes
    }

    @Test("A second process asks the bucket for nothing, whatever keys the build has: the folders are the first one's")
    func secondProcess() async throws {
        let world = try UpdateWorld()
        try unsigned(world, world.draft("1.1", 2))
        let first = try await world.start(SystemDisk()) { $0.roots = nil }
        let second = try await world.start(SystemDisk()) { $0.roots = nil }
        guard case .failed(code: "update.second", _) = await second.check(isAsked: true) else {
            throw Wrong("a second process has checked")
        }
        #expect(world.bucket.requests.isEmpty)
        #expect(try SystemDisk().names(in: world.folder.path + "/updates/downloads").isEmpty)
        #expect(await first.check(isAsked: true) == .staged(version: "1.1"))
    }

    @Test("UP-5: the archive that is unpacked is the one that was verified, whatever its name means by then")
    func swapped() async throws {
        let world = try UpdateWorld()
        try unsigned(world, world.draft("1.1", 2))
        var entries: [(path: ReleasePath, file: String)] = []
        for (path, bytes) in UpdateWorld.files("6.6") {
            entries.append((try ReleasePath(path), try world.folder.write("other/" + path, bytes)))
        }
        let other = world.folder.path + "/other.zip"
        try ArchiveWriter.write(entries, to: other)
        let disk = RationedDisk(closes: { path in
            if path.hasSuffix("/work/archive") { try? SystemDisk().rename(other, to: path) }
        })
        let updater = try await world.start(disk) { $0.roots = nil }
        #expect(await updater.check(isAsked: true) == .staged(version: "1.1"))
        #expect(SystemDisk().size(of: other) == nil)
        let tree = try TestPublisher.tree(UpdateWorld.files("1.1")).digest
        #expect(try SystemDisk().names(in: world.folder.path + "/updates/bundles") == [tree.description])
    }

    @Test("Whatever write finds no room, nothing is half taken, and with room all goes on")
    func full() async throws {
        let probe = CrashDisk(root: "/tmp", stop: nil)
        do {
            let world = try UpdateWorld()
            try world.publisher.publish(world.draft("1.1", 2))
            _ = await (try await world.start(probe)).check(isAsked: true)
        }
        for stop in stride(from: 1, through: probe.steps, by: 3) {
            let world = try UpdateWorld()
            try world.publisher.publish(world.draft("1.1", 2))
            do {
                let disk = CrashDisk(root: world.folder.path + "/lost", stop: stop, end: .full)
                _ = await (try await world.start(disk)).check(isAsked: true)
            }
            let updater = try await world.start()
            if await updater.running.version == "0.1" {
                #expect(await updater.check(isAsked: true) == .staged(version: "1.1"), "step \(stop)")
            } else {
                let tree = try world.tree(of: await updater.running).digest
                #expect(tree == (try TestPublisher.tree(UpdateWorld.files("1.1"))).digest, "step \(stop)")
            }
        }
    }

    @Test("The part of the devices that a release is for is chosen by each for itself, and evenly")
    func draw() {
        let draws = (0..<2000).map { Updater.draw("device \($0)", "salt") }
        #expect(draws.allSatisfy { (0..<10_000).contains($0) })
        #expect((400...600).contains(draws.filter { $0 < 2500 }.count))
        #expect(Updater.draw("a", "salt") == Updater.draw("a", "salt"))
        #expect(Updater.draw("a", "salt") != Updater.draw("a", "pepper"))
    }

    @Test(
        "A channel is read from its manifest's address",
        arguments: [
            ("https://b.example/channels/prod/manifest.json", "https://b.example/", "prod"),
            ("https://b.example/bucket/channels/dev/manifest.json?x=1", "https://b.example/bucket/", "dev"),
            ("https://b.example/elsewhere/manifest.json", "https://b.example/elsewhere/", "default"),
            ("https://b.example/channels/.x/manifest.json", "https://b.example/channels/.x/", "default"),
        ])
    func place(url: String, root: String, channel: String) throws {
        let place = ChannelPlace(try .init(url))
        #expect(place.root.description == root)
        #expect(place.channel == channel)
    }

    @Test("The report says why this bundle, why not that one, and the last ten decisions")
    func report() async throws {
        let world = try await UpdaterTrialTests.staged()
        let updater = try await world.start()
        await updater.pageLoadStarted(1)
        await updater.pageCrashed()
        for sequence in Int64(3)..<20 {
            var draft = world.draft("2.\(sequence)", sequence)
            draft.change = { $0.platforms = ["ios"] }
            try world.publisher.publish(draft)
            _ = await updater.check(isAsked: true)
        }
        let report = await updater.report()
        #expect(report["running"]?["version"] == "0.1")
        #expect(report["failed"]?.array?.first?["reason"] == "crashed")
        #expect(report["decisions"]?.array?.count == 10)
        #expect(report["decisions"]?.array?.last?["why"]?.string?.contains("not for linux") == true)
    }
}
