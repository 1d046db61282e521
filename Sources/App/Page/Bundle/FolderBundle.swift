// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
package import NacreCore
import NacreCrypto
import NacreHTTP
package import NacrePorts
import Synchronization

/// A bundle in a folder. Links inside the tree are followed, links out of it are not, whatever happens meanwhile.
package final class FolderBundle: BundleSource, Sendable {
    package let stamp: String
    private let root: String
    private let disk = WorkThreads(limit: 2, waiting: 1024)

    /// The tree under `folder`.
    ///
    /// - Throws: `bundle.missing` when there is no such folder.
    package init(_ folder: String, stamp: String = "folder") throws(NacreError) {
        guard let root = FolderBundle.resolve(folder) else {
            throw NacreError(
                "bundle.missing", "The bundle folder \(folder) does not exist; build the web app first (bundle.path).")
        }
        self.root = root
        self.stamp = stamp
    }

    package func file(at path: String) async throws -> BundleFile? {
        let root = root
        let disk = disk
        guard let opened = try await disk.run({ Self.open(path, under: root) }) else { return nil }
        return BundleFile(size: opened.size, type: MediaTypes.type(ofPath: path), tag: opened.tag) { range in
            let next = Mutex(range.lowerBound)
            return ByteStream {
                let from = next.withLock { $0 }
                guard from < range.upperBound else { return nil }
                let chunk = try await disk.run {
                    try opened.read(from: from, upTo: min(65_536, range.upperBound - from))
                }
                next.withLock { $0 += chunk.count }
                return chunk
            }
        }
    }

    // MARK: Opening

    private static func resolve(_ path: String) -> String? {
        guard let pointer = realpath(path, nil) else { return nil }
        defer { free(pointer) }
        return String(cString: pointer)
    }

    /// Resolves links, demands that the result lies in the tree, and then opens it component by component without
    /// following any link: a tree changed in between cannot lead out.
    private static func open(_ path: String, under root: String) -> OpenFile? {
        guard !path.utf8.contains(0), let resolved = resolve(root + path) else { return nil }
        guard resolved.hasPrefix(root == "/" ? root : root + "/") else { return nil }  // guard: bundle-link-out
        var directory = nacre_open_at(AT_FDCWD, root, 1)
        let components = resolved.dropFirst(root.count).split(separator: "/")
        for (index, component) in components.enumerated() {
            guard directory >= 0 else { return nil }
            let next = nacre_open_at(directory, String(component), index < components.count - 1 ? 1 : 0)
            close(directory)
            directory = next
        }
        guard directory >= 0 else { return nil }
        return OpenFile(owning: directory)
    }
}

/// An open regular file, closed with its last user.
private final class OpenFile: Sendable {
    let size: Int
    let tag: String
    private let descriptor: Int32

    /// Nil, and closed, when it is not a regular file.
    init?(owning descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & mode_t(S_IFMT) == mode_t(S_IFREG) else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        size = Int(status.st_size)
        let parts = [Int64(status.st_size), Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec)]
        tag = parts.map { String($0, radix: 36) }.joined(separator: "-") + "-" + String(status.st_ino, radix: 36)
    }

    deinit { close(descriptor) }

    func read(from offset: Int, upTo count: Int) throws(NacreError) -> [UInt8] {
        var got = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            got = pread(descriptor, buffer.baseAddress, count, off_t(offset))
            initialized = max(0, got)
        }
        // A file cut short while it is sent: the promised length cannot be kept, so the exchange must break.
        guard got > 0 else {
            throw NacreError("bundle.read", "A file of the bundle changed or cannot be read; load the page again.")
        }
        return bytes
    }
}
