// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreReleases

/// The bundles on the device, each in a folder with the name of its tree. A folder of that name is whole: it was filled
/// elsewhere, brought to the disk, and then given the name.
package struct BundleShelf: Sendable {
    private let disk: any UpdateDisk
    private let folder: String
    /// Where bundles are put together; what an earlier run has left there is nobody's.
    var workshop: String { folder + "/work" }
    /// Downloads that go on where they stood.
    var downloads: String { folder + "/downloads" }
    private var bundles: String { folder + "/bundles" }

    package init(_ folder: String, _ disk: any UpdateDisk) {
        self.disk = disk
        self.folder = folder
    }

    package func make() throws(NacreError) {
        for path in [folder, bundles, workshop, downloads] where !disk.isFolder(path) { try disk.makeFolder(path) }
    }

    package func path(_ tree: TreeDigest) -> String { bundles + "/" + tree.description }

    /// Whether the bundle can be shown: enough for a start, which has no time to read every file.
    func holds(_ tree: TreeDigest) -> Bool { disk.size(of: path(tree) + "/index.html") != nil }

    /// Whether every file of the bundle is what it was.
    func isSound(_ tree: TreeDigest) -> Bool {
        holds(tree) && (try? TreeFolder(path(tree)).measure().digest) == tree
    }

    /// Puts a bundle together: `fill` gets a folder and a way to put files into it.
    ///
    /// - Throws: what `fill` throws, `file.*`, `update.index` for a bundle without `index.html`.
    func put(
        _ fill: ((ReleaseFile, [UInt8]) throws(NacreError) -> Void) throws(NacreError) -> ReleaseTree
    ) throws(NacreError) -> ReleaseTree {
        let place = workshop + "/tree"
        try disk.remove(place)
        try disk.makeFolder(place)
        var folders: Set<String> = [place]
        let tree = try fill { (file: ReleaseFile, bytes: [UInt8]) throws(NacreError) in
            let path = place + "/" + file.path.text
            let parent = UpdateDiskPath.folder(of: path)
            if folders.insert(parent).inserted { try disk.makeFolder(parent) }
            let open = try disk.create(path)
            defer { open.close() }
            try open.write(bytes)
        }
        guard disk.size(of: place + "/index.html") != nil else {  // guard: update-index
            throw NacreError("update.index", "The release has no index.html, so there is nothing to show.")
        }
        try disk.syncAll(at: place)
        let home = path(tree.digest)
        try discard(home)
        try disk.rename(place, to: home)
        try disk.sync(folder: bundles)
        return tree
    }

    /// Takes a folder's name first: one that is half gone must not be taken for a whole one.
    private func discard(_ path: String) throws(NacreError) {
        guard disk.isFolder(path) else { return try disk.remove(path) }
        let gone = workshop + "/gone"
        try disk.remove(gone)
        try disk.rename(path, to: gone)
        try disk.sync(folder: bundles)
        try disk.remove(gone)
    }

    /// Removes every bundle but these, and what was being put together; downloads that a later check could go on with stay.
    func sweep(keeping trees: Set<TreeDigest>, clearsDownloads: Bool) throws(NacreError) {
        let names = Set(trees.map(\.description))
        for name in try disk.names(in: bundles) where !names.contains(name) {
            try discard(bundles + "/" + name)
        }
        for name in try disk.names(in: workshop) { try disk.remove(workshop + "/" + name) }
        guard clearsDownloads else { return }
        for name in try disk.names(in: downloads) { try disk.remove(downloads + "/" + name) }
    }
}

enum UpdateDiskPath {
    static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }
}
