// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore

/// The guards that a manifest passes, in the one order of UP-4. The first that it does not pass is the reason.
public enum ReleaseGuard: String, Sendable, CaseIterable {
    /// The build has a key.
    case key
    /// https outside of development, for the manifest and for the bundle.
    case transport
    case size
    case form
    /// The envelope where the build has root keys; else both signature fields are there.
    case signature
    case app
    case channel
    case platform
    case keyEpoch = "key_epoch"
    case expiry
    case native
    case revoked
    /// It is what runs already.
    case running
    /// Its sequence is above the device's floor.
    case sequence
    /// It has failed to start here.
    case failed
    case rollout
    case space
}

/// Why a manifest is not followed; nothing was changed.
public struct ReleaseRefusal: Error, Sendable, Equatable, CustomStringConvertible {
    public let guardName: ReleaseGuard
    /// For the log and the update report; one sentence.
    public let message: String
    /// What was verified before it was refused: its sequence still moves the floor, and what it withdraws is withdrawn.
    public internal(set) var payload: ReleasePayload?
    public var description: String { "\(guardName.rawValue): \(message)" }

    init(_ guardName: ReleaseGuard, _ message: String) { (self.guardName, self.message) = (guardName, message) }
}

/// How far a channel's sequences have come on a device. It moves by what is verified only, so that a forged sequence cannot
/// keep a device from updates (UP-4).
public struct ReleaseFloor: Sendable, Equatable {
    /// Of the newest bundle that was verified, or of the store build: only what is above it is taken.
    public var taken: Int64
    /// Of the newest verified envelope: what is below it is a replay. Equal to it is the same release, tried once more.
    public var seen: Int64

    public init(taken: Int64, seen: Int64? = nil) { (self.taken, self.seen) = (taken, seen ?? taken) }
}

/// Where and under which sequence a release was when it failed to start.
public struct FailedRelease: Sendable, Equatable {
    public var channel: String
    public var sequence: Int64

    public init(channel: String, sequence: Int64) { (self.channel, self.sequence) = (channel, sequence) }
}

/// By what a release is known again: the name of its tree, or, where nobody has signed that, its checksum field.
public enum ReleaseIdentity: Hashable, Sendable {
    case tree(TreeDigest)
    case checksum(String)
}

/// What the guards ask of the device and the build.
public struct ReleaseDevice: Sendable {
    /// The RSA key of the source system's format is built in.
    public var hasArchiveKey: Bool
    public var roots: RootKeys?
    public var keySet: ReleaseKeySet?
    public var isDevelopment: Bool
    public var app: String
    public var channel: String
    public var platform: String
    public var native: NativeVersion
    /// Never before the build, nor before anything signed that was seen.
    public var now: Instant
    public var running: ReleaseIdentity?
    public var runningVersion: String
    /// What of this channel's sequences is past; nil trusts the first one.
    public var floor: ReleaseFloor?
    /// What failed to start here.
    public var failed: [ReleaseIdentity: FailedRelease]
    /// What manifests seen here have withdrawn.
    public var revoked: Set<TreeDigest>
    /// 0 … 9999, of this device for this salt.
    public var draw: @Sendable (_ salt: String) -> Int
    /// Bytes; nil where nobody knows.
    public var space: Int?
    /// A verified word, of this app and channel, that a release is still the newest; it stands for a later expiry.
    public var freshness: FreshnessStatement?

    public init(
        hasArchiveKey: Bool, roots: RootKeys? = nil, keySet: ReleaseKeySet? = nil, isDevelopment: Bool = false,
        app: String, channel: String, platform: String, native: NativeVersion, now: Instant,
        running: ReleaseIdentity? = nil, runningVersion: String, floor: ReleaseFloor? = nil,
        failed: [ReleaseIdentity: FailedRelease] = [:], revoked: Set<TreeDigest> = [],
        draw: @escaping @Sendable (String) -> Int = { _ in 0 },
        space: Int? = nil
    ) {
        (self.hasArchiveKey, self.roots, self.keySet, self.isDevelopment) = (
            hasArchiveKey, roots, keySet, isDevelopment
        )
        (self.app, self.channel, self.platform, self.native, self.now) = (app, channel, platform, native, now)
        (self.running, self.runningVersion, self.floor, self.failed) = (running, runningVersion, floor, failed)
        (self.revoked, self.draw, self.space) = (revoked, draw, space)
    }
}

/// A manifest that has passed.
public struct ReleaseOffer: Sendable, Equatable {
    public let manifest: ReleaseManifest
    /// Where the build has root keys.
    public let payload: ReleasePayload?
    public let identity: ReleaseIdentity
    /// Whether the sequence is known to be the publisher's; only then may it become the device's floor at once.
    public var isVerified: Bool { payload != nil }
}

extension ReleaseDevice {
    /// Unpacked files and the download stand side by side for a while, and a system that is full to the brim is ill.
    private static let reserve = 20_000_000

    /// Asks the guards that need no manifest.
    public func mayCheck(_ url: String) throws(ReleaseRefusal) {
        guard hasArchiveKey || roots != nil else {  // guard: update-key
            throw ReleaseRefusal(.key, "This build has no key to verify updates with.")
        }
        guard isDevelopment || url.hasPrefix("https://") else {  // guard: update-manifest-https
            throw ReleaseRefusal(.transport, "The manifest's address is not https.")
        }
    }

    /// Judges a manifest.
    public func judge(_ bytes: [UInt8], from url: String) throws(ReleaseRefusal) -> ReleaseOffer {
        try mayCheck(url)
        guard bytes.count <= ReleaseManifest.maximumBytes else {  // guard: update-size
            throw ReleaseRefusal(
                .size, "The manifest has \(bytes.count) bytes; \(ReleaseManifest.maximumBytes) are read.")
        }
        let manifest: ReleaseManifest
        do throws(NacreError) { manifest = try ReleaseManifest(bytes: bytes) } catch {
            throw ReleaseRefusal(.form, error.message)
        }
        guard isDevelopment || manifest.url.hasPrefix("https://") else {  // guard: update-bundle-https
            throw ReleaseRefusal(.transport, "The bundle's address is not https.")
        }
        let payload = try verified(manifest)
        do throws(ReleaseRefusal) { return try judge(manifest, payload) } catch {
            var refusal = error
            refusal.payload = payload
            throw refusal
        }
    }

    /// The guards on what is known to be the publisher's, where the build can know that.
    private func judge(
        _ manifest: ReleaseManifest, _ payload: ReleasePayload?
    ) throws(ReleaseRefusal) -> ReleaseOffer {
        let identity = payload.map { ReleaseIdentity.tree($0.tree.digest) } ?? .checksum(manifest.seal.checksum)
        if let payload { try admit(payload, signed: manifest.envelope?.payload ?? []) }
        guard identity != running else {  // guard: update-running
            throw ReleaseRefusal(.running, "Version \(manifest.version) is what runs.")
        }
        try isNewer(manifest, payload?.sequence ?? manifest.sequence)
        // Published again under a higher sequence it is somebody's decision, and taken.
        if let failure = failed[identity],  // guard: update-failed
            failure.channel != channel || payload?.sequence ?? manifest.sequence ?? 0 <= failure.sequence
        {
            throw ReleaseRefusal(.failed, "Version \(manifest.version) has failed to start on this device.")
        }
        if let payload {
            // Who runs what was withdrawn does not wait for a turn.
            let withdrawn = revoked.union(payload.revoked)
            let isUrgent = withdrawn.contains { running == .tree($0) }
            guard isUrgent || draw(payload.rollout.salt) < payload.rollout.basisPoints else {  // guard: update-rollout
                throw ReleaseRefusal(
                    .rollout, "Version \(manifest.version) is for part of the devices, and not yet for this one.")
            }
            let needed = payload.tree.bytes + payload.archive.size + Self.reserve
            if let space, space < needed {  // guard: update-space
                throw ReleaseRefusal(.space, "Version \(manifest.version) needs \(needed) bytes; \(space) are free.")
            }
        }
        return ReleaseOffer(manifest: manifest, payload: payload, identity: identity)
    }

    /// The signed part, where this build demands one.
    private func verified(_ manifest: ReleaseManifest) throws(ReleaseRefusal) -> ReleasePayload? {
        guard roots != nil else {
            // Without root keys the source system's rules hold, and an empty field is a missing signature.
            guard !manifest.seal.checksum.isEmpty, !manifest.seal.sessionKey.isEmpty else {  // guard: update-fields
                throw ReleaseRefusal(.signature, "The manifest lacks its checksum or its sessionKey.")
            }
            return nil
        }
        guard let envelope = manifest.envelope else {
            throw ReleaseRefusal(.signature, "The manifest has no signed part, and this app takes none without.")
        }
        guard let keySet else { throw ReleaseRefusal(.signature, "There is no key set to verify the release with.") }
        guard !envelope.signers(among: keySet.release, for: .release).isEmpty else {  // guard: update-signature
            throw ReleaseRefusal(.signature, "No release key of epoch \(keySet.epoch) has signed the manifest.")
        }
        do throws(NacreError) {
            let payload = try ReleasePayload(bytes: envelope.payload)
            // What other clients read must not tell another story.
            // guard: update-same-story
            guard payload.version == manifest.version, payload.sequence == manifest.sequence else {
                throw NacreError("release.manifest", "The manifest's signed part is another release's.")
            }
            return payload
        } catch { throw ReleaseRefusal(.signature, error.message) }
    }

    /// The guards on what is signed.
    private func admit(_ payload: ReleasePayload, signed: [UInt8]) throws(ReleaseRefusal) {
        let version = "Version \(payload.version)"
        guard payload.app == app else {  // guard: update-app
            throw ReleaseRefusal(.app, "\(version) is of the app \(payload.app).")
        }
        guard payload.channel == channel else {  // guard: update-channel
            throw ReleaseRefusal(.channel, "\(version) is of the channel \(payload.channel), not of \(channel).")
        }
        guard payload.platforms.isEmpty || payload.platforms.contains(platform) else {  // guard: update-platform
            throw ReleaseRefusal(.platform, "\(version) is not for \(platform).")
        }
        guard let keySet, payload.keyEpoch == keySet.epoch else {  // guard: update-key-epoch
            throw ReleaseRefusal(.keyEpoch, "\(version) was signed in key epoch \(payload.keyEpoch).")
        }
        // guard: update-expiry
        guard payload.expires > now || isFresh(payload, signed), keySet.expires > now else {
            throw ReleaseRefusal(.expiry, "\(version), or the keys it was signed with, have expired.")
        }
        guard payload.native.contains(native) else {  // guard: update-native
            throw ReleaseRefusal(.native, "\(version) does not run in the native version \(native.text).")
        }
        // guard: update-revoked
        guard !payload.revoked.contains(payload.tree.digest), !revoked.contains(payload.tree.digest) else {
            throw ReleaseRefusal(.revoked, "\(version) has been withdrawn.")
        }
    }

    /// The word dates anew what it names, and nothing else.
    private func isFresh(_ payload: ReleasePayload, _ signed: [UInt8]) -> Bool {
        guard let freshness, freshness.expires > now else { return false }
        return freshness.sequence == payload.sequence
            && freshness.release == TreeDigest(of: signed)  // guard: update-fresh-release
    }

    private func isNewer(_ manifest: ReleaseManifest, _ sequence: Int64?) throws(ReleaseRefusal) {
        if let sequence {
            if let floor {
                guard sequence > floor.taken, sequence >= floor.seen else {  // guard: update-sequence
                    throw ReleaseRefusal(
                        .sequence, "Its sequence \(sequence) is past: \(max(floor.taken, floor.seen)) was seen here.")
                }
            }
            return
        }
        // A manifest of old says nothing to hold on to but its version.
        let offered = try? NativeVersion(manifest.version)
        let present = try? NativeVersion(runningVersion)
        guard let offered, let present, offered > present else {  // guard: update-forward
            throw ReleaseRefusal(
                .sequence, "It has no sequence, and version \(manifest.version) is not above \(runningVersion).")
        }
        guard floor == nil else {  // guard: update-sequence-lost
            throw ReleaseRefusal(.sequence, "It has no sequence, but releases of this channel had one.")
        }
    }
}
