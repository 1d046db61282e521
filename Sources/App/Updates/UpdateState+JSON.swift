// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreReleases

extension UpdateState {
    /// Of this app. A file of a later one is read as far as it can be: what it says of floors, failures and withdrawn
    /// bundles holds, and what it says runs does not.
    static let format: Int64 = 1

    var json: JSONValue {
        [
            "format": .integer(Self.format), "native": .string(native), "build": .string(build),
            "builtInVersion": .string(builtInVersion), "roots": .string(roots),
            "running": running?.json ?? .null, "staged": staged?.json ?? .null, "fallback": fallback?.json ?? .null,
            "trial": trial.map { ["attempts": JSONValue($0.attempts), "nonce": .string($0.nonce)] } ?? .null,
            "floors": .object(
                floors.mapValues { ["taken": .integer($0.taken), "seen": .integer($0.seen)] }),
            "floorEpoch": .integer(floorEpoch),
            "failed": .array(
                failed.map {
                    [
                        "identity": $0.identity.json, "channel": .string($0.channel), "sequence": .integer($0.sequence),
                        "version": .string($0.version), "reason": .string($0.reason.rawValue),
                        "count": JSONValue($0.count),
                    ]
                }),
            "revoked": .array(revoked.map { .string($0.description) }),
            "keySet": keySet.map { .string(Base64.encode($0)) } ?? .null,
            "newestIssued": .integer(newestIssued.milliseconds), "seed": .string(seed),
            "checked": .integer(checked.milliseconds), "manifestURL": .string(manifestURL),
            "manifestTag": .string(manifestTag), "manifestRelease": .string(manifestRelease),
            "decisions": .array(
                decisions.map {
                    [
                        "at": .integer($0.at.milliseconds), "what": .string($0.what), "version": .string($0.version),
                        "why": .string($0.why),
                    ]
                }),
        ]
    }

    /// What a file says; nil for one that says nothing, and members that say nothing are left out one by one.
    init?(_ value: JSONValue) {
        guard value.object != nil, let format = value["format"]?.integer, format >= 1 else { return nil }
        self.init()
        for (channel, floor) in value["floors"]?.object ?? [:] {
            guard let taken = floor["taken"]?.whole, let seen = floor["seen"]?.whole else { continue }
            floors[channel] = ReleaseFloor(taken: taken, seen: seen)
        }
        floorEpoch = value["floorEpoch"]?.whole ?? 0
        failed = (value["failed"]?.array ?? []).compactMap(FailedBundle.init)
        revoked = (value["revoked"]?.array ?? []).compactMap { $0.string.flatMap { TreeDigest($0) } }
        keySet = value["keySet"]?.string.flatMap { Base64.decode($0) }
        newestIssued = Instant(milliseconds: value["newestIssued"]?.whole ?? 0)
        seed = value["seed"]?.string ?? ""
        decisions = (value["decisions"]?.array ?? []).compactMap(UpdateDecision.init)
        guard format == Self.format else { return }
        native = value["native"]?.string ?? ""
        build = value["build"]?.string ?? ""
        builtInVersion = value["builtInVersion"]?.string ?? ""
        roots = value["roots"]?.string ?? ""
        running = value["running"].flatMap(InstalledBundle.init)
        staged = value["staged"].flatMap(InstalledBundle.init)
        fallback = value["fallback"].flatMap(InstalledBundle.init)
        if running != nil, let attempts = value["trial"]?["attempts"]?.whole,
            let nonce = value["trial"]?["nonce"]?.string
        {
            trial = Trial(attempts: Int(attempts), nonce: nonce)
        }
        checked = Instant(milliseconds: value["checked"]?.whole ?? 0)
        manifestURL = value["manifestURL"]?.string ?? ""
        manifestTag = value["manifestTag"]?.string ?? ""
        manifestRelease = value["manifestRelease"]?.string ?? ""
    }
}

extension InstalledBundle {
    fileprivate var json: JSONValue {
        [
            "tree": .string(tree.description), "identity": identity.json, "version": .string(version),
            "stamp": .string(stamp), "channel": .string(channel), "sequence": sequence.map(JSONValue.integer) ?? .null,
            "storageEpoch": .integer(storageEpoch), "resetsStorage": .bool(resetsStorage),
            "native": ["min": JSONValue(native.minimum?.text), "below": JSONValue(native.below?.text)],
        ]
    }

    fileprivate init?(_ value: JSONValue) {
        guard let tree = value["tree"]?.string.flatMap({ TreeDigest($0) }),
            let identity = value["identity"].flatMap(ReleaseIdentity.init), let version = value["version"]?.string,
            let channel = value["channel"]?.string, let epoch = value["storageEpoch"]?.whole,
            let native = try? NativeRange(
                minimum: value["native"]?["min"]?.string, below: value["native"]?["below"]?.string)
        else { return nil }
        self.init(
            tree: tree, identity: identity, version: version, stamp: value["stamp"]?.string ?? "", channel: channel,
            sequence: value["sequence"]?.whole, storageEpoch: epoch,
            resetsStorage: value["resetsStorage"]?.bool ?? false, native: native)
    }
}

extension ReleaseIdentity {
    fileprivate var json: JSONValue {
        switch self {
        case .tree(let digest): ["tree": .string(digest.description)]
        case .checksum(let text): ["checksum": .string(text)]
        }
    }

    fileprivate init?(_ value: JSONValue) {
        if let digest = value["tree"]?.string.flatMap({ TreeDigest($0) }) {
            self = .tree(digest)
        } else if let text = value["checksum"]?.string {
            self = .checksum(text)
        } else {
            return nil
        }
    }
}

extension FailedBundle {
    fileprivate init?(_ value: JSONValue) {
        guard let identity = value["identity"].flatMap(ReleaseIdentity.init), let channel = value["channel"]?.string,
            let sequence = value["sequence"]?.whole, let version = value["version"]?.string
        else { return nil }
        self.init(
            identity: identity, channel: channel, sequence: sequence, version: version,
            reason: value["reason"]?.string.flatMap(Reason.init) ?? .silent,
            count: Int(value["count"]?.whole ?? 1))
    }
}

extension UpdateDecision {
    fileprivate init?(_ value: JSONValue) {
        guard let at = value["at"]?.whole, let what = value["what"]?.string, let version = value["version"]?.string,
            let why = value["why"]?.string
        else { return nil }
        self.init(at: Instant(milliseconds: at), what: what, version: version, why: why)
    }
}

extension JSONValue {
    /// A number as publishers sign them and this app writes them. With any other a sum would overflow at each start.
    fileprivate var whole: Int64? {
        integer.flatMap { (0..<1 << 53).contains($0) ? $0 : nil }  // guard: update-state-numbers
    }
}
