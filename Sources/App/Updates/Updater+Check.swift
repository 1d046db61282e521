// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreReleases

extension Updater {
    private var fetch: ReleaseFetch {
        ReleaseFetch(transport: parts.transport, time: parts.time, isDevelopment: settings.isDevelopment)
    }

    /// One check, from the server's word to a staged bundle.
    func look() async -> UpdateCheck {
        phase = .checking
        tell()
        do throws(NacreError) {
            guard let source = try await parts.source() else { return .off }
            let result = try await follow(source)
            return result
        } catch {
            log.notice("update.check", ["code": .string(error.code.rawValue)])
            return .failed(code: error.code.rawValue, message: error.message)
        }
    }

    private func follow(_ source: UpdateSource) async throws(NacreError) -> UpdateCheck {
        try mayWrite()  // guard: update-second
        let url = try WebURL(source.manifestURL)
        let place = ChannelPlace(url)
        if let early = settled(source, place.channel) { return early }
        let tag = source.manifestURL == state.manifestURL ? state.manifestTag : ""
        let started = parts.time.now
        do throws(ReleaseRefusal) { try device(place.channel, source, nil).mayCheck(source.manifestURL) } catch {
            return try refuse(error, source, place.channel)
        }
        let bytes: [UInt8]
        var newTag = ""
        switch try await fetch.document(url, upTo: ReleaseManifest.maximumBytes, tag: tag) {
        case .unchanged:
            try change { $0.checked = started }
            return standing
        case .missing:
            throw NacreError("update.no_manifest", "There is no manifest at the address that the server names.")
        case .bytes(let content, let validator):
            (bytes, newTag) = (content, validator ?? "")
        }
        let manifest = try? ReleaseManifest(bytes: bytes)
        if settings.roots != nil, let envelope = manifest?.envelope { try await followKeys(of: envelope, place) }
        // What runs has its name; the bundle inside the app is read for it, once.
        let builtIn = state.running == nil ? await builtInBase() : nil
        let offer: ReleaseOffer
        do throws(ReleaseRefusal) {
            offer = try device(place.channel, source, builtIn?.tree.digest).judge(bytes, from: source.manifestURL)
        } catch {
            let result = try refuse(error, source, place.channel)
            try change { state in
                state.checked = started
                state.manifestURL = source.manifestURL
                // What depends on time, luck or room may end otherwise next time.
                state.manifestTag = error.guardName.isFinal ? newTag : ""
                state.manifestRelease = Self.name(manifest?.envelope)
            }
            return result
        }
        let result = try await take(offer, place, builtIn)
        try change { state in
            (state.checked, state.manifestURL) = (started, source.manifestURL)
            if case .refused = result { state.manifestTag = "" } else { state.manifestTag = newTag }
            state.manifestRelease = Self.name(manifest?.envelope)
        }
        return result
    }

    private static func name(_ envelope: SignedEnvelope?) -> String {
        envelope.map { TreeDigest(of: $0.payload).description } ?? ""
    }

    private var standing: UpdateCheck { state.staged.map { .staged(version: $0.version) } ?? .current }

    /// Where the server's own signed word says that nothing is new, there is nothing to ask the bucket.
    private func settled(_ source: UpdateSource, _ channel: String) -> UpdateCheck? {
        guard !state.manifestTag.isEmpty, source.manifestURL == state.manifestURL,
            let word = freshness(source, channel), word.release.description == state.manifestRelease
        else { return nil }
        do throws(NacreError) { try change { $0.checked = parts.time.now } } catch { return nil }
        return standing
    }

    private func freshness(_ source: UpdateSource, _ channel: String) -> FreshnessStatement? {
        guard let keys = keySet, let value = source.freshness, let envelope = try? SignedEnvelope(value),
            let word = try? FreshnessStatement(envelope, keys: keys), word.app == settings.app,
            word.channel == channel, word.expires > now
        else { return nil }
        return word
    }

    private var keySet: ReleaseKeySet? { state.keySet.flatMap { try? ReleaseKeySet(bytes: $0) } }

    private func device(_ channel: String, _ source: UpdateSource, _ builtIn: TreeDigest?) -> ReleaseDevice {
        let running = state.running?.identity ?? builtIn.map(ReleaseIdentity.tree)
        var floor = state.floors[channel]
        if let own = settings.builtInSequence {  // guard: update-store-floor
            floor = ReleaseFloor(taken: max(own, floor?.taken ?? 0), seen: max(own, floor?.seen ?? 0))
        }
        let seed = state.seed
        var device = ReleaseDevice(
            hasArchiveKey: settings.archiveKey != nil, roots: settings.roots, keySet: keySet,
            isDevelopment: settings.isDevelopment, app: settings.app, channel: channel, platform: settings.platform,
            native: settings.native, now: now, running: running,
            runningVersion: state.running?.version ?? settings.builtInVersion, floor: floor,
            failed: Dictionary(
                state.failed.map { ($0.identity, FailedRelease(channel: $0.channel, sequence: $0.sequence)) },
                uniquingKeysWith: { _, last in last }),
            revoked: Set(state.revoked),
            draw: { salt in Self.draw(seed, salt) }, space: parts.disk.space(at: folders.updates))
        device.freshness = freshness(source, channel)
        return device
    }

    /// 0 … 9999 of this device for a release's salt; no one else learns it.
    static func draw(_ seed: String, _ salt: String) -> Int {
        let bytes = TreeDigest(of: Array((seed + "\n" + salt).utf8)).bytes
        return Int(bytes.prefix(6).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % 10_000)
    }

    /// Takes key sets one after another, up to the one that the release names.
    private func followKeys(of envelope: SignedEnvelope, _ place: ChannelPlace) async throws(NacreError) {
        guard let roots = settings.roots, let named = try? ReleasePayload(bytes: envelope.payload).keyEpoch else {
            return
        }
        let longest: Int64 = 32
        var next = keySet.map { $0.epoch + 1 } ?? named
        // What names the epoch is not verified yet: it may cost a few requests, and nothing else.
        let last = min(named, next + longest)
        while next <= last {
            let url = try WebURL(place.root.description + ReleaseStore.keySet(place.channel, next))
            guard case .bytes(let bytes, _) = try await fetch.document(url, upTo: ReleaseManifest.maximumBytes),
                let value = try? JSONParser.parse(bytes)
            else {
                throw NacreError("update.no_keys", "The update server does not have the keys that the release names.")
            }
            let signed = try SignedEnvelope(value)
            let set = try ReleaseKeySet(following: keySet, builtIn: roots, app: settings.app, envelope: signed)
            try change { [now] state in
                state.keySet = signed.payload
                state.enter(epoch: set.epoch, at: now)
                state.newestIssued = max(state.newestIssued, believable(set.issued))
                state.decide("keys", "\(set.epoch)", "The roots have named new keys.", at: now)
            }
            next += 1
        }
    }

    private func builtInBase() async -> BundleDownload.Base? {
        let folder = folders.builtIn
        return try? await ReleaseFetch.run(work) { () throws(NacreError) in try BundleDownload.Base(folder) }
    }

    /// A guard said no. What the envelope has proven holds all the same.
    private func refuse(
        _ refusal: ReleaseRefusal, _ source: UpdateSource, _ channel: String
    ) throws(NacreError) -> UpdateCheck {
        let isCurrent = refusal.guardName == .running
        try change { [now] state in
            if let payload = refusal.payload, payload.app == settings.app, payload.channel == channel {
                learn(payload, channel, &state)
                if isCurrent, let staged = state.staged, staged.sequence ?? 0 < payload.sequence {
                    state.staged = nil
                    state.decide("dropped", staged.version, "A newer release leads back to what runs.", at: now)
                }
            }
            // The same word again and again is one decision.
            let version = refusal.payload?.version ?? ""
            if !isCurrent, state.decisions.last?.why != refusal.description {
                state.decide("refused", version, refusal.description, at: now)
            }
        }
        if isCurrent { return standing }
        log.notice(
            "update.refused",
            ["guard": .string(refusal.guardName.rawValue), "reason": .string(refusal.message)])
        return .refused(refusal.description)
    }

    private func learn(_ payload: ReleasePayload, _ channel: String, _ state: inout UpdateState) {
        // A key may stay from one epoch to the next; what it signed before counts among what is past with that.
        if payload.keyEpoch == keySet?.epoch {  // guard: update-learn-epoch
            state.raise(channel, seen: payload.sequence)
        }
        state.withdraw(payload.revoked)
        state.newestIssued = max(state.newestIssued, believable(payload.issued))
        if let staged = state.staged, payload.revoked.contains(staged.tree) { state.staged = nil }
    }

    /// A publisher's clock that runs years ahead must not let everything be expired here for good.
    private func believable(_ issued: Instant) -> Instant { min(issued, parts.time.now + .seconds(2 * 86_400)) }

    /// Brings an offer onto the shelf and stages it.
    private func take(
        _ offer: ReleaseOffer, _ place: ChannelPlace, _ builtIn: BundleDownload.Base?
    ) async throws(NacreError) -> UpdateCheck {
        let version = offer.manifest.version
        let sequence = offer.payload?.sequence ?? offer.manifest.sequence
        if let payload = offer.payload { try change { state in learn(payload, place.channel, &state) } }
        if let staged = state.staged, staged.identity == offer.identity, staged.sequence == sequence,
            shelf.holds(staged.tree)
        {
            return .staged(version: staged.version)
        }
        let epoch = offer.payload?.storageEpoch ?? state.running?.storageEpoch ?? settings.builtInStorageEpoch
        let resets = offer.payload?.resetsStorage ?? false
        // guard: update-storage-epoch
        guard resets || storage.canReturn(to: epoch, from: settings.builtInStorageEpoch) else {
            let why = "Version \(version) cannot read what the web view has stored, and does not allow to remove it."
            try change { [now] in $0.decide("refused", version, why, at: now) }
            return .refused("storage: " + why)
        }
        phase = .downloading
        let bases =
            (builtIn == nil ? [folders.builtIn] : [])
            + [state.running, state.fallback, state.staged].compactMap { bundle in
                bundle.map { shelf.path($0.tree) }
            }
        let (tree, way) = try await BundleDownload(
            offer.manifest, offer.payload, channel: place.channel, root: place.root, shelf: shelf,
            archiveKey: settings.archiveKey, fetch: fetch, disk: parts.disk, work: work,
            progress: { [weak self] received, size in Task { await self?.progressed(received, size) } }
        ).run(bases: bases, measured: builtIn, log: log)
        let bundle = InstalledBundle(
            tree: tree.digest, identity: offer.identity, version: version,
            stamp: offer.payload?.stamp ?? String(tree.digest.description.prefix(7)), channel: place.channel,
            sequence: sequence, storageEpoch: epoch, resetsStorage: resets,
            native: offer.payload?.native ?? .any)
        try change { [now] state in
            state.staged = bundle
            // Of a release of old the sequence is proven by nothing but the bundle that came with it.
            if let sequence { state.raise(place.channel, taken: sequence) }
            state.decide("staged", version, "It came by \(way.rawValue) and is what was signed.", at: now)
        }
        sweep(clearsDownloads: true)
        log.notice("update.staged", ["version": .string(version), "way": .string(way.rawValue)])
        return .staged(version: version)
    }

    private func progressed(_ received: Int, _ size: Int) {
        guard phase == .downloading, received > self.received else { return }
        // A person sees no more than a hundred steps.
        let isDue = size == 0 || received - self.received >= size / 100 || received >= size
        (self.received, self.size) = isDue ? (received, size) : (self.received, size)
        if isDue { tell() }
    }
}

extension ReleaseGuard {
    /// Whether the same manifest fails the same guard until something else changes.
    fileprivate var isFinal: Bool {
        switch self {
        case .running, .sequence, .app, .channel, .platform, .form, .size, .failed: true
        default: false
        }
    }
}

/// Where a channel lies, read from its manifest's address.
struct ChannelPlace: Sendable, Equatable {
    /// The bucket's root, with a slash at its end.
    let root: WebURL
    let channel: String

    /// `…/channels/<channel>/manifest.json`, or, at another address, a channel that has the manifest's folder to itself.
    init(_ manifest: WebURL) {
        let parts = manifest.path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        if parts.count >= 4, parts[parts.count - 3] == "channels", ReleaseStore.isName(parts[parts.count - 2]) {
            channel = parts[parts.count - 2]
            root = WebURL(origin: manifest.origin, target: parts.dropLast(3).joined(separator: "/") + "/")
        } else {
            channel = "default"
            root = WebURL(origin: manifest.origin, target: parts.dropLast().joined(separator: "/") + "/")
        }
    }
}
