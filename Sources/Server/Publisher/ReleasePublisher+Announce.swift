// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreReleases

extension ReleasePublisher {
    /// A claim older than this is one of a publisher that was killed.
    private static let claimLifetime = Duration.seconds(600)

    /// Takes the next sequence.
    ///
    /// Where the store keeps conditions, two publishers may do that at once: only one of them will find the manifest as it
    /// was. Where it does not, whoever sees another at work stands back before anything is put.
    /// - Throws: `ota.other_publisher`.
    func claim(_ state: ChannelState, _ version: String) async throws -> SequenceClaim {
        let claim = SequenceClaim(sequence: try state.nextSequence(), channel: channel, random: random)
        let body: JSONValue = [
            "sequence": .integer(claim.sequence), "version": .string(version), "at": .integer(time.now.milliseconds),
        ]
        _ = try await putOnce(claim.key, .bytes(body.bytes))
        guard try await !bucket.keepsConditions(channel) else { return claim }
        do { try await refuseOthers(claim, over: state) } catch {
            try await bucket.remove(claim.key)
            throw error
        }
        return claim
    }

    /// Looks for other publishers that are at work now.
    private func refuseOthers(_ claim: SequenceClaim, over state: ChannelState) async throws {
        let floor = state.manifest?.sequence ?? 0
        for key in try await bucket.list(ReleaseStore.sequences(channel)) {
            guard let other = SequenceClaim(key: key, channel: channel), other.key != claim.key, other.sequence > floor,
                let item = try await bucket.get(key, upTo: 4096), let body = try? JSONParser.parse(item.bytes),
                let at = body["at"]?.integer, body["version"]?.string != state.staged?.version,
                time.now < Instant(milliseconds: at) + Self.claimLifetime
            else { continue }
            throw NacreError(  // guard: claim-others
                "ota.other_publisher",
                "Another publisher is at work on the channel \(channel) since \(Instant(milliseconds: at).iso8601) "
                    + "(\(body["version"]?.string ?? "?")); nothing of this was announced. Try again when it is done; if it was "
                    + "killed, in ten minutes.")
        }
    }

    /// Re-points the manifest: from here on devices follow.
    ///
    /// - Throws: `ota.other_publisher` when the manifest is not the one this publication started from.
    func announce(_ manifest: ReleaseManifest, over state: ChannelState, _ claim: SequenceClaim?) async throws {
        try Task.checkCancellation()
        let key = ReleaseStore.manifest(channel)
        let keeps = try await bucket.keepsConditions(channel)
        if !keeps {
            if let claim { try await refuseOthers(claim, over: state) }
            let present = try await bucket.get(key, upTo: ReleaseManifest.maximumBytes)
            guard present?.bytes == state.bytes else { throw try await overtaken() }  // guard: announce-reread
        }
        // From here on it is announced or not, and whoever asked must hear which: a task of its own is not cancelled.
        try await Task { try await replaceManifest(manifest, over: state, keeps: keeps) }.value
    }

    private func replaceManifest(_ manifest: ReleaseManifest, over state: ChannelState, keeps: Bool) async throws {
        let key = ReleaseStore.manifest(channel)
        let condition: PutCondition = !keeps ? .always : state.tag.map { .ifTag($0) } ?? .ifAbsent
        guard try await bucket.put(key, .bytes(manifest.bytes), condition) else {  // guard: announce-condition
            throw try await overtaken()
        }
        // Who reads through a cache may see the old one for a while.
        let seen = try? await source.bytes(key, upTo: ReleaseManifest.maximumBytes)
        if seen != manifest.bytes {
            let now = try await bucket.get(key, upTo: ReleaseManifest.maximumBytes)
            guard now?.bytes == manifest.bytes else { throw try await overtaken(afterwards: true) }
            report.say(
                "note: \(source.name) does not serve the new manifest yet; see to it that \(key) is never cached "
                    + "(Cache-Control: no-cache)")
        }
    }

    /// - Parameter afterwards: whether this release was announced for a moment; devices may have seen it.
    private func overtaken(afterwards: Bool = false) async throws -> NacreError {
        let item = try await bucket.get(ReleaseStore.manifest(channel), upTo: ReleaseManifest.maximumBytes)
        let present = item.flatMap { try? ReleaseManifest(bytes: $0.bytes) }
        let what = present.map { "version \($0.version) (sequence \($0.sequence.map(String.init) ?? "none"))" }
        return NacreError(
            "ota.other_publisher",
            "Another publisher has announced \(what ?? "something") on the channel \(channel) meanwhile, and won; "
                + (afterwards ? "this was announced for a moment only." : "nothing of this was announced.")
                + " Look at it with inspect, then publish again.")
    }

    /// Reads everything that was put now as a device does, with its code.
    ///
    /// - Throws: `release.damaged`, `release.missing`: nothing was announced.
    func readBack(_ manifest: ReleaseManifest, _ made: Made, _ work: WorkFolder) async throws {
        let payload = try manifest.envelope.map { try ReleasePayload(bytes: $0.payload) }
        let client = try await client(
            manifest, payload, from: source, archiveKey: try demandKeys().archive.publicKey, work)
        report.progress("read back", 0)
        _ = try await client.archive()
        guard let payload else { return report.progress("read back", 1) }
        _ = try await client.list(payload.tree)
        // The bundle has been opened, the patches applied when they were made: here the bytes count.
        for patch in payload.patches { try await client.patch(patch, from: nil, giving: payload.tree) }
        try await client.telling { [report] in report.progress("read back", $0) }.objects(made.newObjects ?? [])
        report.progress("read back", 1)
    }

    /// Whether a device would follow the release that lies there now.
    func judge(_ key: String, _ set: ReleaseKeySet?, _ request: PublishRequest) async throws {
        let bytes = try await source.bytes(key, upTo: ReleaseManifest.maximumBytes)
        let device = try device(set, native: request.native, platform: request.platforms.first ?? "linux")
        do { _ = try device.judge(bytes, from: manifestURL) } catch {
            throw NacreError("ota.refused", "A device would refuse this release: \(error.message)")
        }
    }

    /// A device that has nothing yet.
    func device(_ set: ReleaseKeySet?, native: NativeRange, platform: String) throws(NacreError) -> ReleaseDevice {
        let lowest = if let minimum = native.minimum { minimum } else { try NativeVersion("0") }
        return ReleaseDevice(
            hasArchiveKey: true, roots: set?.roots, keySet: set, isDevelopment: publicBase.hasPrefix("http://"),
            app: app, channel: channel, platform: platform, native: lowest,
            now: time.now, runningVersion: "0")
    }
}
