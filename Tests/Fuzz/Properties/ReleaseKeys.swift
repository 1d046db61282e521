// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreReleases

/// The keys that `Tests/Fuzz/release_corpus.py` signed the corpus with, and a device that trusts them.
enum ReleaseKeys {
    static let root = signer(1)
    static let otherRoot = signer(2)
    static let release = signer(3)
    static let freshness = signer(4)
    static let app = "org.example.app"
    static let channel = "production"
    static let now = Instant(milliseconds: 1_800_000_000_000)

    private static func signer(_ byte: UInt8) -> PrivateKey {
        made { () throws(NacreError) in try PrivateKey(ed25519Seed: [UInt8](repeating: byte, count: 32)) }
    }

    /// What is made of constants cannot fail.
    static func made<Value>(_ make: () throws(NacreError) -> Value) -> Value {
        guard let value = try? make() else { preconditionFailure("made of constants") }
        return value
    }

    static func key(_ signer: PrivateKey) -> ReleaseKey {
        guard case .ed25519(let bytes) = signer.publicKey.components, let key = ReleaseKey(bytes) else {
            preconditionFailure("an Ed25519 key")
        }
        return key
    }

    static let roots = made { () throws(NacreError) in try RootKeys([key(root)]) }

    static let set = ReleaseKeySet(
        app: app, epoch: 1, issued: now, expires: now + .seconds(86_400), roots: roots, release: [key(release)],
        freshness: [key(freshness)])

    /// The public half of the corpus' RSA key.
    static let archive = made { () throws(NacreError) in
        try PublicKey(.rsa(modulus: Hex.decode(modulus) ?? [], exponent: [1, 0, 1]))
    }

    private static let modulus =
        "b512ef8b0c0a5d3981c9ba1d0ed95155172d7d0b42f63bf33160aa965c5d8791"
        + "8dcb1fd005ca9f7990fe1419c43eea4302a3cc4e168cfdee933b1e7f69b598bc"
        + "3b33c9262062e26346da2bdbaaeef9b95f5340a1a9fdb89db80b3b70dcac254a"
        + "6725befa8f2608f9e3f7a372d9d025a36d3eda4152d7c6962d6bd10c380798a1"
        + "a5dd0d6405d6710456a361c20d9eaf0ecab8085ee5be71a2066789e59d758326"
        + "f8928ba4dfe07a5cd76cdf84e2d9356bb9f96896f086de1235963ab8cb1cb325"
        + "6d185c4ac40f564b9982a7f72d57bc2bad695d1b9c6aa2abdd1e3729322f0c8d"
        + "ae7a2079cc283d4d53876304327e5bd06b97b282e9d8789d58d452e1e7040167"

    static func digest(_ text: String) -> TreeDigest { TreeDigest(of: Array(text.utf8)) }

    /// A device in the middle of its life: it runs something, has seen and taken sequences, and something has failed on it.
    static func device(signed: Bool = true) -> ReleaseDevice {
        ReleaseDevice(
            hasArchiveKey: true, roots: signed ? roots : nil, keySet: signed ? set : nil, app: app, channel: channel,
            platform: "linux", native: made { () throws(NacreError) in try NativeVersion("1.2.0") }, now: now,
            running: .tree(digest("running")), runningVersion: "1.0.0",
            floor: signed ? ReleaseFloor(taken: 3, seen: 6) : nil,
            failed: [.tree(digest("failed")): FailedRelease(channel: channel, sequence: 7)], draw: { _ in 4999 },
            space: 1 << 40)
    }

    static let manifestURL = "https://b.example/channels/production/manifest.json"
}

/// Whether a text is one that a log, a report and a header can hold, and no longer than `limit`.
func isPlain(_ text: String, upTo limit: Int) -> Bool {
    text.utf8.count <= limit && !text.utf8.contains { $0 < 0x20 }
}
