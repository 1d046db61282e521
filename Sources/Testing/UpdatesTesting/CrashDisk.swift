// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
package import NacreCore
import NacreReleases
import NacreTesting
package import NacreUpdates
import Synchronization

/// A disk that stops after so many steps, as a machine does whose process is killed or whose power fails, or that has no
/// room for one step.
///
/// With the power go the bytes that were not brought to the disk, and the names that were changed since their folder was.
package final class CrashDisk: UpdateDisk {
    /// How it ends.
    package enum End: String, Sendable, CaseIterable {
        /// The step is not made.
        case killed
        /// Half of what was to be written is.
        case torn
        /// As `torn`, and what was not synced is lost or garbage.
        case powerless
        /// There is no room for this one step, and everything goes on.
        case full
    }

    private struct State {
        var steps = 0
        var isDead = false
        /// Bytes that are safe, by path, of files that have more.
        var unsynced: [String: Int] = [:]
        var renames: [Rename] = []
        var kept = 0
    }
    private struct Rename {
        var from: String
        var to: String
        /// What the name meant before.
        var displaced: String?
    }

    private let base = SystemDisk()
    private let root: String
    private let stop: Int?
    private let end: End
    private let random: SeededRandom
    /// Called in the place of a simulated death: ends the process for good.
    private let die: (@Sendable () -> Void)?
    private let state = Mutex(State())

    /// - Parameters:
    ///   - root: a folder on the same disk for what a power failure brings back.
    ///   - stop: the number of the step at which it ends; nil for a disk that only counts.
    package init(root: String, stop: Int?, end: End = .killed, seed: UInt64 = 1, die: (@Sendable () -> Void)? = nil) {
        (self.root, self.stop, self.end, self.die) = (root, stop, end, die)
        random = SeededRandom(seed)
    }

    /// Steps so far.
    package var steps: Int { state.withLock { $0.steps } }
    package var isDead: Bool { state.withLock { $0.isDead } }

    /// Counts a step; true when it is the last one.
    private func step() throws(NacreError) -> Bool {
        let (isDead, steps) = state.withLock { state in
            if !state.isDead { state.steps += 1 }
            return (state.isDead, state.steps)
        }
        guard !isDead else { throw Self.dead }
        guard steps == stop else { return false }
        if end == .full { throw NacreError("file.disk_full", "There is no room left.") }
        if end == .killed { try fail() }
        return true
    }

    private static let dead = NacreError("test.dead", "The machine has stopped.")

    private func fail() throws(NacreError) {
        die?()
        state.withLock { $0.isDead = true }
        if end == .powerless { loseUnsynced() }
        throw Self.dead
    }

    private func loseUnsynced() {
        let (unsynced, renames) = state.withLock { ($0.unsynced, $0.renames) }
        for (path, safe) in unsynced {
            guard let size = base.size(of: path), size > safe else { continue }
            let file = FileHandle(forWritingAtPath: path)
            let left = safe + random.number(below: size - safe + 1)
            try? file?.truncate(atOffset: UInt64(left))
            // Some file systems keep the length and lose the bytes.
            if random.number(below: 2) == 0 { try? file?.truncate(atOffset: UInt64(size)) }
            try? file?.close()
        }
        // A journal keeps the order: what is lost are the last ones.
        for rename in renames.suffix(random.number(below: renames.count + 1)).reversed() {
            try? base.rename(rename.to, to: rename.from)
            if let displaced = rename.displaced { try? base.rename(displaced, to: rename.to) }
        }
    }

    // MARK: Steps

    package func makeFolder(_ path: String) throws(NacreError) {
        let isLast = try step()
        try base.makeFolder(path)
        if isLast { try fail() }
    }

    package func create(_ path: String) throws(NacreError) -> any UpdateFile {
        let isLast = try step()
        let file = try base.create(path)
        state.withLock { $0.unsynced[path] = 0 }
        if isLast { try fail() }
        return CrashFile(self, file, path)
    }

    package func extend(_ path: String) throws(NacreError) -> any UpdateFile {
        let isLast = try step()
        let safe = base.size(of: path) ?? 0
        let file = try base.extend(path)
        state.withLock { if $0.unsynced[path] == nil { $0.unsynced[path] = safe } }
        if isLast { try fail() }
        return CrashFile(self, file, path)
    }

    package func rename(_ from: String, to: String) throws(NacreError) {
        let isLast = try step()
        var displaced: String?
        if base.size(of: to) != nil {
            let name = state.withLock { state in
                state.kept += 1
                return "\(root)/\(state.kept)"
            }
            if (try? FileManager.default.copyItem(atPath: to, toPath: name)) != nil { displaced = name }
        }
        try base.rename(from, to: to)
        state.withLock { state in
            state.renames.append(Rename(from: from, to: to, displaced: displaced))
            var moved: [String: Int] = [:]
            for (path, safe) in state.unsynced {
                let isInside = path == from || path.hasPrefix(from + "/")
                moved[isInside ? to + path.dropFirst(from.count) : path] = safe
            }
            state.unsynced = moved
        }
        if isLast { try fail() }
    }

    package func remove(_ path: String) throws(NacreError) {
        if base.isFolder(path) {
            for name in try base.names(in: path) { try remove(path + "/" + name) }
        } else if base.size(of: path) == nil {
            return
        }
        let isLast = try step()
        try base.remove(path)
        state.withLock { $0.unsynced[path] = nil }
        if isLast { try fail() }
    }

    package func sync(folder: String) throws(NacreError) {
        if try step() { try fail() }
        state.withLock { state in
            state.renames.removeAll { Self.parent($0.to) == folder || Self.parent($0.from) == folder }
        }
    }

    package func syncAll(at path: String) throws(NacreError) {
        if try step() { try fail() }
        state.withLock { ($0.unsynced, $0.renames) = ([:], []) }
    }

    private static func parent(_ path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }

    fileprivate func write(_ bytes: [UInt8], _ file: any UpdateFile) throws(NacreError) {
        guard try step() else { return try file.write(bytes) }
        try file.write(Array(bytes.prefix(bytes.count / 2)))
        try fail()
    }

    fileprivate func sync(_ path: String) throws(NacreError) {
        if try step() { try fail() }
        state.withLock { $0.unsynced[path] = nil }
    }

    // MARK: Reading

    package func read(_ path: String, upTo limit: Int) throws(NacreError) -> [UInt8]? {
        try base.read(path, upTo: limit)
    }
    package func names(in folder: String) throws(NacreError) -> [String] { try base.names(in: folder) }
    package func size(of path: String) -> Int? { base.size(of: path) }
    package func isFolder(_ path: String) -> Bool { base.isFolder(path) }
    package func space(at path: String) -> Int? { nil }
}

private final class CrashFile: UpdateFile {
    private let disk: CrashDisk
    private let file: any UpdateFile
    private let path: String

    init(_ disk: CrashDisk, _ file: any UpdateFile, _ path: String) {
        (self.disk, self.file, self.path) = (disk, file, path)
    }

    func write(_ bytes: [UInt8]) throws(NacreError) { try disk.write(bytes, file) }
    func sync() throws(NacreError) { try disk.sync(path) }
    func contents() throws(NacreError) -> any RandomAccessBytes { try file.contents() }
    func close() { file.close() }
}
