// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreReleases

/// Which bundle a start of the app shows. Whatever is on the disk, there is an answer: in the end the bundle inside the app.
///
/// Everything that a start decides is on the disk before the page is loaded (design §7, "Update state").
struct UpdateBoot {
    let settings: UpdateSettings
    let shelf: BundleShelf
    let storage: WebStorage
    let now: Instant
    /// Whether a sign-in is under way, and so nothing is to be exchanged (HO-10).
    let isHeld: Bool
    let nonce: String

    /// Decides, and leaves in `state` what is to be kept before the page loads.
    ///
    /// - Returns: the staged tree that could not be tried for want of room, if one could not; whether what the web view has
    ///   stored is as it has to be.
    func decide(_ state: inout UpdateState) -> (waiting: TreeDigest?, isStorageReady: Bool) {
        finishStorage(&state)
        adopt(&state)
        adoptRoots(&state)
        withdraw(&state)
        if let trial = state.trial, trial.attempts >= Trial.chances {  // guard: update-attempts
            state.revert(.ended, at: now)
        }
        let waiting = takeStaged(&state)
        while let running = state.running, !shelf.holds(running.tree) { state.revert(.missing, at: now) }
        let isStorageReady = prepareStorage(&state)
        state.trial?.attempts += 1
        return (waiting, isStorageReady)
    }

    /// A store update brings a bundle of its own. What is older than that, or does not run in the new app, is dropped;
    /// without a sequence nobody knows what is older, and everything is.
    private func adopt(_ state: inout UpdateState) {
        let isSame =
            state.native == settings.native.text && state.build == settings.build
            && state.builtInVersion == settings.builtInVersion
        guard !isSame else { return }
        (state.native, state.build) = (settings.native.text, settings.build)
        state.builtInVersion = settings.builtInVersion
        func survives(_ bundle: InstalledBundle?) -> Bool {
            guard let bundle, let own = settings.builtInSequence, let sequence = bundle.sequence else { return false }
            return sequence > own && bundle.native.contains(settings.native)  // guard: update-store-build
        }
        if let bundle = state.running, !survives(bundle) {
            state.leave(to: nil)
            state.mayComeAgain(bundle)
            state.decide("reset", bundle.version, "The app itself was updated, and brings its own.", at: now)
        }
        if !survives(state.fallback) { state.fallback = nil }
        if let bundle = state.staged, !survives(bundle) {
            state.staged = nil
            state.mayComeAgain(bundle)
            state.decide("dropped", bundle.version, "The app itself was updated, and brings its own.", at: now)
        }
        // A manifest that was refused before may suit the new app.
        (state.manifestTag, state.manifestRelease) = ("", "")
    }

    /// The roots inside a new package are the last word: who was named by others before is asked for anew.
    private func adoptRoots(_ state: inout UpdateState) {
        let keys = (settings.roots?.keys ?? []).map(\.base64).sorted().joined(separator: " ")
        let roots = TreeDigest(of: Array("\(settings.roots?.threshold ?? 0) \(keys)".utf8)).description
        guard roots != state.roots else { return }
        state.roots = roots
        state.keySet = nil  // guard: update-new-roots
        (state.manifestTag, state.manifestRelease) = ("", "")
    }

    /// What the publisher has withdrawn is not shown again.
    private func withdraw(_ state: inout UpdateState) {
        let revoked = Set(state.revoked)
        if let bundle = state.staged, revoked.contains(bundle.tree) { state.staged = nil }
        if let bundle = state.fallback, revoked.contains(bundle.tree) { state.fallback = nil }
        if let bundle = state.running, revoked.contains(bundle.tree) {  // guard: update-withdrawn
            state.leave(to: state.fallback)
            state.decide("withdrawn", bundle.version, "Its publisher has withdrawn it.", at: now)
        }
    }

    private func takeStaged(_ state: inout UpdateState) -> TreeDigest? {
        guard let next = state.staged, state.trial == nil, !isHeld else { return nil }  // guard: update-hold-boot
        guard shelf.holds(next.tree), next.native.contains(settings.native),
            !state.failed.contains(where: { $0.identity == next.identity && $0.sequence >= next.sequence ?? 0 })
        else {
            state.staged = nil
            state.mayComeAgain(next)
            state.decide("dropped", next.version, "It is not whole, or not for this app.", at: now)
            return nil
        }
        let assumed = settings.builtInStorageEpoch
        guard storage.canReturn(to: next.storageEpoch, from: assumed) || next.resetsStorage else {
            // guard: update-storage-down
            state.staged = nil
            state.decide("dropped", next.version, "It cannot read what the web view has stored since.", at: now)
            return nil
        }
        do throws(NacreError) {
            _ = try storage.prepare(
                for: next.storageEpoch, from: assumed, mayEmpty: next.resetsStorage, keepsCopy: true)
            state.activate(nonce: nonce, at: now)
            return nil
        } catch {
            // It stays staged: with more room the next start takes it.
            state.decide("waits", next.version, error.message, at: now)
            return next.tree
        }
    }

    /// What was cut short must not count among what there is to decide with. Where that fails, `prepareStorage` says why.
    private func finishStorage(_ state: inout UpdateState) {
        guard let name = try? storage.finish() else { return }
        state.decide(
            "storage", state.running?.version ?? settings.builtInVersion,
            "What the web view stored while its own storage was being exchanged is kept in \(name).", at: now)
    }

    /// - Returns: whether it is as it has to be; else the next start tries again.
    private func prepareStorage(_ state: inout UpdateState) -> Bool {
        let epoch = state.running?.storageEpoch ?? settings.builtInStorageEpoch
        let (resets, isOnTrial) = (state.running?.resetsStorage ?? false, state.trial != nil)
        func prepare() throws(NacreError) -> WebStorage.Outcome {
            // Only from a trial is there a way back, and only for that is a copy kept.
            try storage.prepare(
                for: epoch, from: settings.builtInStorageEpoch, mayEmpty: resets, keepsCopy: isOnTrial)
        }
        do throws(NacreError) {
            let outcome: WebStorage.Outcome
            // What a disk has refused once it may take now, and no bundle is to meet what it cannot read.
            do throws(NacreError) { outcome = try prepare() } catch {
                outcome = try prepare()  // guard: update-storage-again
            }
            guard outcome != .unchanged else { return true }
            state.decide("storage", state.running?.version ?? settings.builtInVersion, outcome.sentence, at: now)
            return true
        } catch {
            state.decide("storage", state.running?.version ?? settings.builtInVersion, error.message, at: now)
            return false
        }
    }
}

extension WebStorage.Outcome {
    fileprivate var sentence: String {
        switch self {
        case .unchanged: "What the web view has stored is as it was."
        case .copied: "What the web view has stored was copied before the first start."
        case .restored: "What the web view had stored before was brought back."
        case .emptied: "What the web view had stored was removed, as the release allows."
        case .kept: "What the web view has stored is a newer release's; there is no copy from before."
        }
    }
}
