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
    /// What was there before an exchange; the name says for which epoch it had to go.
    private func discarded(_ epoch: Int64) -> String { web + ".discarded-\(epoch)" }
    /// What is being removed, and means nothing any more.
    private var gone: String { web + ".gone" }
    private var unfinished: String { web + ".copying" }
    private func copy(_ epoch: Int64) -> String { web + ".copy-\(epoch)" }
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
                (now, outcome) = (epoch, .emptied)
            } else {
                return .kept
            }
        }
        if epoch > now, keepsCopy {
            try keepCopy(of: now)
            if outcome == .unchanged { outcome = .copied }
        }
        if self.epoch != epoch { try write(epoch) }
        try removeAll(".discarded-")
        return outcome
    }

    /// The bundle has confirmed its start, or nobody may come back to what was: there is no way back any more.
    func settle() throws(NacreError) {
        try removeAll(".copy-")
        try disk.remove(unfinished)
        try removeAll(".discarded-")
    }

    /// Ends an exchange that was cut short: between its two renames it is undone, behind them it counts.
    private func finish() throws(NacreError) {
        try disk.remove(gone)
        for name in try siblings(".discarded-") {
            if !disk.isFolder(web) {
                try disk.rename(parent + "/" + name, to: web)
                try disk.sync(folder: parent)
            } else if let epoch = Int64(name.split(separator: "-").last ?? "") {
                try write(epoch)
            }
        }
        try removeAll(".discarded-")
        try disk.remove(unfinished)
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
        if disk.isFolder(web) { try disk.rename(web, to: discarded(epoch)) }
        if let replacement { try disk.rename(replacement, to: web) } else { try disk.makeFolder(web) }
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
        let names = (try? siblings(".copy-")) ?? []
        return names.compactMap { Int64($0.split(separator: "-").last ?? "") }.filter { $0 <= epoch }.max()
    }

    private func siblings(_ mark: String) throws(NacreError) -> [String] {
        let own = web.dropFirst(parent.count + 1) + mark
        return try disk.names(in: parent).filter { $0.hasPrefix(own) }
    }

    private func write(_ epoch: Int64) throws(NacreError) { try disk.replace(mark, Array("\(epoch)".utf8)) }
}
