// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreReleases

extension ReleasePublisher {
    /// Publishes a folder: objects first, then the list, patches, the archive and the release, the manifest last, after
    /// everything was read back as a device reads it.
    ///
    /// Cancelling leaves what is in the store, which nobody follows; the next publication of the same files goes on there.
    /// - Throws: `ota.*` that says why nothing was announced; `release.*`, `bucket.*`, `transport.*`, `file.*`.
    package func publish(_ request: PublishRequest) async throws -> PublishOutcome {
        let keys = try demandKeys()
        guard ReleaseStore.isName(request.version) else {  // guard: publisher-version
            throw NacreError(
                "ota.version",
                "\"\(request.version.prefix(40))\" is no name for a version: letters, digits, . _ - + only.")
        }
        let (folder, tree) = try await measured(request.folder)
        let state = try await state()
        let set = try signingSet(state)
        try refuseForeign(state, set, force: request.force)
        try refusePassed(request, state)

        let work = try WorkFolder(in: workParent, random: random)
        report.progress("archive", 0)
        let bundle = try await threads.run {
            try SealedBundle(tree, in: folder, key: keys.archive, work: work)
        }
        report.progress("archive", 1)
        if let present = try await release(request.version) {
            return try await goOn(request, present, bundle, tree, state)
        }
        let claim = try await claim(state, request.version)
        do {
            return try await publish(request, folder, tree, bundle, state, set, claim, work)
        } catch {
            // What was not announced need not keep others waiting. Also when this task is cancelled.
            let bucket = bucket
            await Task { try? await bucket.remove(claim.key) }.value
            throw error
        }
    }

    private func publish(
        _ request: PublishRequest, _ folder: TreeFolder, _ tree: ReleaseTree, _ bundle: SealedBundle,
        _ state: ChannelState, _ set: ReleaseKeySet?, _ claim: SequenceClaim, _ work: WorkFolder
    ) async throws -> PublishOutcome {
        var made = Made(tree: tree, bundle: bundle)
        if set != nil {
            made.newObjects = try await putObjects(tree, folder)
            try await putList(tree)
            try await putPatches(request, folder, state, work, into: &made)
        }
        try await putBundle(request.version, bundle, work)

        let manifest = try sign(request, made, state, set, claim)
        let key = ReleaseStore.release(channel, request.version)
        try await readBack(manifest, made, work)  // guard: publisher-read-back
        guard try await putOnce(key, .bytes(manifest.bytes)) else {
            throw NacreError(
                "ota.other_publisher",
                "Another publisher has put version \(request.version) meanwhile; nothing of this was announced. Look at it "
                    + "with inspect.")
        }
        try await judge(key, set, request)
        var outcome = PublishOutcome(
            what: .staged, version: request.version, sequence: claim.sequence, tree: tree.digest,
            manifestURL: manifestURL, archive: bundle.object.size,
            patches: made.patches.map { .init(from: $0.label, bytes: $0.facts.object.size) },
            newObjects: made.newObjects?.count)
        if request.stagesOnly {
            _ = try await bucket.put(ReleaseStore.staged(channel), .bytes(manifest.bytes), .always)
            return outcome
        }
        try await announce(manifest, over: state, claim)
        outcome.what = .announced
        return outcome
    }

    /// What of a release has been made so far.
    struct Made {
        let tree: ReleaseTree
        let bundle: SealedBundle
        /// Files that were not in the store before; nil where none are put.
        var newObjects: [ReleaseFile]?
        var patches: [(label: String, facts: ReleasePayload.PatchFacts)] = []
    }

    private func measured(_ path: String) async throws -> (TreeFolder, ReleaseTree) {
        let folder = TreeFolder(path)
        let tree = try await threads.run { try folder.measure() }
        let index = tree.files.first { $0.path.text == "index.html" }
        guard let index, index.size > 0 else {  // guard: publisher-index
            throw NacreError(
                "ota.index",
                "\(path) has no index.html; name the folder that your build writes, such as dist, not the one above it."
            )
        }
        return (folder, tree)
    }

    /// What another wrote into the bucket is not what this job goes on from.
    private func refuseForeign(
        _ state: ChannelState, _ set: ReleaseKeySet?, force: Bool
    ) throws(NacreError) {
        guard set != nil, let manifest = state.manifest, state.payload == nil else { return }
        // A channel of the source system's publisher that gets its first key set.
        if manifest.envelope == nil, set?.epoch == 1 { return }
        guard force else {  // guard: publisher-foreign
            throw NacreError(
                "ota.foreign",
                "The channel's manifest (version \(manifest.version)) was not signed by a release key of the channel; somebody "
                    + "else may write into the bucket. Find out who; --force publishes over it.")
        }
    }

    private func refusePassed(_ request: PublishRequest, _ state: ChannelState) throws(NacreError) {
        let others = [state.manifest?.version, state.staged?.version].compactMap { $0 }
        let passed = others.first { VersionOrder.isPassed(request.version, by: $0) }
        guard let passed, !request.force else { return }  // guard: publisher-passed
        throw NacreError(
            "ota.version_passed",
            "The channel \(channel) is past version \(request.version): it has \(passed). Take a higher version; to go back to "
                + "a release, use rollback; --force publishes it all the same.")
    }

    /// A version that was published before: with the same files this goes on where that ended, with others it stops.
    private func goOn(
        _ request: PublishRequest, _ present: ReleaseManifest, _ bundle: SealedBundle, _ tree: ReleaseTree,
        _ state: ChannelState
    ) async throws -> PublishOutcome {
        guard present.seal.checksum == bundle.seal.checksum else {  // guard: publisher-version-used
            throw NacreError(
                "ota.version_used",
                "Version \(request.version) of the channel \(channel) was published with other files; caches may have them for "
                    + "ever. Take another version.")
        }
        if let other = Self.difference(request, present) {  // guard: publisher-other-terms
            throw NacreError(
                "ota.version_used",
                "Version \(request.version) of the channel \(channel) was published with another \(other), which is signed. Take "
                    + "another version.")
        }
        report.say("version \(request.version) is in the store already, with these files")
        if request.stagesOnly {
            guard state.manifest?.version != request.version else {
                return unchanged(present, state)
            }
            _ = try await bucket.put(ReleaseStore.staged(channel), .bytes(present.bytes), .always)
            return PublishOutcome(
                what: .staged, version: request.version, sequence: present.sequence, tree: tree.digest,
                manifestURL: manifestURL)
        }
        return try await promote(request.version)
    }

    /// What this request says of a release, and the one in the store does not.
    private static func difference(_ request: PublishRequest, _ present: ReleaseManifest) -> String? {
        guard let signed = present.envelope.flatMap({ try? ReleasePayload(bytes: $0.payload) }) else { return nil }
        let terms: [(String, Bool)] = [
            ("--storage-epoch", signed.storageEpoch == request.storageEpoch),
            ("--reset-storage", signed.resetsStorage == request.resetsStorage),
            ("native range", signed.native == request.native),
            ("list of platforms", signed.platforms == request.platforms),
            ("--rollout", signed.rollout.basisPoints == request.rollout.basisPoints),
        ]
        return terms.first { !$0.1 }?.0
    }

    func unchanged(_ manifest: ReleaseManifest, _ state: ChannelState) -> PublishOutcome {
        PublishOutcome(
            what: .unchanged, version: manifest.version, sequence: state.manifest?.sequence,
            tree: state.payload?.tree.digest, manifestURL: manifestURL)
    }

    private func sign(
        _ request: PublishRequest, _ made: Made, _ state: ChannelState, _ set: ReleaseKeySet?, _ claim: SequenceClaim
    ) throws(NacreError) -> ReleaseManifest {
        let now = time.now
        var manifest = ReleaseManifest(
            version: request.version,
            url: bundleURL(request.version),
            seal: made.bundle.seal, sequence: claim.sequence, publishedAt: now.iso8601)
        guard let set, let key = keys?.release else { return manifest }
        var rollout = request.rollout
        if rollout.salt.isEmpty, rollout.basisPoints < 10_000 { rollout.salt = request.version }
        let payload = ReleasePayload(
            app: app, channel: channel, platforms: request.platforms, sequence: claim.sequence, keyEpoch: set.epoch,
            storageEpoch: request.storageEpoch, resetsStorage: request.resetsStorage, version: request.version,
            issued: now, expires: min(now + request.lifetime, set.expires), native: request.native, rollout: rollout,
            rollbackOf: nil, tree: .init(made.tree), archive: made.bundle.object, hasObjects: made.newObjects != nil,
            patches: made.patches.map(\.facts), revoked: state.revoked,
            stamp: request.stamp)
        guard !payload.revoked.contains(payload.tree.digest) else {
            throw NacreError(
                "ota.revoked", "These very files were revoked before; a release of them would be refused everywhere.")
        }
        manifest.envelope = try SignedEnvelope(signing: payload.bytes, for: .release, with: [key])
        return manifest
    }
}
