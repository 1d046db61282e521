// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreReleases

extension ReleaseStore {
    /// Who took which sequence, and for which version: the channel's history, by name.
    static func sequences(_ channel: String) -> String { "channels/\(channel)/sequences/" }
    static func keySets(_ channel: String) -> String { "channels/\(channel)/keys/" }
    static func objects(_ channel: String) -> String { "channels/\(channel)/objects/" }
}

/// A sequence that a publisher has taken, before it announces anything under it.
struct SequenceClaim: Sendable, Equatable {
    let sequence: Int64
    let key: String

    /// The claim of a key such as `channels/prod/sequences/0000000007-….json`; nil for what is none.
    init?(key: String, channel: String) {
        let start = ReleaseStore.sequences(channel)
        guard key.hasPrefix(start), key.hasSuffix(".json"),
            let sequence = Int64(key.dropFirst(start.count).prefix { $0 != "-" })
        else { return nil }
        (self.sequence, self.key) = (sequence, key)
    }

    init(sequence: Int64, channel: String, random: any RandomSource) {
        self.sequence = sequence
        let digits = String(sequence)
        // So that the order of names is the order of numbers.
        let padded = String(repeating: "0", count: max(0, 16 - digits.utf8.count)) + digits
        key = "\(ReleaseStore.sequences(channel))\(padded)-\(random.identifier().prefix(12)).json"
    }
}

/// A channel as it lies in a bucket.
struct ChannelState: Sendable {
    /// What devices follow, and the bytes' tag.
    var manifest: ReleaseManifest?
    var tag: String?
    var bytes: [UInt8]?
    /// The manifest's signed part, where a key of the channel's key sets has signed it.
    var payload: ReleasePayload?
    /// What `--stage-only` left for `promote`.
    var staged: ReleaseManifest?
    /// The newest key set.
    var keySet: ReleaseKeySet?
    /// Ascending.
    var claims: [SequenceClaim]

    /// No publisher comes so far by itself; whoever writes such a number wants the channel to end.
    private static let implausible: Int64 = 1 << 40

    /// The next sequence that nobody has taken.
    ///
    /// - Throws: `ota.sequence`.
    func nextSequence() throws(NacreError) -> Int64 {
        let taken = max(manifest?.sequence ?? 0, staged?.sequence ?? 0, claims.last?.sequence ?? 0)
        guard taken < Self.implausible else {  // guard: sequence-implausible
            throw NacreError(
                "ota.sequence",
                "The channel's sequence \(taken) is not one that a publisher has reached; somebody else has written into the "
                    + "bucket. Look at it with inspect; devices that followed it take nothing more on this channel.")
        }
        return taken + 1
    }
}

extension ReleasePublisher {
    /// Reads the channel.
    ///
    /// - Throws: `ota.manifest`, `bucket.*`.
    func state() async throws -> ChannelState {
        let keySets = try await bucket.list(ReleaseStore.keySets(channel))
        let epochs = keySets.compactMap { key in
            key.hasSuffix(".json")
                ? Int64(key.dropFirst(ReleaseStore.keySets(channel).count).dropLast(".json".count)) : nil
        }
        let claims = try await bucket.list(ReleaseStore.sequences(channel))
            .compactMap { SequenceClaim(key: $0, channel: channel) }.sorted { $0.sequence < $1.sequence }
        var state = ChannelState(claims: claims)
        if let newest = epochs.max() { state.keySet = try await keySet(newest) }
        if let item = try await bucket.get(ReleaseStore.manifest(channel), upTo: ReleaseManifest.maximumBytes) {
            let manifest = try manifest(item.bytes, ReleaseStore.manifest(channel))
            (state.manifest, state.tag, state.bytes) = (manifest, item.tag, item.bytes)
            state.payload = try await verified(manifest)
        }
        if let item = try await bucket.get(ReleaseStore.staged(channel), upTo: ReleaseManifest.maximumBytes) {
            state.staged = try manifest(item.bytes, ReleaseStore.staged(channel))
        }
        return state
    }

    func manifest(_ bytes: [UInt8], _ key: String) throws(NacreError) -> ReleaseManifest {
        do throws(NacreError) { return try ReleaseManifest(bytes: bytes) } catch {
            throw NacreError(
                "ota.manifest", "\(key) in \(bucket.name) is no manifest; move it away, and find out who wrote it.",
                cause: error)
        }
    }

    /// The archived release of a version.
    func release(_ version: String) async throws -> ReleaseManifest? {
        let key = ReleaseStore.release(channel, version)
        guard let item = try await bucket.get(key, upTo: ReleaseManifest.maximumBytes) else { return nil }
        return try manifest(item.bytes, key)
    }

    /// A key set of the channel, as the roots in it have signed it; which roots an app has is the app's affair.
    func keySet(_ epoch: Int64) async throws -> ReleaseKeySet? {
        let key = ReleaseStore.keySet(channel, epoch)
        guard let item = try await bucket.get(key, upTo: ReleaseManifest.maximumBytes) else { return nil }
        do {
            let envelope = try SignedEnvelope(try JSONParser.parse(item.bytes))
            let set = try ReleaseKeySet(bytes: envelope.payload)
            guard set.epoch == epoch, set.roots.hasSigned(envelope) else {
                throw NacreError("ota.key_set", "its roots have not signed it")
            }
            return set
        } catch let error as NacreError {
            throw NacreError(
                "ota.key_set", "The key set \(key) in \(bucket.name) is damaged: \(error.message)", cause: error)
        }
    }

    /// The signed part of a manifest, where a release key of its epoch has signed it.
    func verified(_ manifest: ReleaseManifest) async throws -> ReleasePayload? {
        guard let envelope = manifest.envelope, let payload = try? ReleasePayload(bytes: envelope.payload),
            let set = try await keySet(payload.keyEpoch),
            !envelope.signers(among: set.release, for: .release).isEmpty,  // guard: publisher-verifies
            payload.version == manifest.version, payload.sequence == manifest.sequence
        else { return nil }
        return payload
    }
}
