// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreReleases

extension ReleasePublisher {
    /// Announces what `--stage-only` left, or a version of the store (UP-8). Announced already, it changes nothing.
    ///
    /// Without keys where the release's own sequence is still ahead; else it is signed anew.
    package func promote(_ version: String? = nil) async throws -> PublishOutcome {
        let state = try await state()
        guard let version = version ?? state.staged?.version else {
            throw NacreError(
                "ota.nothing_staged",
                "Nothing is staged on the channel \(channel); use publish --stage-only, or name a version.")
        }
        let release = try await demandRelease(version)
        if state.manifest?.version == version { return unchanged(release, state) }
        let isFit = state.keySet.map { state.signedToday(release)?.keyEpoch == $0.epoch } ?? true
        if isFit, let sequence = release.sequence, sequence > state.manifest?.sequence ?? 0 {
            // As it was signed; a deploy hook needs no key for that.
            try await demandBundle(release)
            try await announce(release, over: state, nil)
            return outcome(release, state)
        }
        return try await announceAgain(release, state, rollbackOf: nil) { _ in }
    }

    /// Re-points the manifest at an earlier release under a higher sequence; devices follow at their next check.
    ///
    /// - Parameter resetsStorage: whether a device that has no copy of what an older storage epoch had stored may remove what it
    ///   has; else it stays where it is.
    package func rollback(to version: String, resetsStorage: Bool = false) async throws -> PublishOutcome {
        let state = try await state()
        guard let present = state.manifest else {
            throw NacreError("ota.nothing_published", "Nothing is published on the channel \(channel).")
        }
        let release = try await demandRelease(version)
        let signed = state.verified(release)
        guard !resetsStorage || signed != nil else {  // guard: rollback-reset-signed
            throw NacreError(
                "ota.release",
                "Version \(version) is not signed by a key of the channel, and only the signed part can say --reset-storage."
            )
        }
        let isPresent = present.version == version
        if isPresent, !resetsStorage || state.payload?.resetsStorage == true { return unchanged(release, state) }
        if let now = state.payload, let signed, signed.storageEpoch < now.storageEpoch,
            !resetsStorage, !signed.resetsStorage
        {
            report.say(
                "note: version \(version) has storage epoch \(signed.storageEpoch), and \(now.version) has "
                    + "\(now.storageEpoch): devices that have used the newer storage stay there, unless --reset-storage lets "
                    + "them remove it")
        }
        let origin = isPresent ? state.payload?.rollbackOf : release.sequence
        return try await announceAgain(release, state, rollbackOf: origin) {
            if resetsStorage { $0.resetsStorage = true }
        }
    }

    /// Withdraws a version's tree: no device goes on with it, and none takes it again.
    package func revoke(_ version: String) async throws -> PublishOutcome {
        let state = try await state()
        guard let present = state.manifest, let payload = state.payload else {
            throw NacreError(
                "ota.nothing_published",
                "The channel \(channel) has no release that is signed by a key set, so nothing can be revoked on it.")
        }
        guard present.version != version else {
            throw NacreError(
                "ota.revoke_current",
                "Version \(version) is what the channel announces; publish another, or roll back, first.")
        }
        guard let revoked = state.verified(try await demandRelease(version))?.tree.digest else {
            throw NacreError("ota.release", "Version \(version) is not signed by a key of the channel.")
        }
        guard revoked != payload.tree.digest else {
            throw NacreError(
                "ota.revoke_current", "Version \(present.version), which the channel announces, has the same files.")
        }
        guard !state.revoked.contains(revoked) else { return unchanged(present, state) }
        return try await announceAgain(present, state, rollbackOf: payload.rollbackOf) { $0.revoked.append(revoked) }
    }

    /// Widens the part of the devices that the announced release is for.
    package func rollOut(basisPoints: Int) async throws -> PublishOutcome {
        let state = try await state()
        guard let present = state.manifest, let payload = state.payload else {
            throw NacreError("ota.nothing_published", "The channel \(channel) has no signed release to roll out.")
        }
        guard payload.rollout.basisPoints != basisPoints else { return unchanged(present, state) }
        return try await announceAgain(present, state, rollbackOf: payload.rollbackOf) {
            $0.rollout.basisPoints = basisPoints
            if $0.rollout.salt.isEmpty { $0.rollout.salt = $0.version }
        }
    }

    private func demandRelease(_ version: String) async throws -> ReleaseManifest {
        guard ReleaseStore.isName(version), let release = try await release(version) else {
            throw NacreError(
                "ota.release",
                "Version \(version.prefix(40)) was never published on the channel \(channel); see inspect for what was."
            )
        }
        return release
    }

    /// The manifest must not point at nothing.
    private func demandBundle(_ release: ReleaseManifest) async throws {
        guard try await bucket.size(ReleaseStore.bundle(channel, release.version)) != nil else {
            throw NacreError(
                "release.missing",
                "The bundle of version \(release.version) is gone from \(bucket.name); publish it again under another version."
            )
        }
    }

    private func outcome(_ manifest: ReleaseManifest, _ state: ChannelState) -> PublishOutcome {
        PublishOutcome(
            what: .announced, version: manifest.version, sequence: manifest.sequence,
            tree: state.verified(manifest)?.tree.digest, manifestURL: manifestURL)
    }

    /// A release under the next sequence, signed today.
    private func announceAgain(
        _ release: ReleaseManifest, _ state: ChannelState, rollbackOf: Int64?,
        _ change: (inout ReleasePayload) throws(NacreError) -> Void
    ) async throws -> PublishOutcome {
        let set = try signingSet(state)
        try await demandBundle(release)
        let claim = try await claim(state, release.version)
        do {
            var manifest = release
            (manifest.sequence, manifest.publishedAt, manifest.envelope) = (claim.sequence, time.now.iso8601, nil)
            // The bucket may be served elsewhere today.
            manifest.url = bundleURL(release.version)
            if let set, let key = keys?.release {
                guard var payload = state.signedToday(release) else {  // guard: publisher-signs-anew
                    throw NacreError(
                        "ota.release",
                        state.verified(release) == nil
                            ? "Version \(release.version) is not signed by a key of the channel."
                            : "Version \(release.version) was signed by a key that the key set of epoch \(set.epoch) no longer has; "
                                + "publish its files again under another version.")
                }
                let lifetime = payload.expires - payload.issued
                payload.issued = time.now
                payload.expires = min(time.now + lifetime, set.expires)
                (payload.sequence, payload.keyEpoch, payload.rollbackOf) = (claim.sequence, set.epoch, rollbackOf)
                payload.revoked = state.revoked
                if rollbackOf != nil, release.version != state.manifest?.version { payload.rollout = .init() }
                try change(&payload)
                guard !payload.revoked.contains(payload.tree.digest) else {
                    throw NacreError(
                        "ota.revoked", "Version \(release.version) was revoked; every device would refuse it.")
                }
                manifest.envelope = try SignedEnvelope(signing: payload.bytes, for: .release, with: [key])
            }
            try await announce(manifest, over: state, claim)
            return outcome(manifest, state)
        } catch {
            let bucket = bucket
            await Task { try? await bucket.remove(claim.key) }.value
            throw error
        }
    }
}
