// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreReleases

/// The key sets of a channel that an app with certain roots comes to, epoch by epoch.
///
/// Whoever can write into the bucket can put a key set there, signed by roots of their own: so a set counts where the app's
/// roots lead to it, for publishing as for devices, and nowhere else.
struct KeyChain: Sendable {
    /// By epoch.
    private var sets: [Int64: ReleaseKeySet] = [:]
    private(set) var newest: ReleaseKeySet?
    /// Why what lies in the bucket is not a chain from the roots to its newest set.
    private(set) var fault: NacreError?

    /// So many sets are read, the newest: nobody rotates more often, and a full bucket costs no more.
    static let longest = 64

    /// None.
    init() {}

    /// Sets that cannot be checked.
    init(fault: NacreError) { self.fault = fault }

    /// - Parameter documents: the bucket's sets, ascending by epoch.
    init(_ documents: [(epoch: Int64, bytes: [UInt8])], from roots: RootKeys, app: String) {
        for (epoch, bytes) in documents {
            do throws(NacreError) {
                guard let set = try Self.read(bytes, epoch, after: newest, from: roots, app: app) else { continue }
                (sets[epoch], newest) = (set, set)
            } catch {
                fault = NacreError(
                    "ota.key_set",
                    "The key set of epoch \(epoch) in the bucket does not count: \(error.message) Find out who wrote it, and "
                        + "move it away.", cause: error)
                return
            }
        }
        if newest == nil, !documents.isEmpty {
            fault = NacreError(
                "ota.key_set",
                "The app's root keys (updates.rootKeys in nacre.json) have signed none of the channel's key sets; either the "
                    + "keys are other ones, or somebody else has written into the bucket. Nothing is signed for it.")
        }
    }

    /// Nil for a set of the days of older roots, which an app of today never sees.
    private static func read(
        _ bytes: [UInt8], _ epoch: Int64, after newest: ReleaseKeySet?, from roots: RootKeys, app: String
    ) throws(NacreError) -> ReleaseKeySet? {
        let (envelope, set) = try KeyCeremony.read(bytes)
        guard set.epoch == epoch else {
            throw NacreError("ota.key_set", "It says that it is of epoch \(set.epoch).")
        }
        guard newest != nil || set.app != app || roots.hasSigned(envelope) else { return nil }
        return try ReleaseKeySet(following: newest, builtIn: roots, app: app, envelope: envelope)
    }

    /// The signed part of a manifest, where a release key of its epoch has signed it.
    func payload(_ manifest: ReleaseManifest) -> ReleasePayload? {
        guard let envelope = manifest.envelope, let payload = try? ReleasePayload(bytes: envelope.payload),
            let set = sets[payload.keyEpoch],
            !envelope.signers(among: set.release, for: .release).isEmpty,  // guard: publisher-verifies
            payload.version == manifest.version, payload.sequence == manifest.sequence
        else { return nil }
        return payload
    }

    /// Whether a key that counts today has signed it. A key that was taken out of the set may be a thief's.
    func isSignedToday(_ manifest: ReleaseManifest) -> Bool {
        guard let envelope = manifest.envelope, let newest else { return false }
        return !envelope.signers(among: newest.release, for: .release).isEmpty  // guard: publisher-signed-today
    }
}
