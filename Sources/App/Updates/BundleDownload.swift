// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreCrypto
package import NacreHTTP
package import NacreReleases
import Synchronization

/// Brings a release onto the shelf. An app lets it take the cheapest way there is: a copy that is here already, a patch, the
/// files that are new, and at last the whole archive (UP-8, UP-10). A publisher takes each way by itself, to see whether it
/// leads to the release. Every way ends at the same signed name of the tree.
package struct BundleDownload: Sendable {
    private let manifest: ReleaseManifest
    /// What is signed of the release, where the build has root keys.
    private let payload: ReleasePayload?
    private let channel: String
    /// Where the bucket's keys begin.
    private let root: WebURL
    private let shelf: BundleShelf
    private let archiveKey: PublicKey?
    private let fetch: ReleaseFetch
    private let disk: any UpdateDisk
    private let work: WorkThreads
    /// Bytes that have come, and bytes in all of the way that is tried.
    package var progress: @Sendable (_ received: Int, _ size: Int) -> Void

    /// The most that an archive of which nobody has signed a size may have, in bytes.
    package static let unsignedLimit = 300_000_000
    private static let listLimit = 20_000_000
    /// What the files of a tree weigh when packed, about: enough to compare two ways.
    private static let packing = 3

    /// How it came, for the report.
    enum Way: String, Sendable {
        case copy, patch, objects, archive
    }

    /// - Parameter root: the address at which the bucket's keys begin, with a slash at its end.
    package init(
        _ manifest: ReleaseManifest, _ payload: ReleasePayload?, channel: String, root: WebURL, shelf: BundleShelf,
        archiveKey: PublicKey?, fetch: ReleaseFetch, disk: any UpdateDisk, work: WorkThreads,
        progress: @escaping @Sendable (_ received: Int, _ size: Int) -> Void = { _, _ in }
    ) {
        (self.manifest, self.payload, self.channel, self.root) = (manifest, payload, channel, root)
        (self.shelf, self.archiveKey, self.fetch, self.disk) = (shelf, archiveKey, fetch, disk)
        (self.work, self.progress) = (work, progress)
    }

    /// Takes the cheapest way, and the next one where that one does not lead there.
    ///
    /// - Parameters:
    ///   - bases: folders whose trees are whole: what a patch may start from, and where unchanged files come from.
    ///   - base: another one, which this check has read already.
    /// - Throws: `update.*`, `release.*`, `archive.*`, `file.*`, `transport.*`: of the last way that was tried.
    func run(bases: [String], measured base: Base?, log: Log) async throws(NacreError) -> (tree: ReleaseTree, way: Way)
    {
        guard let payload else { return (try await archive(), .archive) }
        let facts = payload.tree
        if try await isHere(facts.digest) {
            let path = shelf.path(facts.digest)
            return (try await ReleaseFetch.run(work) { () throws(NacreError) in try TreeFolder(path).measure() }, .copy)
        }
        let trees = await measured(bases, besides: base)
        for patch in payload.patches where patch.algorithm == TreePatch.algorithm {
            guard let base = trees[patch.base], patch.object.size < payload.archive.size else { continue }
            do throws(NacreError) { return (try await self.patch(patch, from: base, giving: facts), .patch) } catch {
                try note(.patch, error, log)
            }
        }
        if payload.hasObjects {
            do throws(NacreError) {
                if let tree = try await objects(payload, trees) { return (tree, .objects) }
            } catch { try note(.objects, error, log) }
        }
        return (try await archive(), .archive)
    }

    /// A way that failed is no reason to give up, unless every way would fail.
    private func note(_ way: Way, _ error: NacreError, _ log: Log) throws(NacreError) {
        let isFinal = error.code == "file.disk_full" || error.code == "update.cancelled"
        let isNetwork = error.code.rawValue.hasPrefix("transport.")
        if isFinal || isNetwork || Task.isCancelled { throw error }
        log.notice("update.way", ["way": .string(way.rawValue), "code": .string(error.code.rawValue)])
    }

    private func isHere(_ tree: TreeDigest) async throws(NacreError) -> Bool {
        let shelf = shelf
        return try await ReleaseFetch.run(work) { () throws(NacreError) in shelf.isSound(tree) }
    }

    /// What lies in the bases, read file by file: a base that has been touched is another tree.
    private func measured(_ bases: [String], besides known: Base?) async -> [TreeDigest: Base] {
        var result: [TreeDigest: Base] = [:]
        if let known { result[known.tree.digest] = known }
        for folder in bases {
            let base = try? await ReleaseFetch.run(work) { () throws(NacreError) in try Base(folder) }
            if let base { result[base.tree.digest] = base }
        }
        return result
    }

    /// A tree in a folder, as it is now.
    package struct Base: Sendable {
        package let folder: TreeFolder
        package let tree: ReleaseTree

        /// Reads every file; takes long and blocks.
        ///
        /// - Throws: `release.*`, `file.read`.
        package init(_ path: String) throws(NacreError) {
            folder = TreeFolder(path)
            tree = try folder.measure()
        }
    }

    private func url(_ key: String) throws(NacreError) -> WebURL {
        try WebURL(root.description + key)
    }

    private func counter(of size: Int) -> @Sendable (Int) -> Void {
        let total = Counter()
        return { [progress] count in progress(total.add(count), size) }
    }

    // MARK: The ways

    /// Fetches a patch that is signed.
    ///
    /// - Returns: the file that it lies in.
    @discardableResult
    package func packed(_ patch: ReleasePayload.PatchFacts) async throws(NacreError) -> String {
        let path = shelf.downloads + "/" + patch.object.digest.description
        try await fetch.object(
            try url(ReleaseStore.patch(channel, patch.object.digest)), into: path, size: patch.object.size,
            upTo: patch.object.size, digest: patch.object.digest, disk: disk, work: work,
            progress: counter(of: patch.object.size))
        return path
    }

    /// From a tree that is here by a patch.
    package func patch(
        _ patch: ReleasePayload.PatchFacts, from base: Base, giving facts: ReleasePayload.TreeFacts
    ) async throws(NacreError) -> ReleaseTree {
        let path = try await packed(patch)
        let (shelf, disk) = (shelf, disk)
        return try await ReleaseFetch.run(work) { () throws(NacreError) in
            let packed = try FileBytes(path)
            let bytes = try packed.read(0..<packed.count)
            let stream = try TreePatch.stream(of: base.tree) { (file: ReleaseFile) throws(NacreError) in
                try base.folder.bytes(file)
            }
            let tree = try shelf.put { (put) throws(NacreError) in
                try TreePatch.apply(bytes, to: stream, giving: facts, put)
            }
            try disk.remove(path)
            return tree
        }
    }

    /// Nil where the archive is the shorter way.
    private func objects(
        _ payload: ReleasePayload, _ trees: [TreeDigest: Base]
    ) async throws(NacreError) -> ReleaseTree? {
        let tree = try await list(payload.tree)
        let here = Set(trees.values.flatMap { $0.tree.files.map(\.digest) })
        var missing: [TreeDigest: Int] = [:]
        for file in tree.files where !here.contains(file.digest) { missing[file.digest] = file.size }
        let size = missing.values.reduce(0, +)
        if archiveKey != nil, size / Self.packing > payload.archive.size { return nil }
        return try await files(tree, with: Array(trees.values))
    }

    /// The list of a tree's files.
    package func list(_ facts: ReleasePayload.TreeFacts) async throws(NacreError) -> ReleaseTree {
        let limit = PackedFile.bound(min(facts.listBytes, Self.listLimit))
        let answer = try await fetch.document(
            try url(ReleaseStore.list(channel, facts.digest)), upTo: limit)
        guard case .bytes(let list, _) = answer else {
            throw NacreError("update.missing", "The update server does not have the list of the release's files.")
        }
        return try ReleaseTree(packedList: list, of: facts)
    }

    /// File by file: those of the bases from there, the others from the bucket.
    package func files(_ tree: ReleaseTree, with bases: [Base] = []) async throws(NacreError) -> ReleaseTree {
        var here: [TreeDigest: (TreeFolder, ReleaseFile)] = [:]
        for base in bases { for file in base.tree.files { here[file.digest] = (base.folder, file) } }
        try await fetchObjects(tree.files.filter { here[$0.digest] == nil })
        let (shelf, disk) = (shelf, disk)
        let places = here
        return try await ReleaseFetch.run(work) { () throws(NacreError) in
            let result = try shelf.put { (put) throws(NacreError) in
                for file in tree.files {
                    if let (folder, twin) = places[file.digest] {
                        let bytes = try folder.bytes(twin)
                        guard TreeDigest(of: bytes) == file.digest else {
                            throw NacreError("update.base", "A file on the device has changed while it was read.")
                        }
                        try put(file, bytes)
                    } else {
                        let packed = try FileBytes(shelf.downloads + "/" + file.digest.description)
                        let bytes = try packed.read(0..<packed.count)
                        try put(file, try PackedFile.unpack(bytes, size: file.size, digest: file.digest))
                    }
                }
                return tree
            }
            for digest in Set(tree.files.map(\.digest)) {
                try disk.remove(shelf.downloads + "/" + digest.description)
            }
            return result
        }
    }

    /// A few at a time, each content once; each is whole and right, or not there.
    package func fetchObjects(_ files: [ReleaseFile]) async throws(NacreError) {
        var seen: Set<TreeDigest> = []
        let wanted = files.filter { seen.insert($0.digest).inserted }
        let count = counter(of: wanted.reduce(0) { $0 + $1.size })
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                var waiting = wanted.makeIterator()
                for _ in 0..<6 {
                    guard let file = waiting.next() else { break }
                    group.addTask { try await fetchObject(file, count) }
                }
                while try await group.next() != nil {
                    guard let file = waiting.next() else { continue }
                    group.addTask { try await fetchObject(file, count) }
                }
            }
        } catch let error as NacreError { throw error } catch { throw ReleaseFetch.cancelled }
    }

    private func fetchObject(_ file: ReleaseFile, _ count: @Sendable (Int) -> Void) async throws(NacreError) {
        let path = shelf.downloads + "/" + file.digest.description
        let disk = disk
        func isRight(_ bytes: [UInt8]) -> Bool {
            (try? PackedFile.unpack(bytes, size: file.size, digest: file.digest)) != nil
        }
        let limit = PackedFile.bound(file.size)
        let old = try await ReleaseFetch.run(work) { () throws(NacreError) in try disk.read(path, upTo: limit) }
        if let old, isRight(old) { return count(file.size) }
        let answer = try await fetch.document(try url(ReleaseStore.object(channel, file.digest)), upTo: limit)
        if case .missing = answer {
            throw NacreError("update.missing", "The update server does not have the release's file \(file.path).")
        }
        guard case .bytes(let bytes, _) = answer, isRight(bytes) else {  // guard: update-file-digest
            throw NacreError("update.damaged", "The release's file \(file.path) is damaged on the update server.")
        }
        try await ReleaseFetch.run(work) { () throws(NacreError) in
            let open = try disk.create(path)
            defer { open.close() }
            try open.write(bytes)
        }
        count(file.size)
    }

    /// The whole bundle in the source system's format.
    package func archive() async throws(NacreError) -> ReleaseTree {
        guard let archiveKey else {
            throw NacreError("update.archive_key", "This build has no key to open the release's archive with.")
        }
        let contents = try manifest.seal.open(with: archiveKey)
        let path = shelf.downloads + "/" + (payload?.archive.digest.description ?? "archive")
        try await fetch.object(
            try WebURL(manifest.url), into: path, size: payload?.archive.size,
            upTo: Self.unsignedLimit, digest: payload?.archive.digest, disk: disk, work: work,
            progress: counter(of: payload?.archive.size ?? 0))
        let (shelf, disk) = (shelf, disk)
        return try await ReleaseFetch.run(work) { () throws(NacreError) in
            let plain = shelf.workshop + "/archive"
            let file = try disk.create(plain)
            // What is unpacked is the file that was verified, and not whatever has its name by then.
            let verified: any RandomAccessBytes
            do throws(NacreError) {
                try contents.open(try FileBytes(path)) { (piece: [UInt8]) throws(NacreError) in try file.write(piece) }
                verified = try file.contents()  // guard: update-verified-archive
            } catch {
                file.close()
                try? disk.remove(plain)
                // Whole and wrong: another try is to begin anew.
                try? disk.remove(path)
                throw error
            }
            file.close()
            defer { try? disk.remove(plain) }
            let reader = try ArchiveReader(verified)
            let tree = try shelf.put { (put) throws(NacreError) in
                try reader.unpack(tree: payload?.tree.digest, put)
            }
            try disk.remove(path)
            return tree
        }
    }
}

private final class Counter: Sendable {
    private let total = Mutex(0)
    func add(_ count: Int) -> Int {
        total.withLock { total in
            total += count
            return total
        }
    }
}
