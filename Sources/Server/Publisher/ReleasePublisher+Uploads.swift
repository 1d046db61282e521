// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreReleases

extension ReleasePublisher {
    /// Puts the files that the store lacks, each packed under its digest.
    func putObjects(_ tree: ReleaseTree, _ folder: TreeFolder) async throws -> [ReleaseFile] {
        let present = Set(try await bucket.list(ReleaseStore.objects(channel)))
        var seen: Set<TreeDigest> = []
        let lacking = tree.files.filter { file in
            seen.insert(file.digest).inserted && !present.contains(ReleaseStore.object(channel, file.digest))
        }
        try await each(lacking, "files") { file in
            let packed = try await threads.run {
                let content = try folder.bytes(file)
                guard TreeDigest(of: content) == file.digest else { throw Self.changed(file.path) }
                return try PackedFile.pack(content)
            }
            _ = try await putOnce(ReleaseStore.object(channel, file.digest), .bytes(packed))
        }
        return lacking
    }

    private static func changed(_ path: ReleasePath) -> NacreError {
        NacreError("ota.changed", "\(path) was changed while it was published; wait for your build to end.")
    }

    func putList(_ tree: ReleaseTree) async throws {
        let list = tree.list
        let packed = try await threads.run { try PackedFile.pack(list) }
        _ = try await putOnce(ReleaseStore.list(channel, tree.digest), .bytes(packed))
    }

    /// Puts the bundle. Its key may hold these very bytes from a publication that was cut off, and no others.
    func putBundle(_ version: String, _ bundle: SealedBundle, _ work: WorkFolder) async throws {
        let key = ReleaseStore.bundle(channel, version)
        report.progress("upload", 0)
        if try await !putOnce(key, bundle.content) {
            let copy = work.file("present.zip")
            let isThere = try await bucket.download(key, to: copy, upTo: bundle.object.size)
            let present = try await threads.run { isThere ? try TreeDigest(of: FileBytes(copy)) : nil }
            guard present == bundle.object.digest else { throw versionUsed(version) }  // guard: publisher-bundle-used
        }
        report.progress("upload", 1)
    }

    private func versionUsed(_ version: String) -> NacreError {
        NacreError(
            "ota.version_used",
            "The bundle of version \(version) is in \(bucket.name) already, with other files; caches may have it for ever. "
                + "Take another version.")
    }

    /// Makes and puts patches from the built-in trees and from the last releases.
    func putPatches(
        _ request: PublishRequest, _ folder: TreeFolder, _ state: ChannelState, _ work: WorkFolder,
        into made: inout Made
    ) async throws {
        var bases: [ReleaseBase] = []
        for path in request.builtIns {
            bases.append(try await threads.run { try ReleaseBase(folder: path) })
        }
        bases += try await previous(request.previous, state, work)
        var seen: Set<TreeDigest> = [made.tree.digest]
        let tree = made.tree
        for base in bases where seen.insert(base.tree.digest).inserted && made.patches.count < 64 {
            let phase = "patch from \(base.label)"
            report.progress(phase, 0)
            let stop = StopFlag()
            let report = report
            let packed = try await withTaskCancellationHandler {
                try await threads.run {
                    let (old, new) = (
                        try base.stream(),
                        try TreePatch.stream(of: tree) { (file) throws(NacreError) in try folder.bytes(file) }
                    )
                    let packed = try TreePatch.make(from: old, to: new, effort: request.effort) {
                        (part: Double) throws(NacreError) in
                        try stop.check()
                        report.progress(phase, part)
                    }
                    // What a device will make of it, before anybody gets it.
                    _ = try TreePatch.apply(packed, to: old, giving: .init(tree)) {
                        (_: ReleaseFile, _: [UInt8]) throws(NacreError) in
                    }
                    return packed
                }
            } onCancel: {
                stop.set()
            }
            try Task.checkCancellation()
            guard packed.count < made.bundle.object.size else {
                report.say("no patch from \(base.label): it would be as large as the bundle")
                continue
            }
            let digest = TreeDigest(of: packed)
            _ = try await putOnce(ReleaseStore.patch(channel, digest), .bytes(packed))
            made.patches.append(
                (
                    base.label,
                    .init(
                        algorithm: TreePatch.algorithm, base: base.tree.digest,
                        object: .init(digest: digest, size: packed.count))
                ))
        }
    }

    /// The newest releases with different trees, from what lies in the store.
    func previous(_ count: Int, _ state: ChannelState, _ work: WorkFolder) async throws -> [ReleaseBase] {
        var bases: [ReleaseBase] = []
        for manifest in try await history(count, state) {
            do {
                bases.append(
                    try await base(
                        of: manifest, state.verified(manifest), from: BucketSource(bucket),
                        archiveKey: keys?.archive.publicKey, work))
            } catch let error as NacreError {
                report.say("no patch from \(manifest.version): \(error.message)")
            }
        }
        return bases
    }

    /// The newest releases of the channel, the newest first, each version once.
    func history(_ count: Int, _ state: ChannelState) async throws -> [ReleaseManifest] {
        var found: [ReleaseManifest] = []
        var versions: Set<String> = []
        func take(_ version: String) async throws {
            guard found.count < count, versions.insert(version).inserted, let manifest = try await release(version)
            else { return }
            found.append(manifest)
        }
        if let version = state.manifest?.version { try await take(version) }
        for claim in state.claims.reversed() where found.count < count {
            guard let item = try await bucket.get(claim.key, upTo: 4096),
                let version = (try? JSONParser.parse(item.bytes))?["version"]?.string, ReleaseStore.isName(version)
            else { continue }
            try await take(version)
        }
        return found
    }
}
