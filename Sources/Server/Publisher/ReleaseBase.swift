// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreReleases
import Synchronization

/// A tree that devices have, from which a patch leads to a new one.
package struct ReleaseBase: Sendable {
    /// For messages: a version, or the folder of a built-in tree.
    package let label: String
    package let tree: ReleaseTree
    /// Where its files are.
    let folder: TreeFolder
    /// Holds the folder, where it is one for this run.
    private let work: WorkFolder?

    /// The tree of a folder, such as the one built into a store build.
    ///
    /// - Throws: `release.*`, `file.read`.
    package init(folder path: String) throws(NacreError) {
        (folder, label, work) = (TreeFolder(path), path, nil)
        tree = try folder.measure()
    }

    init(label: String, tree: ReleaseTree, folder: TreeFolder, _ work: WorkFolder) {
        (self.label, self.tree, self.folder, self.work) = (label, tree, folder, work)
    }

    /// Reads its files; takes long and blocks.
    func stream() throws(NacreError) -> [UInt8] {
        try TreePatch.stream(of: tree) { (file) throws(NacreError) in try folder.bytes(file) }
    }
}

/// Something that another thread looks at to see whether to go on.
final class StopFlag: Sendable {
    private let isSet = Atomic(false)
    func set() { isSet.store(true, ordering: .relaxed) }

    /// - Throws: `ota.cancelled`.
    func check() throws(NacreError) {
        if isSet.load(ordering: .relaxed) { throw NacreError("ota.cancelled", "Stopped.") }
    }
}
