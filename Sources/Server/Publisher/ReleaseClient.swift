// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreReleases
import NacreUpdates

/// A device to try a release on: the app's own download, with a shelf that goes with the work folder.
///
/// It believes nothing of what is in the store, as an app does not; each way to the release can be taken by itself.
struct ReleaseClient: Sendable {
    private let source: any ReleaseSource
    private var download: BundleDownload
    private let shelf: BundleShelf
    private let threads: WorkThreads
    /// Holds the folder.
    private let work: WorkFolder

    /// - Parameter root: the address under which the store's keys begin.
    /// - Throws: `file.*`, `url.malformed`.
    init(
        _ manifest: ReleaseManifest, _ payload: ReleasePayload?, from source: any ReleaseSource, root: String,
        channel: String, archiveKey: PublicKey?, time: any TimeSource, threads: WorkThreads, work: WorkFolder
    ) async throws {
        let disk = SystemDisk(isLasting: false)
        let shelf = BundleShelf(work.file("device"), disk)
        try await threads.run { try shelf.make() }
        let fetch = ReleaseFetch(
            transport: try source.transport(under: root, threads, work), time: time,
            isDevelopment: root.hasPrefix("http://"))
        download = BundleDownload(
            manifest, payload, channel: channel, root: try WebURL(root + "/"), shelf: shelf, archiveKey: archiveKey,
            fetch: fetch, disk: disk, work: threads)
        (self.source, self.shelf, self.threads, self.work) = (source, shelf, threads, work)
    }

    /// The same one, which tells what part of a way it has gone.
    func telling(_ progress: @escaping @Sendable (Double) -> Void) -> ReleaseClient {
        var other = self
        // That it was the right way is known at its end only.
        other.download.progress = { received, size in progress(0.99 * Double(received) / Double(max(size, 1))) }
        return other
    }

    /// By the whole bundle, with the app's key.
    ///
    /// - Returns: the tree, in a folder of the device.
    func archive() async throws -> ReleaseTree {
        try await lead("the bundle") { try await download.archive() }
    }

    /// What the archive holds, to make or try patches from. The folder goes with the work folder.
    func base(_ label: String) async throws -> ReleaseBase {
        let tree = try await archive()
        return ReleaseBase(label: label, tree: tree, folder: TreeFolder(shelf.path(tree.digest)), work)
    }

    func list(_ facts: ReleasePayload.TreeFacts) async throws -> ReleaseTree {
        try await lead("the list of files") { try await download.list(facts) }
    }

    /// File by file, by a device that has none of them, or those of another tree.
    func files(_ tree: ReleaseTree, with base: ReleaseBase? = nil) async throws {
        try await lead("the files") {
            let here = try await threads.run { try base.map { base throws(NacreError) in try Self.tree(of: base) } }
            _ = try await download.files(tree, with: here.map { [$0] } ?? [])
        }
    }

    private static func tree(of base: ReleaseBase) throws(NacreError) -> BundleDownload.Base {
        try BundleDownload.Base(base.folder.path)
    }

    /// These files, and no tree of them.
    func objects(_ files: [ReleaseFile]) async throws {
        try await lead("the files") { try await download.fetchObjects(files) }
    }

    /// By a patch; where what it starts from is not here, its bytes are what was signed.
    func patch(
        _ patch: ReleasePayload.PatchFacts, from base: ReleaseBase?, giving facts: ReleasePayload.TreeFacts
    ) async throws {
        try await lead("the patch") {
            guard let base else {
                _ = try await download.packed(patch)
                return
            }
            let here = try await threads.run { try Self.tree(of: base) }
            _ = try await download.patch(patch, from: here, giving: facts)
        }
    }

    /// What the app says, as a publisher has to hear it; the network gets its tries.
    private func lead<Value: Sendable>(_ what: String, _ way: () async throws -> Value) async throws -> Value {
        do { return try await source.patiently(way) } catch let error as NacreError {
            let message = "\(what), read from \(source.name): \(error.message)"
            if error.code == "update.missing" {
                throw NacreError("release.missing", "\(message)\(source.remedy)", cause: error)
            }
            let isOther = ["transport.", "file.", "bucket."].contains { error.code.rawValue.hasPrefix($0) }
            if isOther || ["update.cancelled", "update.archive_key"].contains(error.code.rawValue) { throw error }
            throw NacreError("release.damaged", message, cause: error)
        }
    }
}
