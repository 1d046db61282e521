// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore

/// The keys that an app was built with: so many of them must agree on who signs releases.
public struct RootKeys: Sendable, Equatable {
    public let keys: [ReleaseKey]
    public let threshold: Int

    /// - Throws: `release.roots` for no key, a key twice, or a threshold that cannot be reached.
    public init(_ keys: [ReleaseKey], threshold: Int = 1) throws(NacreError) {
        guard !keys.isEmpty, Set(keys).count == keys.count, (1...keys.count).contains(threshold) else {
            throw NacreError(
                "release.roots", "Root keys must be different keys, and the threshold at most their number.")
        }
        (self.keys, self.threshold) = (keys, threshold)
    }

    package func hasSigned(_ envelope: SignedEnvelope) -> Bool {
        envelope.signers(among: keys, for: .keySet).count >= threshold  // guard: root-threshold
    }
}

/// Who may sign releases and freshness statements, as the roots say; one follows another, epoch by epoch.
public struct ReleaseKeySet: Sendable, Equatable {
    public let app: String
    /// 1 for the first, and one more for each that follows.
    public let epoch: Int64
    public let issued: Instant
    public let expires: Instant
    /// Who decides on the next set.
    public let roots: RootKeys
    public let release: [ReleaseKey]
    /// These may say anew that a release is the newest, and nothing else.
    public let freshness: [ReleaseKey]

    static let maximumKeys = 16

    public init(
        app: String, epoch: Int64, issued: Instant, expires: Instant, roots: RootKeys, release: [ReleaseKey],
        freshness: [ReleaseKey] = []
    ) {
        (self.app, self.epoch, self.issued, self.expires) = (app, epoch, issued, expires)
        (self.roots, self.release, self.freshness) = (roots, release, freshness)
    }

    /// The set that follows `current`, or the first one this app sees, of any epoch, which the built-in roots vouch for.
    ///
    /// - Throws: `release.key_set` that says why it is not taken.
    public init(
        following current: ReleaseKeySet?, builtIn: RootKeys, app: String, envelope: SignedEnvelope
    ) throws(NacreError) {
        let set = try ReleaseKeySet(bytes: envelope.payload)
        guard set.app == app else { throw Self.refusal("it is another app's") }  // guard: key-set-app
        // A build of later days knows the roots of its day only, and begins with a set that they have signed.
        if let current {
            guard set.epoch == current.epoch + 1 else {  // guard: key-set-epoch
                throw Self.refusal("its epoch \(set.epoch) does not follow \(current.epoch)")
            }
        }
        // Both must agree: the old ones, so that nobody takes over, and the new ones, so that nobody is locked out.
        guard (current?.roots ?? builtIn).hasSigned(envelope) else {  // guard: key-set-old-roots
            throw Self.refusal("too few of the roots before it have signed it")
        }
        guard set.roots.hasSigned(envelope) else {  // guard: key-set-new-roots
            throw Self.refusal("too few of its own roots have signed it")
        }
        self = set
    }

    private static func refusal(_ why: String) -> NacreError {
        NacreError("release.key_set", "The release's key set is not taken: \(why).")
    }

    /// Reads a set without asking who vouches for it; an app goes by `init(following:builtIn:app:envelope:)`.
    ///
    /// - Throws: `release.payload`, `release.spec`, `release.roots`.
    package init(bytes: [UInt8]) throws(NacreError) {
        let reader = try PayloadReader(bytes: bytes, "key set")
        guard try reader.integer("spec") == 1 else {
            throw NacreError("release.spec", "The release's key set is written for a newer app; update the app.")
        }
        app = try reader.string("app")
        epoch = try reader.integer("epoch", in: 1...1_000_000)
        issued = try reader.moment("issued")
        expires = try reader.moment("expires")
        roots = try RootKeys(Self.keys(reader, "roots"), threshold: Int(try reader.integer("threshold", in: 1...16)))
        release = try Self.keys(reader, "release")
        freshness = try Self.keys(reader, "freshness")
        guard !release.isEmpty else { throw reader.fault("release") }
        // A key that could do both would undo what the online key must not.
        guard Set(release).isDisjoint(with: freshness) else { throw reader.fault("freshness") }  // guard: key-set-roles
    }

    private static func keys(_ reader: PayloadReader, _ name: String) throws(NacreError) -> [ReleaseKey] {
        var keys: [ReleaseKey] = []
        for item in try reader.list(name, upTo: maximumKeys) {
            guard let key = item.string.flatMap({ ReleaseKey(base64: $0) }) else { throw reader.fault(name) }
            keys.append(key)
        }
        return keys
    }

    /// The bytes to sign.
    public var bytes: [UInt8] {
        let value: JSONValue = [
            "spec": 1, "app": .string(app), "epoch": .integer(epoch), "issued": .integer(issued.milliseconds),
            "expires": .integer(expires.milliseconds), "threshold": JSONValue(roots.threshold),
            "roots": .array(roots.keys.map { .string($0.base64) }),
            "release": .array(release.map { .string($0.base64) }),
            "freshness": .array(freshness.map { .string($0.base64) }),
        ]
        return value.bytes
    }
}

/// A short-lived word that a manifest is still the newest (TUF's timestamp role): it can date one anew and introduce none.
public struct FreshnessStatement: Sendable, Equatable {
    public let app: String
    public let channel: String
    /// Of the release's signed payload.
    public let release: TreeDigest
    public let sequence: Int64
    public let expires: Instant

    public init(app: String, channel: String, release: TreeDigest, sequence: Int64, expires: Instant) {
        (self.app, self.channel, self.release) = (app, channel, release)
        (self.sequence, self.expires) = (sequence, expires)
    }

    /// - Throws: `release.payload`; `release.freshness` when no freshness key of the set has signed it.
    public init(_ envelope: SignedEnvelope, keys: ReleaseKeySet) throws(NacreError) {
        guard !envelope.signers(among: keys.freshness, for: .freshness).isEmpty else {  // guard: freshness-signature
            throw NacreError("release.freshness", "The statement of the newest release is signed by nobody we know.")
        }
        let reader = try PayloadReader(bytes: envelope.payload, "freshness statement")
        app = try reader.string("app")
        channel = try reader.string("channel")
        release = try reader.digest("release")
        sequence = try reader.integer("sequence")
        expires = try reader.moment("expires")
    }

    /// The bytes to sign.
    public var bytes: [UInt8] {
        let value: JSONValue = [
            "app": .string(app), "channel": .string(channel), "release": .string(release.description),
            "sequence": .integer(sequence), "expires": .integer(expires.milliseconds),
        ]
        return value.bytes
    }
}
