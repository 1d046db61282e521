// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import Testing

@testable import NacreReleases

/// One way to fall at a guard: what is wrong with the manifest and with the device.
struct Fall: Sendable, CustomTestStringConvertible {
    let guardName: ReleaseGuard
    let what: String
    var payload: @Sendable (inout ReleasePayload) -> Void = { _ in }
    var manifest: @Sendable (inout ReleaseManifest) -> Void = { _ in }
    var bytes: @Sendable ([UInt8]) -> [UInt8] = { $0 }
    var device: @Sendable (inout ReleaseDevice) -> Void = { _ in }
    var url = manifestURL
    var testDescription: String { "\(guardName.rawValue): \(what)" }
}

@Suite("The guards of an update, in order (UP-4)")
struct ReleaseGuardTests {
    private let publisher = try! Publisher()

    static let falls: [Fall] = [
        Fall(guardName: .key, what: "no key", device: { ($0.hasArchiveKey, $0.roots) = (false, nil) }),
        Fall(guardName: .transport, what: "http manifest", url: "http://bucket.example.org/manifest.json"),
        Fall(guardName: .size, what: "257 kB", bytes: { $0 + [UInt8](repeating: 0x20, count: 257 * 1024) }),
        Fall(guardName: .form, what: "no JSON", bytes: { Array($0.dropLast()) }),
        Fall(guardName: .transport, what: "http bundle", manifest: { $0.url = "http://bucket.example.org/x.zip" }),
        Fall(guardName: .signature, what: "no envelope", manifest: { $0.envelope = nil }),
        Fall(guardName: .signature, what: "another version outside", manifest: { $0.version = "9.0.0" }),
        Fall(guardName: .signature, what: "another sequence outside", manifest: { $0.sequence = 8 }),
        Fall(guardName: .signature, what: "no key set", device: { $0.keySet = nil }),
        Fall(guardName: .app, what: "another app", payload: { $0.app = "org.example.other" }),
        Fall(guardName: .channel, what: "another channel", payload: { $0.channel = "beta" }),
        Fall(guardName: .platform, what: "another platform", payload: { $0.platforms = ["ios"] }),
        Fall(guardName: .keyEpoch, what: "an older epoch", payload: { $0.keyEpoch = 0 }),
        Fall(guardName: .expiry, what: "expired", payload: { $0.expires = $0.issued - .seconds(1) }),
        Fall(guardName: .expiry, what: "expired keys", device: { $0.now = $0.now + .seconds(90_000) }),
        Fall(guardName: .native, what: "too old", device: { $0.native = try! NativeVersion("0.9") }),
        Fall(guardName: .native, what: "too new", device: { $0.native = try! NativeVersion("2.0.0") }),
        Fall(guardName: .revoked, what: "withdrawn", payload: { $0.revoked = [$0.tree.digest] }),
        Fall(
            guardName: .revoked, what: "withdrawn by an earlier one",
            device: { $0.revoked = [try! Publisher().payload().tree.digest] }),
        Fall(
            guardName: .running, what: "the same tree",
            device: { $0.running = .tree(try! Publisher().payload().tree.digest) }),
        Fall(guardName: .sequence, what: "the same sequence", device: { $0.floor = ReleaseFloor(taken: 7) }),
        Fall(guardName: .sequence, what: "a replay", device: { $0.floor = ReleaseFloor(taken: 3, seen: 8) }),
        Fall(
            guardName: .failed, what: "failed here",
            device: {
                $0.failed = [
                    .tree(try! Publisher().payload().tree.digest): FailedRelease(channel: "production", sequence: 7)
                ]
            }),
        Fall(
            guardName: .rollout, what: "not yet", payload: { $0.rollout = .init(basisPoints: 100, salt: "s") },
            device: { $0.draw = { _ in 100 } }),
        Fall(guardName: .space, what: "full", device: { $0.space = 1000 }),
    ]

    private func judge(_ falls: [Fall]) throws -> ReleaseOffer {
        var payload = try publisher.payload()
        for fall in falls { fall.payload(&payload) }
        var manifest = try publisher.manifest(payload)
        for fall in falls { fall.manifest(&manifest) }
        var bytes = manifest.bytes
        for fall in falls { bytes = fall.bytes(bytes) }
        var device = try publisher.device()
        for fall in falls { fall.device(&device) }
        let url = falls.map(\.url).first { $0 != manifestURL } ?? manifestURL
        return try device.judge(bytes, from: url)
    }

    @Test("UP-4: a manifest that is right passes every guard")
    func passes() throws {
        let offer = try judge([])
        #expect(offer.payload?.version == "1.4.2")
        #expect(offer.isVerified)
    }

    @Test("UP-4: each guard refuses by its own name", arguments: falls)
    func refuses(fall: Fall) throws {
        let refusal = #expect(throws: ReleaseRefusal.self) { try judge([fall]) }
        #expect(refusal?.guardName == fall.guardName)
        #expect(refusal?.message.isEmpty == false)
    }

    @Test("UP-4: every guard is fallen at, and of two that would refuse the earlier one speaks")
    func order() throws {
        let order = ReleaseGuard.allCases
        #expect(Set(Self.falls.map(\.guardName)) == Set(order))
        for (index, one) in Self.falls.enumerated() {
            for two in Self.falls[(index + 1)...] {
                // Two of one guard, or the bundle's address, which is known only after the manifest is read.
                guard one.guardName != two.guardName, !one.what.hasPrefix("http"), !two.what.hasPrefix("http") else {
                    continue
                }
                let refusal = #expect(throws: ReleaseRefusal.self, "\(one) \(two)") { try judge([one, two]) }
                let places = [one, two].compactMap { order.firstIndex(of: $0.guardName) }
                #expect(
                    refusal.map { order.firstIndex(of: $0.guardName) } == places.min(),
                    "\(one.testDescription) and \(two.testDescription)")
            }
        }
    }

    @Test("UP-4: the same release is tried again after a download that failed")
    func again() throws {
        let device = try publisher.device { $0.floor = ReleaseFloor(taken: 6, seen: 7) }
        let manifest = try publisher.manifest(publisher.payload())
        #expect(try device.judge(manifest.bytes, from: manifestURL).payload?.sequence == 7)
    }

    @Test("UP-4: what failed is taken when it is published again under a higher sequence, and not from another channel")
    func failedAgain() throws {
        let tree = ReleaseIdentity.tree(try publisher.payload().tree.digest)
        let manifest = try publisher.manifest(publisher.payload()).bytes
        let republished = try publisher.device { $0.failed = [tree: FailedRelease(channel: "production", sequence: 6)] }
        #expect(throws: Never.self) { try republished.judge(manifest, from: manifestURL) }
        let elsewhere = try publisher.device { $0.failed = [tree: FailedRelease(channel: "beta", sequence: 6)] }
        #expect(throws: ReleaseRefusal.self) { try elsewhere.judge(manifest, from: manifestURL) }
    }

    @Test("UP-3: a build with the RSA key alone follows the source system's manifests, and demands both fields")
    func sourceSystem() throws {
        let device = try publisher.device { ($0.roots, $0.keySet) = (nil, nil) }
        let text = """
            {"version":"1.4.2","url":"https://b.example/x.zip","checksum":"ab","sessionKey":"cd","sequence":7,"publishedAt":"x"}
            """
        let offer = try device.judge(bytes(text), from: manifestURL)
        #expect(offer.payload == nil && offer.identity == .checksum("ab") && !offer.isVerified)
        for field in ["\"checksum\":\"ab\"", "\"sessionKey\":\"cd\""] {
            let name = field.prefix { $0 != ":" }
            for emptied in [text.replacing(field, with: name + ":\"\""), text.replacing(field + ",", with: "")] {
                let refusal = #expect(throws: ReleaseRefusal.self) {
                    try device.judge(bytes(emptied), from: manifestURL)
                }
                #expect(refusal?.guardName == .signature)
            }
        }
        let running = try publisher.device { ($0.roots, $0.keySet, $0.running) = (nil, nil, .checksum("ab")) }
        #expect(throws: ReleaseRefusal.self) { try running.judge(bytes(text), from: manifestURL) }
    }

    @Test(
        "UP-4: a manifest of old, without a sequence, only moves forward",
        arguments: [
            ("1.4.2", "1.4.1", true), ("1.4.2", "1.4.2", false), ("1.4.2", "1.10.0", false), ("nightly", "1.0", false),
        ])
    func forward(offered: String, running: String, taken: Bool) throws {
        let text = """
            {"version":"\(offered)","url":"https://b.example/x.zip","checksum":"ab","sessionKey":"cd"}
            """
        var device = try publisher.device { ($0.roots, $0.keySet, $0.runningVersion) = (nil, nil, running) }
        if taken {
            #expect(throws: Never.self) { try device.judge(bytes(text), from: manifestURL) }
            device.floor = ReleaseFloor(taken: 1)
        }
        #expect(throws: ReleaseRefusal.self) { try device.judge(bytes(text), from: manifestURL) }
    }

    @Test("UP-4: what is refused after it was verified still tells its sequence and what it withdraws")
    func refusedPayload() throws {
        let bad = TreeDigest(of: bytes("bad"))
        let manifest = try publisher.manifest(
            publisher.payload { ($0.revoked, $0.rollout) = ([bad], .init(basisPoints: 0)) }
        ).bytes
        let refusal = #expect(throws: ReleaseRefusal.self) {
            try publisher.device().judge(manifest, from: manifestURL)
        }
        #expect(refusal?.guardName == .rollout)
        #expect(refusal?.payload?.revoked == [bad] && refusal?.payload?.sequence == 7)
        // Who runs what was withdrawn does not wait for a turn.
        let urgent = try publisher.device { $0.running = .tree(bad) }
        #expect(throws: Never.self) { try urgent.judge(manifest, from: manifestURL) }
        var unsigned = try publisher.manifest(publisher.payload())
        unsigned.envelope = nil
        let unverified = #expect(throws: ReleaseRefusal.self) {
            try publisher.device().judge(unsigned.bytes, from: manifestURL)
        }
        #expect(unverified?.payload == nil)
    }

    @Test("UP-4: development may use http, and nothing else is different")
    func development() throws {
        let device = try publisher.device { $0.isDevelopment = true }
        let manifest = try publisher.manifest(publisher.payload()).bytes
        #expect(throws: Never.self) { try device.judge(manifest, from: "http://localhost:8906/manifest.json") }
    }

    @Test("UP-4: each byte of a manifest flipped is refused, or changes nothing that counts")
    func flipped() throws {
        let payload = try publisher.payload()
        let original = try publisher.manifest(payload)
        let device = try publisher.device()
        for index in original.bytes.indices {
            var changed = original.bytes
            changed[index] ^= 0x01
            guard let offer = try? device.judge(changed, from: manifestURL) else { continue }
            // What lies outside of the envelope and is not compared: address, seal, date. None of them is trusted.
            #expect(offer.payload == payload)
        }
    }

    @Test("UP-4: a signature of another purpose, or by a freshness key, is none")
    func purposes() throws {
        let payload = try publisher.payload()
        var manifest = try publisher.manifest(payload)
        manifest.envelope = try SignedEnvelope(signing: payload.bytes, for: .freshness, with: [publisher.release])
        let device = try publisher.device()
        #expect(throws: ReleaseRefusal.self) { try device.judge(manifest.bytes, from: manifestURL) }
        manifest.envelope = try SignedEnvelope(signing: payload.bytes, for: .release, with: [publisher.freshness])
        #expect(throws: ReleaseRefusal.self) { try device.judge(manifest.bytes, from: manifestURL) }
        manifest.envelope = try SignedEnvelope(
            signing: payload.bytes, for: .release, with: [publisher.freshness, publisher.release])
        #expect(throws: Never.self) { try device.judge(manifest.bytes, from: manifestURL) }
    }
}
