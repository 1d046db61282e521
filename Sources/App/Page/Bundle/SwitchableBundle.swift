// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
package import NacrePorts
import Synchronization

/// A bundle in whose place another can be put while it is served. An answer that has begun ends with the file it began with.
package final class SwitchableBundle: BundleSource {
    private struct Tree {
        let source: any BundleSource
        /// What the validators of its files begin with; nil for the bundle inside the app.
        let mark: String?
    }

    private let tree: Mutex<Tree>

    /// - Parameter identity: what tells this tree from every other one; nil for the bundle inside the app.
    package init(_ source: any BundleSource, identity: String? = nil) {
        tree = Mutex(Self.tree(source, identity))
    }

    package var stamp: String { tree.withLock { $0.source }.stamp }

    /// From the next request on `source` is served.
    package func show(_ source: any BundleSource, identity: String?) {
        let next = Self.tree(source, identity)
        tree.withLock { $0 = next }
    }

    package func file(at path: String) async throws -> BundleFile? {
        let tree = tree.withLock { $0 }
        guard let file = try await tree.source.file(at: path) else { return nil }
        // Size, time and inode of a file do not tell two trees apart once one of them has been removed.
        let tag = tree.mark.map { $0 + "-" + file.tag } ?? file.tag  // guard: switch-tags
        return BundleFile(size: file.size, type: file.type, tag: tag, read: file.read)
    }

    private static func tree(_ source: any BundleSource, _ identity: String?) -> Tree {
        let mark = identity.map { String(Hex.encode(SHA256.hash(Array($0.utf8))).prefix(16)) }
        return Tree(source: source, mark: mark)
    }
}
