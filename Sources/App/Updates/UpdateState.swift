// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreReleases

/// A bundle that lies on the device, whole and verified.
struct InstalledBundle: Sendable, Equatable {
    /// The name of its tree, and of its folder.
    var tree: TreeDigest
    /// How guards know it: as its tree, or by the checksum field where nobody has signed the tree.
    var identity: ReleaseIdentity
    var version: String
    /// The stamp for the version report.
    var stamp: String
    var channel: String
    /// Nil for a release of old.
    var sequence: Int64?
    var storageEpoch: Int64
    /// Whether a step back to it across a storage epoch may lose what the web view has stored.
    var resetsStorage: Bool
    var native: NativeRange
}

/// A bundle on its first starts.
struct Trial: Sendable, Equatable {
    /// Starts of the app that have not been confirmed, this one included.
    var attempts: Int
    /// Another word for each trial, so that nothing of one is taken for another's.
    var nonce: String

    /// A second chance tells an impatient person from a bundle that does not start.
    static let chances = 2
}

/// A release that did not start here.
struct FailedBundle: Sendable, Equatable {
    enum Reason: String, Sendable {
        /// The page's process died.
        case crashed
        /// The confirm did not come in time.
        case silent
        /// The app was ended twice before the confirm.
        case ended
        /// Files of it were gone.
        case missing
    }

    var identity: ReleaseIdentity
    var channel: String
    var sequence: Int64
    var version: String
    var reason: Reason
    var count: Int
}

/// One thing that the updater did, or left, and why.
struct UpdateDecision: Sendable, Equatable {
    var at: Instant
    /// Such as `refused`, `staged`, `reverted`.
    var what: String
    var version: String
    var why: String
}

/// Everything that the updater knows from one start to the next (design §7, "Update state").
struct UpdateState: Sendable, Equatable {
    /// The app that wrote it; another one is a store update.
    var native = ""
    var build = ""
    var builtInVersion = ""
    /// The digest of the root keys that app was built with.
    var roots = ""
    /// What is served; nil is the bundle inside the app.
    var running: InstalledBundle?
    /// While `running` has not confirmed its start.
    var trial: Trial?
    var staged: InstalledBundle?
    /// The last good one besides the one inside the app.
    var fallback: InstalledBundle?
    var floors: [String: ReleaseFloor] = [:]
    /// The key epoch of the releases that have moved the floors; 0 where nothing signed has.
    var floorEpoch: Int64 = 0
    var failed: [FailedBundle] = []
    var revoked: [TreeDigest] = []
    /// The payload of the newest key set.
    var keySet: [UInt8]?
    /// The latest moment that anything signed was issued at.
    var newestIssued = Instant(milliseconds: 0)
    /// Of this device, and never sent: decides with a release's salt whether it is among the first.
    var seed = ""
    var checked = Instant(milliseconds: 0)
    var manifestURL = ""
    /// The validator of the manifest that was judged last; empty where another look could end otherwise.
    var manifestTag = ""
    /// The name of the signed part of that manifest.
    var manifestRelease = ""
    /// The latest ten.
    var decisions: [UpdateDecision] = []

    static let keptDecisions = 10
    static let keptFailures = 32
    static let keptRevoked = 1024
    static let keptFloors = 32

    mutating func decide(_ what: String, _ version: String, _ why: String, at: Instant) {
        decisions.append(UpdateDecision(at: at, what: what, version: version, why: why))
        decisions = decisions.suffix(Self.keptDecisions)
    }

    mutating func raise(_ channel: String, seen: Int64? = nil, taken: Int64? = nil) {
        var floor = floors[channel] ?? ReleaseFloor(taken: 0)
        if let taken { floor.taken = max(floor.taken, taken) }
        floor.seen = max(floor.seen, seen ?? 0, floor.taken)
        // Nobody follows so many channels in earnest; the one in use stays.
        if floors[channel] == nil, floors.count >= Self.keptFloors, let victim = floors.keys.sorted().first {
            floors[victim] = nil
        }
        floors[channel] = floor
    }

    /// The roots have named keys of this epoch, and releases of epochs before are followed no more.
    ///
    /// Whoever had stolen a key could sign any sequence, and what it has reached here must not keep the new keys' releases
    /// out. What is older cannot come back by that: it would have to be signed with the new keys.
    mutating func enter(epoch: Int64, at now: Instant) {
        guard epoch > floorEpoch else { return }  // guard: update-floor-epoch
        defer { floorEpoch = epoch }
        // What was there before any keys is the source system's, and no thief's.
        guard floorEpoch > 0 else { return }
        floors = [:]
        guard let bundle = staged else { return }
        staged = nil  // guard: update-staged-epoch
        decide("dropped", bundle.version, "The keys that it was signed with count no more.", at: now)
    }

    mutating func withdraw(_ trees: [TreeDigest]) {
        for tree in trees where !revoked.contains(tree) { revoked.append(tree) }
        revoked = revoked.suffix(Self.keptRevoked)
    }

    /// A bundle was lost or dropped through no fault of its own: its release may come once more. What is older stays past.
    mutating func mayComeAgain(_ bundle: InstalledBundle) {
        // The same manifest is to be judged anew.
        manifestTag = ""
        guard let sequence = bundle.sequence, let floor = floors[bundle.channel] else { return }
        floors[bundle.channel]?.taken = min(floor.taken, sequence - 1)
    }

    /// Gives up what runs, for good: the bundle before it takes its place.
    mutating func revert(_ reason: FailedBundle.Reason, at now: Instant) {
        guard let bundle = running else { return }
        guard reason != .missing else {
            leave(to: fallback)
            mayComeAgain(bundle)
            return decide("reverted", bundle.version, reason.sentence, at: now)
        }
        let before = failed.first { $0.identity == bundle.identity }
        failed.removeAll { $0.identity == bundle.identity }
        failed.append(
            FailedBundle(
                identity: bundle.identity, channel: bundle.channel, sequence: bundle.sequence ?? 0,
                version: bundle.version, reason: reason, count: (before?.count ?? 0) + 1))
        failed = failed.suffix(Self.keptFailures)
        if staged?.identity == bundle.identity { staged = nil }
        leave(to: fallback)
        // The same manifest is to be judged anew.
        manifestTag = ""
        decide("reverted", bundle.version, reason.sentence, at: now)
    }

    /// Goes back without a word against what ran.
    mutating func leave(to bundle: InstalledBundle?) {
        running = bundle
        if fallback == bundle { fallback = nil }
        trial = nil
    }

    /// Puts the staged bundle in the place of the running one, on trial.
    mutating func activate(nonce: String, at now: Instant) {
        guard let next = staged else { return }
        // A bundle that has not confirmed, or was withdrawn, is nothing to fall back to.
        if trial == nil { fallback = running.flatMap { revoked.contains($0.tree) ? nil : $0 } }
        running = next
        staged = nil
        trial = Trial(attempts: 0, nonce: nonce)
        decide("activated", next.version, "It was staged.", at: now)
    }
}

extension FailedBundle.Reason {
    var sentence: String {
        switch self {
        case .crashed: "Its page's process died before it had confirmed its start."
        case .silent: "It did not confirm its start in time."
        case .ended: "The app was ended \(Trial.chances) times before it had confirmed its start."
        case .missing: "Files of it were gone."
        }
    }
}
