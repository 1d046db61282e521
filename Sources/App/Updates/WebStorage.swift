// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreReleases

/// What the web view has stored, against bundles that store otherwise (design §7, "Updates against web storage"): before the
/// first start of a higher storage epoch a copy is made, and a step back brings it back.
///
/// To be used only while no page is alive. Every call can be cut short anywhere and made again.
struct WebStorage: Sendable {
    private let disk: any UpdateDisk
    private let web: String
    private var mark: String { web + ".epoch" }
    /// What was there before a copy takes its place; the name says of which epoch.
    private static let discarded = ".discarded-"
    /// What was there before an empty folder takes its place; the name says for which epoch.
    private static let emptied = ".emptied-"
    private static let copies = ".copy-"
    /// What a web view has stored in a folder of its own making, while an exchange was under way.
    private static let aside = ".aside-"
    /// What is being removed, and means nothing any more.
    private var gone: String { web + ".gone" }
    private var unfinished: String { web + ".copying" }
    private func copy(_ epoch: Int64) -> String { web + Self.copies + "\(epoch)" }
    private var parent: String { UpdateDiskPath.folder(of: web) }

    /// How a bundle of a lower epoch came to its storage.
    enum Outcome: Sendable, Equatable {
        case unchanged, copied, restored, emptied
        /// There is no copy, and nobody has allowed to empty it: it stays as it is.
        case kept
    }

    init(_ web: String, _ disk: any UpdateDisk) {
        self.web = web
        self.disk = disk
    }

    /// The epoch in which the storage was used last; nil before the first update.
    var epoch: Int64? {
        guard let bytes = try? disk.read(mark, upTo: 64) else { return nil }
        return Int64(String(decoding: bytes, as: UTF8.self))
    }

    /// Whether a step to this epoch needs the pages gone.
    func mustChange(for epoch: Int64, from assumed: Int64) -> Bool { (self.epoch ?? assumed) != epoch }

    /// Whether an exchange was cut short, so that a start has to end it.
    var isUnfinished: Bool { (try? exchanges().isEmpty) == false }

    /// Whether there is a way back to this epoch.
    func canReturn(to epoch: Int64, from assumed: Int64) -> Bool {
        (self.epoch ?? assumed) <= epoch || newestCopy(upTo: epoch) != nil
    }

    /// Makes the storage one for this epoch.
    ///
    /// - Parameters:
    ///   - assumed: the epoch of a storage that nobody has marked: the built-in bundle's.
    ///   - mayEmpty: whether the bundle allows to lose what there is (`resetStorage`).
    ///   - keepsCopy: whether there may be a way back.
    /// - Throws: `file.*`; made again, it goes on from there.
    func prepare(
        for epoch: Int64, from assumed: Int64, mayEmpty: Bool, keepsCopy: Bool
    ) throws(NacreError) -> Outcome {
        try finish()
        var now = self.epoch ?? assumed
        var outcome = Outcome.unchanged
        if epoch < now {
            if let earlier = newestCopy(upTo: epoch) {
                try exchange(with: copy(earlier), for: earlier)
                try write(earlier)
                (now, outcome) = (earlier, .restored)
            } else if mayEmpty {
                try exchange(with: nil, for: epoch)
                try write(epoch)
                (now, outcome) = (epoch, .emptied)
            } else {
                return .kept
            }
            // Before there is a copy of that epoch again: beside one it would look as if it had been cut short.
            try removeExchanged()
        }
        if epoch > now, keepsCopy {
            try keepCopy(of: now)
            if outcome == .unchanged { outcome = .copied }
        }
        if self.epoch != epoch { try write(epoch) }
        return outcome
    }

    /// The bundle has confirmed its start, or nobody may come back to what was: there is no way back any more.
    ///
    /// While an exchange waits to be ended its copy is all there is, and nothing happens.
    func settle() throws(NacreError) {
        guard try exchanges().isEmpty else { return }  // guard: update-settle-unfinished
        try removeAll(Self.copies)
        try disk.remove(unfinished)
    }

    /// What was stored belongs to nobody any more: whatever there is of it beside the folder in use goes.
    func forget() throws(NacreError) {
        // What is in use by now has taken the place of what an exchange was about.
        for exchange in try exchanges() { try? write(exchange.epoch) }
        try removeExchanged()
        for name in [Self.copies, Self.aside] { try removeAll(name) }
        try disk.remove(unfinished)
    }

    /// Ends an exchange that was cut short. It counts once its epoch is marked, or its copy has taken its place; before that it
    /// is undone, and may be decided anew. That there is a folder says nothing: each start of the app makes one.
    ///
    /// - Returns: the name beside it of what a web view has stored in such a folder meanwhile; nil where there was nothing.
    @discardableResult
    func finish() throws(NacreError) -> String? {
        try disk.remove(gone)
        var place: String?
        for (path, epoch, isEmptying) in try exchanges() where self.epoch != epoch {
            guard isEmptying || disk.isFolder(copy(epoch)) else {  // guard: update-exchange-undone
                try write(epoch)
                continue
            }
            place = try setAside() ?? place
            // An empty folder of that name is replaced by it, and one that is not so fails.
            try disk.rename(path, to: web)
            try disk.sync(folder: parent)
        }
        try removeExchanged()
        try disk.remove(unfinished)
        return place
    }

    /// Nobody can tell a web view's own files from what a person has made in those minutes, so none of them is thrown away. It
    /// cannot be put together with what comes back, and so it is kept beside that.
    private func setAside() throws(NacreError) -> String? {
        guard try !disk.names(in: web).isEmpty else { return nil }
        let numbers = try siblings(Self.aside).compactMap { Int64($0.split(separator: "-").last ?? "") }
        let name = web.dropFirst(parent.count + 1) + Self.aside + "\((numbers.max() ?? 0) + 1)"
        try disk.rename(web, to: parent + "/" + name)  // guard: update-storage-aside
        return String(name)
    }

    private typealias Exchange = (path: String, epoch: Int64, isEmptying: Bool)

    /// What had to go in an exchange and is still there.
    private func exchanges() throws(NacreError) -> [Exchange] {
        var found: [Exchange] = []
        for (mark, isEmptying) in [(Self.discarded, false), (Self.emptied, true)] {
            for name in try siblings(mark) {
                guard let epoch = Int64(name.split(separator: "-").last ?? "") else { continue }
                found.append((parent + "/" + name, epoch, isEmptying))
            }
        }
        return found
    }

    private func removeExchanged() throws(NacreError) {
        for mark in [Self.discarded, Self.emptied] { try removeAll(mark) }
    }

    /// Takes each one's name first: what is half gone must not be taken for what it was.
    private func removeAll(_ mark: String) throws(NacreError) {
        for name in try siblings(mark) {
            try disk.remove(gone)
            try disk.rename(parent + "/" + name, to: gone)
            try disk.sync(folder: parent)
            try disk.remove(gone)
        }
    }

    private func exchange(with replacement: String?, for epoch: Int64) throws(NacreError) {
        // So that there is always something whose name says how far it has come.
        if !disk.isFolder(web) { try disk.makeFolder(web) }
        let before = web + (replacement == nil ? Self.emptied : Self.discarded) + "\(epoch)"
        try disk.rename(web, to: before)
        do throws(NacreError) {
            if let replacement { try disk.rename(replacement, to: web) } else { try disk.makeFolder(web) }
        } catch {
            try? disk.rename(before, to: web)
            throw error
        }
        try disk.sync(folder: parent)
    }

    private func keepCopy(of epoch: Int64) throws(NacreError) {
        guard disk.isFolder(web), !disk.isFolder(copy(epoch)) else { return }
        do throws(NacreError) {
            try copyFolder(web, to: unfinished)
            try disk.syncAll(at: unfinished)
            try disk.rename(unfinished, to: copy(epoch))
            try disk.sync(folder: parent)
        } catch {
            try? disk.remove(unfinished)
            throw error
        }
    }

    private func copyFolder(_ from: String, to: String) throws(NacreError) {
        try disk.makeFolder(to)
        for name in try disk.names(in: from) {
            let (source, target) = (from + "/" + name, to + "/" + name)
            if disk.isFolder(source) {
                try copyFolder(source, to: target)
            } else if disk.size(of: source) != nil {
                let file = try disk.create(target)
                defer { file.close() }
                try FileBytes(source).eachPiece { (piece: [UInt8]) throws(NacreError) in try file.write(piece) }
            }
        }
    }

    private func newestCopy(upTo epoch: Int64) -> Int64? {
        let names = (try? siblings(Self.copies)) ?? []
        return names.compactMap { Int64($0.split(separator: "-").last ?? "") }.filter { $0 <= epoch }.max()
    }

    private func siblings(_ mark: String) throws(NacreError) -> [String] {
        let own = web.dropFirst(parent.count + 1) + mark
        return try disk.names(in: parent).filter { $0.hasPrefix(own) }
    }

    private func write(_ epoch: Int64) throws(NacreError) { try disk.replace(mark, Array("\(epoch)".utf8)) }
}
