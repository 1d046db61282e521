// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreReleases
import Synchronization

/// A tree that devices have, from which a patch leads to a new one.
package struct ReleaseBase: Sendable {
    /// For messages: a version, or the folder of a built-in tree.
    package let label: String
    package let tree: ReleaseTree
    /// Reads its files; takes long and blocks.
    let content: @Sendable (ReleaseFile) throws(NacreError) -> [UInt8]

    /// The tree of a folder, such as the one built into a store build.
    ///
    /// - Throws: `release.*`, `file.read`.
    package init(folder path: String) throws(NacreError) {
        let folder = TreeFolder(path)
        label = path
        tree = try folder.measure()
        content = { (file) throws(NacreError) in try folder.bytes(file) }
    }

    init(label: String, tree: ReleaseTree, contents: [TreeDigest: [UInt8]]) {
        (self.label, self.tree) = (label, tree)
        content = { (file) throws(NacreError) in
            guard let bytes = contents[file.digest] else {
                throw NacreError("release.missing", "\(file.path) of \(label) is missing.")
            }
            return bytes
        }
    }

    func stream() throws(NacreError) -> [UInt8] { try TreePatch.stream(of: tree, content: content) }
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
