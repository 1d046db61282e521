// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreReleases

/// Reads what a release says is in the store, and believes none of it: what an app does before it takes anything.
struct ReleaseReader: Sendable {
    let source: any ReleaseSource
    let channel: String
    let archiveKey: PublicKey?
    let threads: WorkThreads
    let limits = ReleaseLimits()

    /// The bytes of a small thing whose digest is signed.
    private func bytes(_ key: String, _ object: ReleasePayload.StoredObject) async throws -> [UInt8] {
        let bytes = try await source.bytes(key, upTo: object.size)
        guard bytes.count == object.size, TreeDigest(of: bytes) == object.digest else {  // guard: reader-digest
            throw damaged(key)
        }
        return bytes
    }

    private func damaged(_ key: String) -> NacreError {
        NacreError("release.damaged", "\(key), read from \(source.name), is not what the release says.")
    }

    /// The release's list of files.
    func tree(_ facts: ReleasePayload.TreeFacts) async throws -> ReleaseTree {
        let key = ReleaseStore.list(channel, facts.digest)
        let packed = try await source.bytes(key, upTo: PackedFile.bound(facts.listBytes))
        do { return try ReleaseTree(packedList: packed, of: facts, limits: limits) } catch {
            throw NacreError("release.damaged", damaged(key).message, cause: error)
        }
    }

    /// One file of the release.
    func object(_ file: ReleaseFile) async throws -> [UInt8] {
        let key = ReleaseStore.object(channel, file.digest)
        let packed = try await source.bytes(key, upTo: PackedFile.bound(file.size))
        return try await threads.run {
            do throws(NacreError) {
                return try PackedFile.unpack(packed, size: file.size, digest: file.digest)
            } catch { throw NacreError("release.damaged", damaged(key).message, cause: error) }
        }
    }

    /// A patch; where its base is here, what it gives must be the release.
    func patch(
        _ patch: ReleasePayload.PatchFacts, from base: ReleaseBase?, giving facts: ReleasePayload.TreeFacts
    ) async throws {
        let key = ReleaseStore.patch(channel, patch.object.digest)
        let packed = try await bytes(key, patch.object)
        guard let base else { return }
        try await threads.run {
            do throws(NacreError) {
                _ = try TreePatch.apply(packed, to: try base.stream(), giving: facts, limits: limits) {
                    (_: ReleaseFile, _: [UInt8]) throws(NacreError) in
                }
            } catch { throw NacreError("release.damaged", damaged(key).message, cause: error) }
        }
    }

    /// The full archive, opened with the app's key; every file of it by its digest.
    ///
    /// - Parameters:
    ///   - object: what is signed of the bundle, where our part is there.
    ///   - tree: what is signed of the tree, where our part is there.
    func archive(
        _ manifest: ReleaseManifest, _ object: ReleasePayload.StoredObject?, tree digest: TreeDigest?, work: WorkFolder
    ) async throws -> (tree: ReleaseTree, contents: [TreeDigest: [UInt8]]) {
        guard let archiveKey else {
            throw NacreError("ota.key", "There is no public key to open the archive with (updates.publicKey).")
        }
        let key = ReleaseStore.bundle(channel, manifest.version)
        let sealed = work.file("read-sealed.zip")
        let plain = work.file("read-plain.zip")
        try await source.download(key, to: sealed, upTo: object?.size ?? limits.bytes)
        return try await threads.run {
            do throws(NacreError) {
                let bytes = try FileBytes(sealed)
                if let object {
                    // guard: reader-archive
                    guard try TreeDigest(of: bytes) == object.digest else { throw damaged(key) }
                }
                let output = try OutputFile(plain)
                try manifest.seal.open(with: archiveKey).open(bytes) { (piece: [UInt8]) throws(NacreError) in
                    try output.write(piece)
                }
                let reader = try ArchiveReader(FileBytes(plain), limits: limits)
                var contents: [TreeDigest: [UInt8]] = [:]
                let tree = try reader.unpack(tree: digest, limits: limits) {
                    (file: ReleaseFile, content: [UInt8]) throws(NacreError) in contents[file.digest] = content
                }
                return (tree, contents)
            } catch {
                throw NacreError("release.damaged", "\(damaged(key).message) \(error.message)", cause: error)
            }
        }
    }
}
