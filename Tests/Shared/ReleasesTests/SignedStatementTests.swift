// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import Testing

@testable import NacreReleases

@Suite("What is signed of a release")
struct SignedStatementTests {
    private let publisher = try! Publisher()

    @Test("A payload comes back as it was, and equal payloads have equal bytes")
    func payload() throws {
        let payload = try publisher.payload {
            ($0.rollbackOf, $0.revoked) = (3, [TreeDigest(of: bytes("bad"))])
            $0.rollout = .init(basisPoints: 250, salt: "autumn")
        }
        #expect(try ReleasePayload(bytes: payload.bytes) == payload)
        #expect(try ReleasePayload(bytes: payload.bytes).bytes == payload.bytes)
    }

    static let members = [
        "spec", "app", "channel", "sequence", "keyEpoch", "storageEpoch", "version", "issued", "expires", "native",
        "rollout",
        "tree", "archive",
    ]

    @Test("UP-4: each member of a payload that is missing, of another type or huge is an error", arguments: members)
    func memberFaults(name: String) throws {
        let members = try #require(try JSONParser.parse(publisher.payload().bytes).object)
        let long = JSONValue.string(String(repeating: "x", count: 300))
        let values: [JSONValue?] = [nil, .null, true, long, -1, .integer(1 << 53), .number(0.5), [], ["x"], "\u{1}"]
        for value in values {
            var changed = members
            changed[name] = value
            // Any whole number up to 2^53 is a moment or an epoch; what it means is the guards' business.
            let error = #expect(throws: NacreError.self, "\(name) = \(String(describing: value))") {
                try ReleasePayload(bytes: JSONValue.object(changed).bytes)
            }
            #expect(error?.code.rawValue.hasPrefix("release.") == true)
        }
    }

    @Test(
        "UP-4: what goes into a key of the bucket is a plain name",
        arguments: ["../x", "a/b", ".hidden", "", "a b", "é", String(repeating: "x", count: 101), "a\u{0}"])
    func names(text: String) throws {
        #expect(!ReleaseStore.isName(text))
        let payload = try publisher.payload { $0.version = text }
        #expect(throws: NacreError.self) { try ReleasePayload(bytes: payload.bytes) }
        let channel = try publisher.payload { $0.channel = text }
        #expect(throws: NacreError.self) { try ReleasePayload(bytes: channel.bytes) }
    }

    @Test("A payload of later days says so; members it does not know are left alone")
    func later() throws {
        var members = try #require(try JSONParser.parse(publisher.payload().bytes).object)
        members["mood"] = "good"
        #expect(throws: Never.self) { try ReleasePayload(bytes: JSONValue.object(members).bytes) }
        members["spec"] = 2
        let error = #expect(throws: NacreError.self) { try ReleasePayload(bytes: JSONValue.object(members).bytes) }
        #expect(error?.code == "release.spec")
    }

    @Test("A key twice in a signed object is no object")
    func duplicate() throws {
        let text = String(decoding: try publisher.payload().bytes, as: UTF8.self)
        #expect(throws: NacreError.self) {
            try ReleasePayload(bytes: bytes(text.replacing("{\"app\":", with: "{\"app\":\"x\",\"app\":")))
        }
    }

    @Test("UP-3: a manifest comes back as it was; what is missing, of another type, huge or twice is an error")
    func manifest() throws {
        let manifest = try publisher.manifest(publisher.payload())
        #expect(try ReleaseManifest(bytes: manifest.bytes) == manifest)
        let members = try #require(try JSONParser.parse(manifest.bytes).object)
        let long = JSONValue.string(String(repeating: "x", count: 5000))
        let wrong: [(String, [JSONValue?])] = [
            ("version", [nil, .null, "", 1, long, "a\nb"]), ("url", [nil, .null, "", 1, long]),
            ("checksum", [1, long]),
            ("sessionKey", [1, long]), ("sequence", ["7", .number(7.5), -1, .integer(1 << 53)]),
            ("publishedAt", [1, long]),
            ("nacre", ["x", [:], 1]),
        ]
        for (name, values) in wrong {
            for value in values {
                var changed = members
                changed[name] = value
                #expect(throws: NacreError.self, "\(name) = \(String(describing: value))") {
                    try ReleaseManifest(bytes: JSONValue.object(changed).bytes)
                }
            }
        }
        let text = String(decoding: manifest.bytes, as: UTF8.self)
        for bad in [
            "", "[]", "null", text + "x", text.replacing("{\"checksum\":", with: "{\"checksum\":\"\",\"checksum\":"),
        ] {
            #expect(throws: NacreError.self) { try ReleaseManifest(bytes: bytes(bad)) }
        }
        let padded = manifest.bytes + [UInt8](repeating: 0x20, count: ReleaseManifest.maximumBytes)
        #expect(throws: NacreError.self) { try ReleaseManifest(bytes: padded) }
    }

    // MARK: Key sets

    private func envelope(_ set: ReleaseKeySet, _ keys: PrivateKey...) throws -> SignedEnvelope {
        try SignedEnvelope(signing: set.bytes, for: .keySet, with: keys)
    }

    @Test("A first key set is taken by the roots in the app, and the next by the old and the new ones")
    func rotation() throws {
        let app = "org.example.app"
        let builtIn = try publisher.roots
        let first = try ReleaseKeySet(
            following: nil, builtIn: builtIn, app: app, envelope: try envelope(publisher.keySet(), publisher.root))
        #expect(try first == publisher.keySet())
        let newRoot = try PrivateKey.generate(.edDSA)
        var next = try publisher.keySet(epoch: 2)
        next = ReleaseKeySet(
            app: app, epoch: 2, issued: next.issued, expires: next.expires,
            roots: try RootKeys([ReleaseKey(newRoot.publicKey)]), release: next.release)
        #expect(throws: Never.self) {
            try ReleaseKeySet(
                following: first, builtIn: builtIn, app: app, envelope: try envelope(next, publisher.root, newRoot))
        }
        let refused: [(String, SignedEnvelope, ReleaseKeySet?, String)] = [
            ("old roots only", try envelope(next, publisher.root), first, app),
            ("new roots only", try envelope(next, newRoot), first, app),
            ("skipped", try envelope(publisher.keySet(epoch: 3), publisher.root), first, app),
            ("the same again", try envelope(publisher.keySet(epoch: 1), publisher.root), first, app),
            ("another app", try envelope(publisher.keySet(), publisher.root), nil, "org.example.other"),
            ("a release key", try envelope(publisher.keySet(), publisher.release), nil, app),
            (
                "another purpose",
                try SignedEnvelope(signing: publisher.keySet().bytes, for: .release, with: [publisher.root]), nil, app
            ),
        ]
        for (what, envelope, current, app) in refused {
            #expect(throws: NacreError.self, "\(what)") {
                try ReleaseKeySet(following: current, builtIn: builtIn, app: app, envelope: envelope)
            }
        }
    }

    @Test("A build of later days begins with a set that its roots have signed, whatever its epoch")
    func laterBuild() throws {
        let set = try publisher.keySet(epoch: 5)
        let first = try ReleaseKeySet(
            following: nil, builtIn: publisher.roots, app: set.app, envelope: try envelope(set, publisher.root))
        #expect(first.epoch == 5)
    }

    @Test("Two of three roots: one is too few, and one twice is one")
    func threshold() throws {
        let keys = try (0..<3).map { _ in try PrivateKey.generate(.edDSA) }
        let roots = try RootKeys(keys.map { ReleaseKey($0.publicKey) }, threshold: 2)
        var set = try publisher.keySet()
        set = ReleaseKeySet(
            app: set.app, epoch: 1, issued: set.issued, expires: set.expires, roots: roots, release: set.release)
        func take(_ envelope: SignedEnvelope) throws -> ReleaseKeySet {
            try ReleaseKeySet(following: nil, builtIn: roots, app: set.app, envelope: envelope)
        }
        #expect(throws: Never.self) { try take(try envelope(set, keys[0], keys[2])) }
        #expect(throws: NacreError.self) { try take(try envelope(set, keys[1])) }
        #expect(throws: NacreError.self) { try take(try envelope(set, keys[1], keys[1])) }
    }

    @Test("Roots are different keys, and as many as the threshold asks for")
    func roots() throws {
        let key = ReleaseKey(publisher.root.publicKey)
        #expect(throws: NacreError.self) { try RootKeys([]) }
        #expect(throws: NacreError.self) { try RootKeys([key, key]) }
        #expect(throws: NacreError.self) { try RootKeys([key], threshold: 2) }
        #expect(throws: NacreError.self) { try RootKeys([key], threshold: 0) }
    }

    @Test("One key may not both sign releases and date them")
    func roles() throws {
        let set = try publisher.keySet()
        let both = ReleaseKeySet(
            app: set.app, epoch: 1, issued: set.issued, expires: set.expires, roots: set.roots, release: set.release,
            freshness: set.release)
        #expect(throws: NacreError.self) {
            try ReleaseKeySet(
                following: nil, builtIn: set.roots, app: set.app, envelope: try envelope(both, publisher.root))
        }
    }

    // MARK: Freshness

    @Test("A freshness statement counts when a freshness key has signed it")
    func freshness() throws {
        let statement = FreshnessStatement(
            app: "org.example.app", channel: "production", release: TreeDigest(of: bytes("payload")), sequence: 7,
            expires: publisher.now)
        let keys = try publisher.keySet()
        let envelope = try SignedEnvelope(signing: statement.bytes, for: .freshness, with: [publisher.freshness])
        #expect(try FreshnessStatement(envelope, keys: keys) == statement)
        for key in [publisher.release, publisher.root] {
            let other = try SignedEnvelope(signing: statement.bytes, for: .freshness, with: [key])
            #expect(throws: NacreError.self) { try FreshnessStatement(other, keys: keys) }
        }
    }

    // MARK: Envelopes

    @Test("An envelope comes back through JSON; what is missing, too much or of another type is refused")
    func envelopes() throws {
        let envelope = try SignedEnvelope(signing: bytes("x"), for: .release, with: [publisher.release])
        #expect(try SignedEnvelope(envelope.json) == envelope)
        let members = try #require(envelope.json.object)
        let changes: [[String: JSONValue]] = [
            ["payload": .null], ["payload": 1], ["payload": "%"], ["signatures": []], ["signatures": "x"],
            ["signatures": .array(Array(repeating: members["signatures"]?.array?[0] ?? .null, count: 17))],
            ["signatures": [["key": "k", "alg": "Ed25519"]]], ["more": 1],
        ]
        for change in changes {
            #expect(throws: NacreError.self) {
                try SignedEnvelope(.object(members.merging(change) { _, new in new }))
            }
        }
    }

    @Test("A signature of a later algorithm is kept and counts for nothing, even where its bytes would do")
    func laterAlgorithm() throws {
        let text = try SignedEnvelope(signing: bytes("x"), for: .release, with: [publisher.release]).json.text
        let later = try JSONParser.parse(text.replacing("Ed25519", with: "ML-DSA"))
        let envelope = try SignedEnvelope(later)
        #expect(envelope.json == later)
        let keys = [ReleaseKey(publisher.release.publicKey)]
        #expect(envelope.signers(among: keys, for: .release).isEmpty)
        #expect(try SignedEnvelope(JSONParser.parse(text)).signers(among: keys, for: .release) == Set(keys))
    }

    @Test(
        "Native versions compare by number",
        arguments: [("1.2", "1.2.0", 0), ("1.9", "1.10", -1), ("2", "1.99.99.99", 1), ("1.2.3-beta+5", "1.2.3", 0)])
    func versions(a: String, b: String, order: Int) throws {
        let (one, two) = (try NativeVersion(a), try NativeVersion(b))
        #expect((one < two ? -1 : one > two ? 1 : 0) == order)
    }

    @Test("What is no version is refused", arguments: ["", "x", "1.x", "1..2", "1.2.3.4.5", "-1", "1.1000000000000"])
    func noVersions(text: String) {
        #expect(throws: NacreError.self) { try NativeVersion(text) }
    }
}
