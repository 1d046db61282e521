// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreReleases
import Synchronization

@testable import NacreUpdates

/// The system's disk, but for the steps for which a test says that there is no room.
struct RationedDisk: UpdateDisk {
    enum Step: Sendable { case makeFolder, create, extend, rename, sync }

    /// No room for anything; what is there can be removed.
    static let full = RationedDisk { _, _ in true }
    /// Room for everything but a copy of what the web view has stored.
    static let withoutCopies = RationedDisk { step, path in step == .makeFolder && path.hasSuffix(".copying") }

    private let base = SystemDisk()
    private let refuses: @Sendable (Step, _ path: String) -> Bool
    private let looks: @Sendable (_ path: String) -> Void
    private var closes: @Sendable (_ path: String) -> Void = { _ in }

    init(refusing refuses: @escaping @Sendable (Step, _ path: String) -> Bool) {
        (self.refuses, looks) = (refuses, { _ in })
    }

    /// Room for everything; `closes` is told of each file that has been written.
    init(closes: @escaping @Sendable (_ path: String) -> Void) {
        (refuses, looks, self.closes) = ({ _, _ in false }, { _ in }, closes)
    }

    /// Room for everything; `looks` is told of each file that is read, and of each place that is asked for its room.
    init(looks: @escaping @Sendable (_ path: String) -> Void) {
        (self.looks, refuses) = (looks, { _, _ in false })
    }

    private func ask(_ step: Step, _ path: String) throws(NacreError) {
        if refuses(step, path) { throw NacreError("file.disk_full", "There is no room left.") }
    }

    func makeFolder(_ path: String) throws(NacreError) {
        try ask(.makeFolder, path)
        try base.makeFolder(path)
    }
    func create(_ path: String) throws(NacreError) -> any UpdateFile {
        try ask(.create, path)
        return WatchedFile(file: try base.create(path)) { [closes] in closes(path) }
    }
    func extend(_ path: String) throws(NacreError) -> any UpdateFile {
        try ask(.extend, path)
        return try base.extend(path)
    }
    func rename(_ from: String, to: String) throws(NacreError) {
        try ask(.rename, to)
        try base.rename(from, to: to)
    }
    func remove(_ path: String) throws(NacreError) { try base.remove(path) }
    func sync(folder: String) throws(NacreError) {
        try ask(.sync, folder)
        try base.sync(folder: folder)
    }
    func syncAll(at path: String) throws(NacreError) { try ask(.sync, path) }
    func read(_ path: String, upTo limit: Int) throws(NacreError) -> [UInt8]? {
        looks(path)
        return try base.read(path, upTo: limit)
    }
    func names(in folder: String) throws(NacreError) -> [String] { try base.names(in: folder) }
    func size(of path: String) -> Int? { base.size(of: path) }
    func isFolder(_ path: String) -> Bool { base.isFolder(path) }
    func space(at path: String) -> Int? {
        looks(path)
        return base.space(at: path)
    }
}

private struct WatchedFile: UpdateFile {
    let file: any UpdateFile
    let closed: @Sendable () -> Void

    func write(_ bytes: [UInt8]) throws(NacreError) { try file.write(bytes) }
    func sync() throws(NacreError) { try file.sync() }
    func contents() throws(NacreError) -> any RandomAccessBytes { try file.contents() }
    func close() {
        file.close()
        closed()
    }
}

/// Something that a test turns on while a disk is in use.
final class Switch: Sendable {
    private let on = Mutex(false)
    var isOn: Bool {
        get { on.withLock { $0 } }
        set { on.withLock { $0 = newValue } }
    }
}
