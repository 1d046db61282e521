// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreCrypto
package import NacreReleases

/// What publishing says while it works.
package struct PublishReport: Sendable {
    /// A line for the person.
    package var say: @Sendable (String) -> Void
    /// A phase and the part of it that is done, 0 to 1.
    package var progress: @Sendable (String, Double) -> Void

    package init(
        say: @escaping @Sendable (String) -> Void, progress: @escaping @Sendable (String, Double) -> Void = { _, _ in }
    ) {
        (self.say, self.progress) = (say, progress)
    }
}

/// Publishes releases of one app into one channel of a bucket (UP-2, UP-3, UP-8, UP-9, UP-12).
package struct ReleasePublisher: Sendable {
    package let app: String
    package let channel: String
    let bucket: any ReleaseBucket
    /// Reads back as a device does.
    let source: any ReleaseSource
    /// The address under which devices find the bucket's keys, without a slash at its end.
    let publicBase: String
    let keys: PublisherKeys?
    /// What the app has built in: they say which key sets count. Nil for apps of the source system's format only.
    let roots: RootKeys?
    let time: any TimeSource
    let random: any RandomSource
    let threads: WorkThreads
    /// Where archives are made.
    let workParent: String
    let report: PublishReport

    /// - Throws: `ota.channel`, `ota.public_url`.
    package init(
        app: String, channel: String, bucket: any ReleaseBucket, source: any ReleaseSource, publicBase: String,
        keys: PublisherKeys?, roots: RootKeys?, time: any TimeSource, random: any RandomSource, threads: WorkThreads,
        workParent: String,
        report: PublishReport
    ) throws(NacreError) {
        guard ReleaseStore.isName(channel) else {  // guard: publisher-channel
            throw NacreError(
                "ota.channel", "\"\(channel.prefix(40))\" is no name for a channel: letters, digits, . _ - + only.")
        }
        var base = publicBase
        while base.hasSuffix("/") { base.removeLast() }
        (self.app, self.channel, self.bucket, self.source, self.publicBase) = (app, channel, bucket, source, base)
        (self.keys, self.roots) = (keys, roots)
        (self.time, self.random, self.threads) = (time, random, threads)
        (self.workParent, self.report) = (workParent, report)
    }

    /// Where devices ask for the newest release (MOBILE_OTA_MANIFEST_URL).
    package var manifestURL: String { publicBase + "/" + ReleaseStore.manifest(channel) }

    /// Where devices find the bundle of a version.
    func bundleURL(_ version: String) -> String {
        publicBase + "/" + PublicAddress.path(ReleaseStore.bundle(channel, version))
    }

    /// A device that has nothing yet, to try a release on.
    func client(
        _ manifest: ReleaseManifest, _ payload: ReleasePayload?, from source: any ReleaseSource,
        archiveKey: PublicKey?, _ work: WorkFolder
    ) async throws -> ReleaseClient {
        try await ReleaseClient(
            manifest, payload, from: source, root: publicBase, channel: channel, archiveKey: archiveKey, time: time,
            threads: threads, work: work)
    }

    /// What an earlier release's bundle holds, to make or try patches from.
    func base(
        of release: ReleaseManifest, _ payload: ReleasePayload?, from source: any ReleaseSource,
        archiveKey: PublicKey?, _ work: WorkFolder
    ) async throws -> ReleaseBase {
        var release = release
        // The bucket may be served elsewhere today.
        release.url = bundleURL(release.version)
        return try await client(release, payload, from: source, archiveKey: archiveKey, work).base(release.version)
    }

    /// The keys, or the reason why there is nothing to sign with.
    func demandKeys() throws(NacreError) -> PublisherKeys {
        guard let keys else {
            throw NacreError(
                "ota.key",
                "\(PublisherKeys.archiveVariable) is not set; nothing is published without it. Make a pair with: "
                    + "nacre ota keygen")
        }
        return keys
    }

    /// The key set under which a release is signed now; nil where this job signs for the source system's clients only.
    ///
    /// - Throws: `ota.key_set`.
    func signingSet(_ state: ChannelState) throws(NacreError) -> ReleaseKeySet? {
        let keys = try demandKeys()
        guard let release = keys.release else {
            guard state.keySet == nil else {
                throw NacreError(
                    "ota.key",
                    "The channel \(channel) has a key set, and \(PublisherKeys.releaseVariable) is not set: apps with root "
                        + "keys would refuse the release.")
            }
            return nil
        }
        guard let set = state.keySet else {
            throw NacreError(
                "ota.key_set",
                "The channel \(channel) has no key set yet; make and put one with: nacre ota keys make, nacre ota keys put"
            )
        }
        let key = try KeyText.releaseKey(release)
        guard set.release.contains(key) else {  // guard: publisher-release-key
            throw NacreError(
                "ota.key_set",
                "The release key \(key.name) is not in the channel's key set of epoch \(set.epoch); every app would refuse "
                    + "the release.")
        }
        guard set.expires > time.now else {
            throw NacreError(
                "ota.key_set", "The channel's key set of epoch \(set.epoch) has expired; make the next one.")
        }
        if set.expires < time.now + .seconds(30 * 86_400) {
            report.say("note: the key set of epoch \(set.epoch) expires on \(set.expires.iso8601)")
        }
        if let count = state.payload?.revoked.count, count > 0, state.revoked.isEmpty {
            report.say(
                "note: \(count) withdrawn version(s) were signed by a key that the key set no longer has, and are not carried "
                    + "over; devices follow nothing older than this key set, so revoke only what was published under it"
            )
        }
        return set
    }

    /// Puts what may be there already, with the same bytes or others that mean the same.
    func putOnce(_ key: String, _ content: BucketContent) async throws -> Bool {
        try await bucket.put(key, content, .ifAbsent)
    }

    /// Works on many things at once, eight at most.
    func each<Item: Sendable>(
        _ items: [Item], _ phase: String, _ body: @escaping @Sendable (Item) async throws -> Void
    ) async throws {
        var done = 0
        var next = items.makeIterator()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { if let item = next.next() { group.addTask { try await body(item) } } }
            while try await group.next() != nil {
                done += 1
                report.progress(phase, Double(done) / Double(max(items.count, 1)))
                if let item = next.next() { group.addTask { try await body(item) } }
            }
        }
    }
}
