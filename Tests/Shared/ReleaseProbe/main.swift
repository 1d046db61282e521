// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

// What publisher and app do with a release, one step by itself, for the figures:
//   release-probe zip FOLDER ARCHIVE         the archive that devices without a base fetch
//   release-probe stream FOLDER FILE         the tree's list and files as patches are made between them
//   release-probe make OLD NEW LEVEL PATCH   LEVEL is 16, or 9 for --fast; with progress
//   release-probe apply OLD PATCH LIST NEW   as an app does: from an old folder to a new one that is on the disk
// Prints the step's seconds and bytes as JSON. LIST is the signed tree's list.

import CLinux
import NacreCore
import NacreReleases

func write(_ bytes: [UInt8], to path: String) throws(NacreError) {
    let file = nacre_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw NacreError("probe.write", "\(path) cannot be written.") }
    defer { nacre_close(file) }
    var at = 0
    while at < bytes.count {
        let count = bytes[at...].withUnsafeBytes { CLinux.write(file, $0.baseAddress, $0.count) }
        guard count > 0 else { throw NacreError("probe.write", "\(path) cannot be written.") }
        at += count
    }
}

func read(_ path: String) throws(NacreError) -> [UInt8] {
    let file = try FileBytes(path)
    return try file.read(0..<file.count)
}

func stream(_ folder: TreeFolder, _ tree: ReleaseTree) throws(NacreError) -> [UInt8] {
    try TreePatch.stream(of: tree) { (file: ReleaseFile) throws(NacreError) in try folder.bytes(file) }
}

/// Files in a folder of their own; on the disk, and under their name, when it returns.
func unpack(_ patch: String, _ old: TreeFolder, _ list: [UInt8], to new: String) throws(NacreError) -> Int {
    let tree = try ReleaseTree(list: list)
    let facts = ReleasePayload.TreeFacts(tree)
    let packed = try read(patch)
    _ = TreeDigest(of: packed)
    let base = try stream(old, try old.measure())
    let work = new + ".work"
    mkdir(work, 0o755)
    var folders: Set<String> = []
    _ = try TreePatch.apply(packed, to: base, giving: facts) { (file: ReleaseFile, bytes: [UInt8]) throws(NacreError) in
        var path = work
        for part in file.path.text.split(separator: "/").dropLast() {
            path += "/" + part
            if folders.insert(path).inserted { mkdir(path, 0o755) }
        }
        try write(bytes, to: work + "/" + file.path.text)
    }
    let folder = nacre_open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    defer { nacre_close(folder) }
    guard syncfs(folder) == 0, rename(work, new) == 0 else { throw NacreError("probe.write", "\(new) cannot be made.") }
    return tree.bytes
}

func run(_ words: [String]) throws(NacreError) -> Int {
    switch (words.first, words.count) {
    case ("zip", 3):
        let folder = TreeFolder(words[1])
        try ArchiveWriter.write(try folder.measure().files.map { ($0.path, folder.file($0.path)) }, to: words[2])
        return try FileBytes(words[2]).count
    case ("stream", 3):
        let folder = TreeFolder(words[1])
        let bytes = try stream(folder, try folder.measure())
        try write(bytes, to: words[2])
        return bytes.count
    case ("make", 5):
        guard let effort = Int32(words[3]).flatMap(TreePatch.Effort.init) else { break }
        let (old, new) = (TreeFolder(words[1]), TreeFolder(words[2]))
        let (base, target) = (try stream(old, try old.measure()), try stream(new, try new.measure()))
        var told = 0
        let patch = try TreePatch.make(from: base, to: target, effort: effort) { (_: Double) in told += 1 }
        guard told > 0 else { throw NacreError("probe.progress", "Nobody was told how far it is.") }
        try write(patch, to: words[4])
        return patch.count
    case ("apply", 5): return try unpack(words[2], TreeFolder(words[1]), try read(words[3]), to: words[4])
    default: break
    }
    throw NacreError("probe.usage", "release-probe zip|stream|make|apply …; the first lines of its source say what.")
}

do throws(NacreError) {
    let clock = ContinuousClock()
    let start = clock.now
    let bytes = try run(Array(CommandLine.arguments.dropFirst()))
    let took = (clock.now - start) / .seconds(1)
    print("{\"seconds\": \(took), \"bytes\": \(bytes)}")
} catch {
    print(error.message)
    exit(1)
}
