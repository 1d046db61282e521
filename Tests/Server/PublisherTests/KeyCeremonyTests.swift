// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreReleases
import NacreTesting
import Testing

@testable import NacrePublisher

@Suite("Keys of updates (UP-9)")
struct KeyCeremonyTests {
    @Test("UP-9: keygen gives a matched pair, each half one line of base64 of a PEM")
    func pair() throws {
        let lines = try KeyCeremony.archivePair()
        #expect(lines.map(\.name) == [PublisherKeys.archivePublicVariable, PublisherKeys.archiveVariable])
        #expect(lines.allSatisfy { !$0.value.contains("\n") })
        let texts = try lines.map { String(decoding: try #require(Base64.decode($0.value)), as: UTF8.self) }
        #expect(texts[0].hasPrefix("-----BEGIN RSA PUBLIC KEY-----\n"))
        #expect(texts[1].hasPrefix("-----BEGIN RSA PRIVATE KEY-----\n"))
        let environment = Dictionary(uniqueKeysWithValues: lines.map { ($0.name, $0.value) })
        let keys = try PublisherKeys(environment: environment)
        #expect(try KeyText.rsaPublicKey(lines[0].value, "x").pem == keys.archive.publicKey.pem)
    }

    @Test("Halves of two pairs are refused before anything is published, and no value is repeated")
    func mismatch() throws {
        let one = try KeyCeremony.archivePair()
        let other = try KeyCeremony.archivePair()
        let fault = #expect(throws: NacreError.self) {
            try PublisherKeys(environment: [one[0].name: one[0].value, other[1].name: other[1].value])
        }
        #expect(fault?.code == "ota.key")
        #expect(fault.map { !"\($0)".contains(other[1].value) } == true)
    }

    @Test(
        "What is no key is refused without being repeated",
        arguments: ["x", "LS0tLS1CRUdJTiBYLS0tLS0=", "-----BEGIN X"])
    func noKey(text: String) {
        for name in [PublisherKeys.archiveVariable, PublisherKeys.releaseVariable] {
            let fault = #expect(throws: NacreError.self) {
                try KeyText.privateKey(name, in: [name: text], .rs256)
            }
            #expect(fault?.message.contains(name) == true)
            #expect(text.utf8.count < 3 || fault?.message.contains(text) == false)
        }
    }

    @Test("A PEM is read as base64, as it is, and with its line ends written out")
    func forms() throws {
        let pem = TestKeys.release.pem
        for text in [KeyText.line(pem), pem, pem.split(separator: "\n").joined(separator: "\\n")] {
            let key = try KeyText.privateKey("X", in: ["X": text], .edDSA)
            #expect(key?.pem == pem)
        }
    }

    @Test("A key set that follows is signed by the old and the new roots, and put only then")
    func rotation() async throws {
        let world = try await World.signed()
        let publisher = try world.publisher()
        let first = try await publisher.currentKeySet()
        let newRoot = try PrivateKey.generate(.edDSA)
        var wish = KeyCeremony.Wish(app: "org.example.app", release: [try KeyText.releaseKey(TestKeys.release)])
        wish.roots = [try KeyText.releaseKey(newRoot)]
        let half = try KeyCeremony.make(wish, after: first, signedBy: [newRoot], now: world.time.now)
        #expect(await code { try await publisher.put(keySet: half) } == "release.key_set")
        let whole = try KeyCeremony.sign(half, with: [TestKeys.root])
        #expect(try await publisher.put(keySet: whole).epoch == 2)
        try await world.publish("1.0")
        #expect(try await world.payload()?.keyEpoch == 2)
        // An app with the first root goes from set to set; one that knows neither root takes nothing.
        #expect(try await world.faults() == [])
        let stranger = AppTrust(
            roots: try RootKeys([KeyText.releaseKey(PrivateKey.generate(.edDSA))]),
            archiveKey: TestKeys.archive.publicKey)
        let ways = try await publisher.verify(stranger, builtIns: [], previous: 0, platform: "linux")
        #expect(ways.contains { $0.fault != nil })
    }

    @Test("Another app's set, a first set of a later epoch, and a second set of one epoch are refused")
    func refused() async throws {
        let world = try World()
        let publisher = try world.publisher()
        #expect(
            await code { try await publisher.put(keySet: world.keySet(app: "org.example.other")) } == "release.key_set")
        let first = try world.keySet()
        let second = try world.keySet(after: KeyCeremony.read(first.json.bytes).set)
        #expect(await code { try await publisher.put(keySet: second) } == "ota.key_set")
        _ = try await publisher.put(keySet: first)
        _ = try await publisher.put(keySet: second)
        #expect(await code { try await publisher.put(keySet: second) } == "release.key_set")
    }

    @Test("Threshold: a set that needs two roots is made by one and completed by the other")
    func threshold() async throws {
        let world = try World()
        let other = try PrivateKey.generate(.edDSA)
        var wish = KeyCeremony.Wish(app: "org.example.app", release: [try KeyText.releaseKey(TestKeys.release)])
        wish.roots = [try KeyText.releaseKey(TestKeys.root), try KeyText.releaseKey(other)]
        wish.threshold = 2
        let half = try KeyCeremony.make(wish, after: nil, signedBy: [TestKeys.root], now: world.time.now)
        #expect(await code { try await world.publisher().put(keySet: half) } == "release.key_set")
        let whole = try KeyCeremony.sign(half, with: [other])
        #expect(try await world.publisher().put(keySet: whole).roots.threshold == 2)
    }

    @Test(
        "Moments in words",
        arguments: [
            (Int64(0), "1970-01-01T00:00:00Z"), (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"), (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"), (1_440_938_160, "2015-08-30T12:36:00Z"),
        ])
    func moments(seconds: Int64, text: String) {
        #expect(Instant(seconds: seconds).iso8601 == text)
        #expect(Instant(seconds: 1_440_938_160).basicTime == "20150830T123600Z")
    }

    @Test(
        "The word that a release is still the newest is given for what the channel's own keys have signed, and ends soon"
    )
    func freshness() async throws {
        let world = try World()
        let publisher = try world.publisher()
        let key = try PrivateKey.generate(.edDSA)
        var wish = KeyCeremony.Wish(app: "org.example.app", release: [try KeyText.releaseKey(TestKeys.release)])
        wish.freshness = [try KeyText.releaseKey(key)]
        _ = try await publisher.put(
            keySet: KeyCeremony.make(wish, after: nil, signedBy: [TestKeys.root], now: world.time.now))
        let hour = Duration.seconds(3600)
        #expect(await code { try await publisher.freshness(signedBy: key, for: hour) } == "ota.nothing_published")
        try await world.publish("1.0")
        let set = try #require(try await publisher.currentKeySet())
        let word = try FreshnessStatement(await publisher.freshness(signedBy: key, for: hour), keys: set)
        let manifest = try #require(try await world.manifest())
        #expect(word.channel == "prod" && word.sequence == 1 && word.expires == world.time.now + hour)
        #expect(word.release == TreeDigest(of: try #require(manifest.envelope).payload))
        #expect(await code { try await publisher.freshness(signedBy: TestKeys.release, for: hour) } == "ota.key_set")
        var other = manifest
        other.sequence = 9
        _ = try await world.bucket.put(ReleaseStore.manifest("prod"), .bytes(other.bytes), .always)
        #expect(await code { try await publisher.freshness(signedBy: key, for: hour) } == "ota.foreign")
    }
}
