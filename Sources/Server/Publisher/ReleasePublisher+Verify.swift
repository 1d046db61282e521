// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreCrypto
package import NacreReleases

/// What an app has built in to check releases with.
package struct AppTrust: Sendable {
    package var roots: RootKeys?
    package var archiveKey: PublicKey?

    package init(roots: RootKeys?, archiveKey: PublicKey?) { (self.roots, self.archiveKey) = (roots, archiveKey) }
}

/// One way to the release, and whether it leads there.
package struct VerifiedWay: Sendable {
    package let what: String
    package let bytes: Int?
    /// Nil where it does.
    package let fault: String?

    package var json: JSONValue {
        ["way": .string(what), "bytes": bytes.map { JSONValue($0) } ?? .null, "fault": JSONValue(fault)]
    }
}

extension ReleasePublisher {
    /// Follows the channel as devices do, with their code: those of the built-in trees, those that have one of the last
    /// releases, and one that has nothing.
    ///
    /// - Throws: where there is nothing to follow; each way's fault stands in the result.
    package func verify(
        _ trust: AppTrust, builtIns: [String], previous: Int, platform: String
    ) async throws -> [VerifiedWay] {
        let bytes = try await source.bytes(ReleaseStore.manifest(channel), upTo: ReleaseManifest.maximumBytes + 1)
        let manifest = try manifest(bytes, ReleaseStore.manifest(channel))
        var ways: [VerifiedWay] = []
        let set = try await followedKeySet(manifest, trust)
        let signed = manifest.envelope.flatMap { try? ReleasePayload(bytes: $0.payload) }
        var judged = try device(set, native: signed?.native ?? .any, platform: platform)
        (judged.hasArchiveKey, judged.roots) = (trust.archiveKey != nil, trust.roots)
        let offer: ReleaseOffer
        do throws(ReleaseRefusal) { offer = try judged.judge(bytes, from: manifestURL) } catch {
            return [VerifiedWay(what: "manifest", bytes: bytes.count, fault: error.description)]
        }
        ways.append(VerifiedWay(what: "manifest, version \(manifest.version)", bytes: bytes.count, fault: nil))
        let work = try WorkFolder(in: workParent, random: random)
        let payload = offer.payload
        let client = try await client(offer.manifest, payload, from: source, archiveKey: trust.archiveKey, work)
        if trust.archiveKey != nil {
            ways.append(await way("archive", payload?.archive.size) { _ = try await client.archive() })
        }
        guard let payload else { return ways }
        let bases = try await bases(builtIns, previous: previous, besides: payload.version, trust, work)
        if payload.hasObjects { ways += await objects(payload, client, bases) }
        return ways + (await patches(payload, client, bases))
    }

    /// The key set a device comes to: the chain from what its roots vouch for.
    private func followedKeySet(_ manifest: ReleaseManifest, _ trust: AppTrust) async throws -> ReleaseKeySet? {
        guard let roots = trust.roots else { return nil }
        guard let envelope = manifest.envelope, let epoch = try? ReleasePayload(bytes: envelope.payload).keyEpoch else {
            return nil
        }
        let named = try await source.bytes(ReleaseStore.keySet(channel, epoch), upTo: ReleaseManifest.maximumBytes)
        if let set = KeyChain([(epoch, named)], from: roots, app: app).newest { return set }
        // A device that knows older roots only goes from set to set.
        var documents: [(epoch: Int64, bytes: [UInt8])] = []
        for number in max(1, epoch - Int64(KeyChain.longest) + 1)..<max(1, epoch) {
            let key = ReleaseStore.keySet(channel, number)
            guard let bytes = try? await source.bytes(key, upTo: ReleaseManifest.maximumBytes) else { continue }
            documents.append((number, bytes))
        }
        return KeyChain(documents + [(epoch, named)], from: roots, app: app).newest
    }

    private func way(_ what: String, _ bytes: Int?, _ body: () async throws -> Void) async -> VerifiedWay {
        report.progress(what, 0)
        do {
            try await body()
            report.progress(what, 1)
            return VerifiedWay(what: what, bytes: bytes, fault: nil)
        } catch {
            return VerifiedWay(what: what, bytes: bytes, fault: (error as? NacreError)?.message ?? "\(error)")
        }
    }

    /// File by file: a device that has nothing, and those whose tree no patch starts from.
    private func objects(
        _ payload: ReleasePayload, _ client: ReleaseClient, _ bases: [ReleaseBase]
    ) async -> [VerifiedWay] {
        let tree: ReleaseTree
        do { tree = try await client.list(payload.tree) } catch {
            return [
                VerifiedWay(what: "list of files", bytes: nil, fault: (error as? NacreError)?.message ?? "\(error)")
            ]
        }
        let what = "\(Set(tree.files.map(\.digest)).count) files, one by one"
        var ways = [
            await way(what, nil) {
                try await client.telling { [report] in report.progress(what, $0) }.files(tree)
            }
        ]
        for base in bases where base.tree.digest != payload.tree.digest && payload.patch(from: base) == nil {
            let known = Set(base.tree.files.map(\.digest))
            let count = Set(tree.files.map(\.digest)).subtracting(known).count
            ways.append(
                await way("from \(base.label): no patch; \(count) files one by one", nil) {
                    try await client.files(tree, with: base)
                })
        }
        return ways
    }

    /// The trees that devices have: those of store builds, and of the last releases.
    private func bases(
        _ builtIns: [String], previous count: Int, besides version: String, _ trust: AppTrust, _ work: WorkFolder
    ) async throws -> [ReleaseBase] {
        var bases: [ReleaseBase] = []
        for path in builtIns { bases.append(try await threads.run { try ReleaseBase(folder: path) }) }
        guard count > 0, trust.archiveKey != nil else { return bases }
        let state = try await state(toleratesKeys: true)
        for manifest in try await history(count + 1, state) where manifest.version != version {
            guard let old = state.verified(manifest) else { continue }
            do {
                bases.append(try await base(of: manifest, old, from: source, archiveKey: trust.archiveKey, work))
            } catch let error as NacreError {
                report.say("note: \(manifest.version) is no base to try: \(error.message)")
            }
        }
        return bases
    }

    private func patches(
        _ payload: ReleasePayload, _ client: ReleaseClient, _ bases: [ReleaseBase]
    ) async -> [VerifiedWay] {
        var ways: [VerifiedWay] = []
        for base in bases where base.tree.digest != payload.tree.digest {
            guard let patch = payload.patch(from: base) else { continue }
            ways.append(
                await way("patch from \(base.label)", patch.object.size) {
                    try await client.patch(patch, from: base, giving: payload.tree)
                })
        }
        // Those whose base is not here: that they are what was signed, at least.
        let known = Set(bases.map(\.tree.digest))
        for patch in payload.patches where !known.contains(patch.base) {
            ways.append(
                await way("patch from the tree \(patch.base.description.prefix(12))…", patch.object.size) {
                    try await client.patch(patch, from: nil, giving: payload.tree)
                })
        }
        return ways
    }

    /// What the channel has, for people and programs.
    package func inspect() async throws -> JSONValue {
        let state = try await state(toleratesKeys: true)
        var releases: [JSONValue] = []
        for manifest in try await history(20, state) {
            let payload = state.verified(manifest)
            releases.append([
                "version": .string(manifest.version), "sequence": manifest.sequence.map(JSONValue.integer) ?? .null,
                "publishedAt": JSONValue(manifest.publishedAt), "tree": JSONValue(payload?.tree.digest.description),
                "signed": .bool(payload != nil),
            ])
        }
        let payload = state.payload
        return [
            "app": .string(app), "channel": .string(channel), "bucket": .string(bucket.name),
            "manifest": .string(manifestURL), "version": JSONValue(state.manifest?.version),
            "sequence": (state.manifest?.sequence).map(JSONValue.integer) ?? .null,
            "publishedAt": JSONValue(state.manifest?.publishedAt), "signed": .bool(payload != nil),
            "expires": JSONValue(payload?.expires.iso8601), "tree": JSONValue(payload?.tree.digest.description),
            "files": (payload?.tree.files).map { JSONValue($0) } ?? .null,
            "bytes": (payload?.tree.bytes).map { JSONValue($0) } ?? .null,
            "archiveBytes": (payload?.archive.size).map { JSONValue($0) } ?? .null,
            "rollout": (payload?.rollout.basisPoints).map { JSONValue($0) } ?? .null,
            "rollbackOf": (payload?.rollbackOf ?? nil).map(JSONValue.integer) ?? .null,
            "patches": .array(
                (payload?.patches ?? []).map {
                    ["base": .string($0.base.description), "bytes": JSONValue($0.object.size)]
                }),
            "revoked": .array((payload?.revoked ?? []).map { .string($0.description) }),
            "staged": JSONValue(state.staged?.version),
            "keySet": state.keySet.map {
                [
                    "epoch": .integer($0.epoch), "expires": .string($0.expires.iso8601),
                    "release": .array($0.release.map { .string($0.name) }),
                ]
            } ?? .null,
            "keySetFault": JSONValue(state.keys.fault?.message),
            "releases": .array(releases),
        ]
    }
}

extension ReleasePayload {
    /// The patch that a device with this tree would take.
    fileprivate func patch(from base: ReleaseBase) -> PatchFacts? {
        patches.first { $0.base == base.tree.digest && $0.algorithm == TreePatch.algorithm }
    }
}
