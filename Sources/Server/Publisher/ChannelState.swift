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

/// A channel as it lies in a bucket, and what of it counts.
struct ChannelState: Sendable {
    let app: String
    let channel: String
    /// What devices follow, and the bytes' tag.
    var manifest: ReleaseManifest?
    var tag: String?
    var bytes: [UInt8]?
    /// What `--stage-only` left for `promote`.
    var staged: ReleaseManifest?
    var keys = KeyChain()
    /// Ascending.
    var claims: [SequenceClaim]

    /// No publisher comes so far by itself; whoever writes such a number wants the channel to end.
    private static let implausible: Int64 = 1 << 40

    /// The newest key set.
    var keySet: ReleaseKeySet? { keys.newest }

    /// The manifest's signed part, where a key of the channel's key sets has signed it.
    var payload: ReleasePayload? { manifest.flatMap { verified($0) } }

    /// The trees that were withdrawn, as a key says that counts today.
    var revoked: [TreeDigest] { manifest.flatMap { signedToday($0) }?.revoked ?? [] }

    /// The signed part of a release of this channel, where a release key of its epoch has signed it.
    func verified(_ release: ReleaseManifest) -> ReleasePayload? {
        guard let payload = keys.payload(release),
            payload.app == app, payload.channel == channel  // guard: publisher-own-channel
        else { return nil }
        return payload
    }

    /// The same, where one of today's release keys has: what may be signed anew.
    func signedToday(_ release: ReleaseManifest) -> ReleasePayload? {
        keys.isSignedToday(release) ? verified(release) : nil
    }

    /// The next sequence that nobody has taken.
    ///
    /// - Throws: `ota.sequence`.
    func nextSequence() throws(NacreError) -> Int64 {
        let taken = [manifest?.sequence, staged?.sequence].compactMap { $0 } + claims.map(\.sequence)
        let plausible = taken.filter { $0 < Self.implausible }
        let next = (plausible.max() ?? 0) + 1
        guard plausible.count < taken.count else { return next }  // guard: sequence-implausible
        // What nobody has signed moves no device, and a new key set lets them begin anew.
        guard let keySet else {
            throw NacreError(
                "ota.sequence",
                "The channel's sequence \(taken.max() ?? 0) is not one that a publisher has reached; somebody else has written "
                    + "into the bucket. Look at it with inspect; go on under another channel.")
        }
        let signed = payload.flatMap { $0.keyEpoch == keySet.epoch ? $0.sequence : nil } ?? 0
        guard signed < Self.implausible else {
            throw NacreError(
                "ota.sequence",
                "A release key of the channel has signed the sequence \(signed), which no publisher reaches, and "
                    + "devices that saw it take nothing under this key set any more: the key was stolen. Put a key set without "
                    + "it (nacre ota keys make, keys put), then publish.")
        }
        return next
    }
}

extension ReleasePublisher {
    /// Reads the channel.
    ///
    /// - Parameter toleratesKeys: whether key sets that the app's roots do not lead to are a matter to look at, not an error.
    /// - Throws: `ota.manifest`, `ota.key_set`, `bucket.*`.
    func state(toleratesKeys: Bool = false) async throws -> ChannelState {
        let keySets = try await bucket.list(ReleaseStore.keySets(channel))
        let epochs = keySets.compactMap { key in
            key.hasSuffix(".json")
                ? Int64(key.dropFirst(ReleaseStore.keySets(channel).count).dropLast(".json".count)) : nil
        }
        let claims = try await bucket.list(ReleaseStore.sequences(channel))
            .compactMap { SequenceClaim(key: $0, channel: channel) }.sorted { $0.sequence < $1.sequence }
        var state = ChannelState(app: app, channel: channel, claims: claims)
        state.keys = try await keyChain(epochs.sorted())
        if let fault = state.keys.fault, !toleratesKeys { throw fault }
        if let item = try await bucket.get(ReleaseStore.manifest(channel), upTo: ReleaseManifest.maximumBytes) {
            let manifest = try manifest(item.bytes, ReleaseStore.manifest(channel))
            (state.manifest, state.tag, state.bytes) = (manifest, item.tag, item.bytes)
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

    static func noRoots(_ why: String) -> NacreError {
        NacreError(
            "configuration.root_keys",
            "\(why) Run this beside the app's nacre.json (updates.rootKeys), use --project, or set "
                + "\(PublisherKeys.rootPublicVariable).")
    }

    /// The key sets that lie in the bucket, as far as the app's roots lead.
    private func keyChain(_ epochs: [Int64]) async throws -> KeyChain {
        guard !epochs.isEmpty else { return KeyChain() }
        guard let roots else {  // guard: publisher-roots
            return KeyChain(
                fault: Self.noRoots(
                    "The channel \(channel) has key sets, and without the app's root keys nobody can tell them from forged ones."
                ))
        }
        var documents: [(epoch: Int64, bytes: [UInt8])] = []
        for epoch in epochs.suffix(KeyChain.longest) {
            let key = ReleaseStore.keySet(channel, epoch)
            guard let item = try await bucket.get(key, upTo: ReleaseManifest.maximumBytes) else { continue }
            documents.append((epoch, item.bytes))
        }
        return KeyChain(documents, from: roots, app: app)
    }
}
