// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreReleases
import Synchronization

/// Brings an offered release onto the shelf by the cheapest way there is: a copy that is here already, a patch, the files
/// that are new, and at last the whole archive (UP-8, UP-10). Every way ends at the same signed name of the tree.
struct BundleDownload: Sendable {
    let offer: ReleaseOffer
    let channel: String
    /// Where the bucket's keys begin.
    let root: WebURL
    let shelf: BundleShelf
    /// Folders whose trees are whole: what a patch may start from, and where unchanged files come from.
    let bases: [String]
    let archiveKey: PublicKey?
    let fetch: ReleaseFetch
    let disk: any UpdateDisk
    let work: WorkThreads
    let log: Log
    /// Bytes that have come, and bytes in all of the way that is tried.
    let progress: @Sendable (_ received: Int, _ size: Int) -> Void

    /// The most that an archive of which nobody has signed a size may have, in bytes.
    static let unsignedLimit = 300_000_000
    private static let listLimit = 20_000_000
    /// What the files of a tree weigh when packed, about: enough to compare two ways.
    private static let packing = 3

    /// How it came, for the report.
    enum Way: String, Sendable {
        case copy, patch, objects, archive
    }

    /// - Throws: `update.*`, `release.*`, `archive.*`, `file.*`, `transport.*`: of the last way that was tried.
    func run() async throws(NacreError) -> (tree: ReleaseTree, way: Way) {
        guard let payload = offer.payload else { return (try await archive(nil), .archive) }
        let facts = payload.tree
        if try await isHere(facts.digest) {
            let path = shelf.path(facts.digest)
            return (try await ReleaseFetch.run(work) { () throws(NacreError) in try TreeFolder(path).measure() }, .copy)
        }
        let trees = await measured()
        for patch in payload.patches where patch.algorithm == TreePatch.algorithm {
            guard let base = trees[patch.base], patch.object.size < payload.archive.size else { continue }
            do throws(NacreError) { return (try await self.patch(patch, facts, base), .patch) } catch {
                try note(.patch, error)
            }
        }
        if payload.hasObjects {
            do throws(NacreError) {
                if let tree = try await objects(payload, trees) { return (tree, .objects) }
            } catch { try note(.objects, error) }
        }
        return (try await archive(payload), .archive)
    }

    /// A way that failed is no reason to give up, unless every way would fail.
    private func note(_ way: Way, _ error: NacreError) throws(NacreError) {
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
    private func measured() async -> [TreeDigest: Base] {
        var result: [TreeDigest: Base] = [:]
        for folder in bases {
            let tree = try? await ReleaseFetch.run(work) { () throws(NacreError) in try TreeFolder(folder).measure() }
            if let tree { result[tree.digest] = Base(folder: TreeFolder(folder), tree: tree) }
        }
        return result
    }

    struct Base: Sendable {
        let folder: TreeFolder
        let tree: ReleaseTree
    }

    private func url(_ key: String) throws(NacreError) -> WebURL {
        try WebURL(root.description + key)
    }

    private func counter(of size: Int) -> @Sendable (Int) -> Void {
        let total = Counter()
        return { [progress] count in progress(total.add(count), size) }
    }

    // MARK: The ways

    private func patch(
        _ patch: ReleasePayload.PatchFacts, _ facts: ReleasePayload.TreeFacts, _ base: Base
    ) async throws(NacreError) -> ReleaseTree {
        let path = shelf.downloads + "/" + patch.object.digest.description
        try await fetch.object(
            try url(ReleaseStore.patch(channel, patch.object.digest)), into: path, size: patch.object.size,
            upTo: patch.object.size, digest: patch.object.digest, disk: disk, work: work,
            progress: counter(of: patch.object.size))
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
        let facts = payload.tree
        let limit = PackedFile.bound(min(facts.listBytes, Self.listLimit))
        let answer = try await fetch.document(
            try url(ReleaseStore.list(channel, facts.digest)), upTo: limit)
        guard case .bytes(let list, _) = answer else {
            throw NacreError("update.missing", "The update server does not have the list of the release's files.")
        }
        let tree = try ReleaseTree(packedList: list, of: facts)
        var here: [TreeDigest: (TreeFolder, ReleaseFile)] = [:]
        for base in trees.values { for file in base.tree.files { here[file.digest] = (base.folder, file) } }
        var missing: [TreeDigest: ReleaseFile] = [:]
        for file in tree.files where here[file.digest] == nil { missing[file.digest] = file }
        let size = missing.values.reduce(0) { $0 + $1.size }
        if archiveKey != nil, size / Self.packing > payload.archive.size { return nil }
        try await fetchObjects(Array(missing.values), size: size)
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

    /// A few at a time; each is whole and right, or not there.
    private func fetchObjects(_ files: [ReleaseFile], size: Int) async throws(NacreError) {
        let count = counter(of: size)
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                var waiting = files.makeIterator()
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
        guard case .bytes(let bytes, _) = answer, isRight(bytes) else {  // guard: update-file-digest
            throw NacreError("update.damaged", "A file of the release is missing or damaged on the update server.")
        }
        try await ReleaseFetch.run(work) { () throws(NacreError) in
            let open = try disk.create(path)
            defer { open.close() }
            try open.write(bytes)
        }
        count(file.size)
    }

    private func archive(_ payload: ReleasePayload?) async throws(NacreError) -> ReleaseTree {
        guard let archiveKey else {
            throw NacreError("update.archive_key", "This build has no key to open the release's archive with.")
        }
        let contents = try offer.manifest.seal.open(with: archiveKey)
        let path = shelf.downloads + "/" + (payload?.archive.digest.description ?? "archive")
        try await fetch.object(
            try WebURL(offer.manifest.url), into: path, size: payload?.archive.size,
            upTo: Self.unsignedLimit, digest: payload?.archive.digest, disk: disk, work: work,
            progress: counter(of: payload?.archive.size ?? 0))
        let (shelf, disk) = (shelf, disk)
        return try await ReleaseFetch.run(work) { () throws(NacreError) in
            let plain = shelf.workshop + "/archive"
            let file = try disk.create(plain)
            do throws(NacreError) {
                try contents.open(try FileBytes(path)) { (piece: [UInt8]) throws(NacreError) in try file.write(piece) }
            } catch {
                file.close()
                try? disk.remove(plain)
                // Whole and wrong: another try is to begin anew.
                try? disk.remove(path)
                throw error
            }
            file.close()
            defer { try? disk.remove(plain) }
            let reader = try ArchiveReader(try FileBytes(plain))
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
