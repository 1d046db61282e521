// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore

/// What a publisher says of a release, under signature (design §7, "Release manifest").
public struct ReleasePayload: Sendable, Equatable {
    /// The app's id, such as `org.example.messages`.
    public var app: String
    public var channel: String
    /// Platforms it is for, such as `linux`; empty for all.
    public var platforms: [String]
    /// Grows with every release of the channel; below 2^53.
    public var sequence: Int64
    /// The key set under which it was signed.
    public var keyEpoch: Int64
    /// Grows when the web storage of this release cannot be read by the ones before.
    public var storageEpoch: Int64
    /// Whether going back across a storage epoch may lose what the web view has stored.
    public var resetsStorage: Bool
    /// What people call the release, such as `1.4.2`.
    public var version: String
    /// Of the build, for the version report (UP-11); nil where its publisher gave none.
    public var stamp: String?
    public var issued: Instant
    /// Not installed after this; what runs goes on running.
    public var expires: Instant
    /// The native versions it runs in.
    public var native: NativeRange
    public var rollout: Rollout
    /// The sequence whose tree this brings back.
    public var rollbackOf: Int64?
    public var tree: TreeFacts
    /// The archive: the tree as the source system's bundle.
    public var archive: StoredObject
    /// Whether each file lies by itself in the store, under the digest of its content.
    public var hasObjects: Bool
    public var patches: [PatchFacts]
    /// Trees that no device may go on with.
    public var revoked: [TreeDigest]

    package init(
        app: String, channel: String, platforms: [String], sequence: Int64, keyEpoch: Int64, storageEpoch: Int64,
        resetsStorage: Bool, version: String, issued: Instant, expires: Instant, native: NativeRange, rollout: Rollout,
        rollbackOf: Int64?, tree: TreeFacts, archive: StoredObject, hasObjects: Bool, patches: [PatchFacts],
        revoked: [TreeDigest], stamp: String? = nil
    ) {
        (self.app, self.channel, self.platforms, self.sequence) = (app, channel, platforms, sequence)
        (self.keyEpoch, self.storageEpoch, self.resetsStorage) = (keyEpoch, storageEpoch, resetsStorage)
        (self.version, self.issued, self.expires, self.native) = (version, issued, expires, native)
        (self.rollout, self.rollbackOf, self.tree, self.archive) = (rollout, rollbackOf, tree, archive)
        (self.hasObjects, self.patches, self.revoked, self.stamp) = (hasObjects, patches, revoked, stamp)
    }

    /// The tree's name and size.
    public struct TreeFacts: Sendable, Equatable {
        public var digest: TreeDigest
        public var files: Int
        public var bytes: Int
        /// Bytes of the list's text.
        public var listBytes: Int

        public init(digest: TreeDigest, files: Int, bytes: Int, listBytes: Int) {
            (self.digest, self.files, self.bytes, self.listBytes) = (digest, files, bytes, listBytes)
        }

        public init(_ tree: ReleaseTree) {
            let list = tree.list
            self.init(digest: TreeDigest(of: list), files: tree.files.count, bytes: tree.bytes, listBytes: list.count)
        }
    }

    /// Bytes as they lie in the store.
    public struct StoredObject: Sendable, Equatable {
        public var digest: TreeDigest
        public var size: Int

        public init(digest: TreeDigest, size: Int) { (self.digest, self.size) = (digest, size) }
    }

    /// A way from another tree.
    public struct PatchFacts: Sendable, Equatable {
        /// `zstd-tree-1`, or one that this app does not know and skips.
        public var algorithm: String
        public var base: TreeDigest
        public var object: StoredObject

        public init(algorithm: String, base: TreeDigest, object: StoredObject) {
            (self.algorithm, self.base, self.object) = (algorithm, base, object)
        }
    }

    /// Part of the devices, chosen by each for itself (UP-4).
    public struct Rollout: Sendable, Equatable {
        /// Of ten thousand.
        public var basisPoints: Int
        /// The same salt chooses the same devices.
        public var salt: String

        public init(basisPoints: Int = 10_000, salt: String = "") {
            (self.basisPoints, self.salt) = (basisPoints, salt)
        }
    }

    static let maximumPatches = 64
    static let maximumRevoked = 256
    static let spec: Int64 = 1
}

extension ReleasePayload {
    /// Reads the payload's bytes.
    ///
    /// - Throws: `release.payload` that names the member, `release.spec` for one of later days.
    public init(bytes: [UInt8]) throws(NacreError) {
        let top = try PayloadReader(bytes: bytes, "signed part")
        guard try top.integer("spec") == Self.spec else {
            throw NacreError("release.spec", "The release is written for a newer app; update the app.")
        }
        app = try top.string("app")
        channel = try top.string("channel")
        guard ReleaseStore.isName(channel) else { throw top.fault("channel") }
        var platforms: [String] = []
        for item in try top.list("platforms", upTo: 16) {
            guard let name = item.string else { throw top.fault("platforms") }
            platforms.append(name)
        }
        self.platforms = platforms
        sequence = try top.integer("sequence", in: 1...PayloadReader.exact.upperBound)
        keyEpoch = try top.integer("keyEpoch")
        storageEpoch = try top.integer("storageEpoch")
        resetsStorage = try top.bool("resetStorage")
        version = try top.string("version", upTo: 100)
        guard ReleaseStore.isName(version) else { throw top.fault("version") }
        stamp = try top.optionalString("stamp", upTo: 64)
        issued = try top.moment("issued")
        expires = try top.moment("expires")
        let native = try top.object("native")
        self.native = try NativeRange(
            minimum: native.optionalString("min"), below: native.optionalString("below"))
        let rollout = try top.object("rollout")
        self.rollout = Rollout(
            basisPoints: Int(try rollout.integer("basisPoints", in: 0...10_000)),
            salt: try rollout.optionalString("salt") ?? "")
        rollbackOf = top["rollbackOf"] == nil ? nil : try top.integer("rollbackOf")
        let tree = try top.object("tree")
        self.tree = TreeFacts(
            digest: try tree.digest("sha256"), files: try tree.size("files"), bytes: try tree.size("bytes"),
            listBytes: try tree.size("listBytes"))
        archive = try StoredObject(try top.object("archive"))
        hasObjects = try top.bool("objects")
        var patches: [PatchFacts] = []
        for item in try top.list("patches", upTo: Self.maximumPatches) {
            let reader = try PayloadReader(item, "signed part.patches")
            patches.append(
                PatchFacts(
                    algorithm: try reader.string("alg", upTo: 40), base: try reader.digest("base"),
                    object: try StoredObject(reader)))
        }
        self.patches = patches
        var revoked: [TreeDigest] = []
        for item in try top.list("revoked", upTo: Self.maximumRevoked) {
            guard let digest = item.string.flatMap({ TreeDigest($0) }) else { throw top.fault("revoked") }
            revoked.append(digest)
        }
        self.revoked = revoked
    }

    /// The bytes to sign; equal payloads have equal bytes.
    public var bytes: [UInt8] { json.bytes }

    private var json: JSONValue {
        [
            "spec": .integer(Self.spec), "app": .string(app), "channel": .string(channel),
            "platforms": .array(platforms.map(JSONValue.string)), "sequence": .integer(sequence),
            "keyEpoch": .integer(keyEpoch), "storageEpoch": .integer(storageEpoch),
            "resetStorage": .bool(resetsStorage),
            "version": .string(version), "stamp": JSONValue(stamp), "issued": .integer(issued.milliseconds),
            "expires": .integer(expires.milliseconds),
            "native": ["min": JSONValue(native.minimum?.text), "below": JSONValue(native.below?.text)],
            "rollout": [
                "basisPoints": JSONValue(rollout.basisPoints),
                "salt": rollout.salt.isEmpty ? .null : .string(rollout.salt),
            ],
            "rollbackOf": rollbackOf.map(JSONValue.integer) ?? .null,
            "tree": [
                "sha256": .string(tree.digest.description), "files": JSONValue(tree.files),
                "bytes": JSONValue(tree.bytes),
                "listBytes": JSONValue(tree.listBytes),
            ],
            "archive": .object(archive.members), "objects": .bool(hasObjects),
            "patches": .array(
                patches.map {
                    .object(
                        $0.object.members.merging(
                            ["alg": .string($0.algorithm), "base": .string($0.base.description)]) { one, _ in one })
                }),
            "revoked": .array(revoked.map { .string($0.description) }),
        ]
    }
}

extension ReleasePayload.StoredObject {
    init(_ reader: PayloadReader) throws(NacreError) {
        self.init(digest: try reader.digest("sha256"), size: try reader.size("size"))
    }

    fileprivate var members: [String: JSONValue] {
        ["sha256": .string(digest.description), "size": JSONValue(size)]
    }
}
