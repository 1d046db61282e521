// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
package import NacreCore
package import NacreCrypto
package import NacreReleases
import NacreTesting

/// A publisher with its keys, for tests of a device: puts releases into a `TestBucket` as the real one does.
package struct TestPublisher: Sendable {
    package static let app = "org.example.app"
    package static let channel = "production"
    package static let manifestURL = TestBucket.address + ReleaseStore.manifest(channel)

    package let root: PrivateKey
    package let release: PrivateKey
    package let freshness: PrivateKey
    package let archive: PrivateKey
    package let bucket: TestBucket
    package let now: Instant

    /// Keys take long to make, and one person's are enough for a process.
    private static let keys = Result {
        // A story that one process begins and another ends needs the same ones in both.
        if let path = ProcessInfo.processInfo.environment["NACRE_TEST_KEYS"] {
            let texts = try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "\n\n")
            guard texts.count == 4 else { throw NacreError("test.keys", "\(path) does not hold four keys.") }
            return (
                root: try PrivateKey(pem: texts[0]), release: try PrivateKey(pem: texts[1]),
                freshness: try PrivateKey(pem: texts[2]), archive: try PrivateKey(pem: texts[3])
            )
        }
        return (
            root: try PrivateKey.generate(.edDSA), release: try PrivateKey.generate(.edDSA),
            freshness: try PrivateKey.generate(.edDSA), archive: try PrivateKey.generateRSA2048()
        )
    }

    /// Writes the keys for another process's `NACRE_TEST_KEYS`.
    package static func writeKeys(to path: String) throws {
        let keys = try keys.get()
        let texts = [keys.root.pem, keys.release.pem, keys.freshness.pem, keys.archive.pem]
        try Data(texts.joined(separator: "\n\n").utf8).write(to: URL(filePath: path))
    }

    package init(_ bucket: TestBucket, now: Instant) throws {
        (root, release, freshness, archive) = try Self.keys.get()
        self.bucket = bucket
        self.now = now
        try publishKeys(epoch: 1)
    }

    package var roots: RootKeys { get throws { try RootKeys([ReleaseKey(root.publicKey)]) } }

    package func publishKeys(epoch: Int64, release key: PrivateKey? = nil) throws {
        let set = ReleaseKeySet(
            app: Self.app, epoch: epoch, issued: now, expires: now + .seconds(365 * 86_400), roots: try roots,
            release: [ReleaseKey((key ?? release).publicKey)], freshness: [ReleaseKey(freshness.publicKey)])
        let envelope = try SignedEnvelope(signing: set.bytes, for: .keySet, with: [root])
        bucket[ReleaseStore.keySet(Self.channel, epoch)] = envelope.json.bytes
    }

    /// A release that is to be published.
    package struct Draft: Sendable {
        package var version: String
        package var sequence: Int64
        package var files: [String: [UInt8]]
        package var storageEpoch: Int64 = 0
        package var resetsStorage = false
        /// Trees to make patches from.
        package var bases: [[String: [UInt8]]] = []
        package var hasObjects = true
        package var change: @Sendable (inout ReleasePayload) -> Void = { _ in }
        /// Signed by this key in the place of the publisher's.
        package var key: PrivateKey?

        package init(_ version: String, _ sequence: Int64, _ files: [String: [UInt8]]) {
            (self.version, self.sequence, self.files) = (version, sequence, files)
        }
    }

    package static func tree(_ files: [String: [UInt8]]) throws -> ReleaseTree {
        try ReleaseTree(
            try files.map { path, bytes in
                ReleaseFile(path: try ReleasePath(path), digest: TreeDigest(of: bytes), size: bytes.count)
            })
    }

    package static func stream(_ files: [String: [UInt8]]) throws -> [UInt8] {
        try TreePatch.stream(of: try tree(files)) { (file: ReleaseFile) throws(NacreError) in
            files[file.path.text] ?? []
        }
    }

    @discardableResult
    package func publish(_ draft: Draft) throws -> ReleaseManifest {
        let manifest = try prepare(draft)
        bucket[ReleaseStore.manifest(Self.channel)] = manifest.bytes
        return manifest
    }

    /// Everything but the manifest.
    package func prepare(_ draft: Draft) throws -> ReleaseManifest {
        let tree = try Self.tree(draft.files)
        bucket[ReleaseStore.list(Self.channel, tree.digest)] = try PackedFile.pack(tree.list)
        if draft.hasObjects {
            for (_, bytes) in draft.files {
                bucket[ReleaseStore.object(Self.channel, TreeDigest(of: bytes))] = try PackedFile.pack(bytes)
            }
        }
        var patches: [ReleasePayload.PatchFacts] = []
        for base in draft.bases {
            let patch = try TreePatch.make(
                from: try Self.stream(base), to: try Self.stream(draft.files), effort: .fast)
            let digest = TreeDigest(of: patch)
            bucket[ReleaseStore.patch(Self.channel, digest)] = patch
            patches.append(
                .init(
                    algorithm: TreePatch.algorithm, base: try Self.tree(base).digest,
                    object: .init(digest: digest, size: patch.count)))
        }
        let (seal, sealed) = try seal(draft.files)
        bucket[ReleaseStore.bundle(Self.channel, draft.version)] = sealed
        var payload = ReleasePayload(
            app: Self.app, channel: Self.channel, platforms: ["linux"], sequence: draft.sequence, keyEpoch: 1,
            storageEpoch: draft.storageEpoch, resetsStorage: draft.resetsStorage, version: draft.version, issued: now,
            expires: now + .seconds(30 * 86_400), native: .any, rollout: .init(), rollbackOf: nil, tree: .init(tree),
            archive: .init(digest: TreeDigest(of: sealed), size: sealed.count), hasObjects: draft.hasObjects,
            patches: patches, revoked: [])
        draft.change(&payload)
        return ReleaseManifest(
            version: payload.version, url: TestBucket.address + ReleaseStore.bundle(Self.channel, draft.version),
            seal: seal, sequence: payload.sequence, publishedAt: "2027-01-15T08:00:00Z",
            envelope: try SignedEnvelope(signing: payload.bytes, for: .release, with: [draft.key ?? release]))
    }

    /// The archive in the source system's format.
    private func seal(_ files: [String: [UInt8]]) throws -> (SourceSystemSeal, [UInt8]) {
        let folder = try TemporaryFolder()
        var entries: [(path: ReleasePath, file: String)] = []
        for (path, bytes) in files { entries.append((try ReleasePath(path), try folder.write(path, bytes))) }
        let zip = folder.path + "/.archive.zip"
        try ArchiveWriter.write(entries, to: zip)
        let plain = try FileBytes(zip)
        let (seal, contents) = try SourceSystemSeal.make(
            for: try TreeDigest(of: plain), with: archive, random: SystemRandom())
        var sealed: [UInt8] = []
        try contents.seal(plain) { (piece: [UInt8]) throws(NacreError) in sealed += piece }
        return (seal, sealed)
    }
}
