// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
package import NacreCore
import NacreReleases

/// A folder as a bucket, which any web server can serve.
///
/// What is put is whole or not there, also after a power cut: a new file beside it, synced, then linked or renamed. A lock
/// stands between two publishers on one machine.
package struct FolderBucket: ReleaseBucket {
    private let root: String
    private let threads: WorkThreads
    private let random: any RandomSource

    package var name: String { "the folder \(root)" }

    package init(_ root: String, threads: WorkThreads, random: any RandomSource) {
        self.root = root.count > 1 && root.hasSuffix("/") ? String(root.dropLast()) : root
        self.threads = threads
        self.random = random
    }

    package func get(_ key: String, upTo limit: Int) async throws -> BucketItem? {
        let path = root + "/" + key
        return try await threads.run {
            guard let bytes = try read(path, upTo: limit) else { return nil }
            return BucketItem(bytes: bytes, tag: TreeDigest(of: bytes).description)
        }
    }

    package func download(_ key: String, to target: String, upTo limit: Int) async throws -> Bool {
        let path = root + "/" + key
        return try await threads.run {
            guard let source = try open(path) else { return false }
            guard source.count <= limit else { throw BucketFault.tooLarge(key, limit) }
            let file = try OutputFile(target)
            try source.eachPiece { (piece: [UInt8]) throws(NacreError) in try file.write(piece) }
            try file.finish()
            return true
        }
    }

    package func size(_ key: String) async throws -> Int? {
        let path = root + "/" + key
        return try await threads.run { try open(path)?.count }
    }

    package func put(_ key: String, _ content: BucketContent, _ condition: PutCondition) async throws -> Bool {
        let temporary = ".\(random.identifier()).part"
        return try await threads.run {
            let path = root + "/" + key
            let slash = path.lastIndex(of: "/") ?? path.startIndex
            let folder = String(path[..<slash])
            try makeFolders(folder)
            let new = folder + "/" + temporary
            defer { unlink(new) }
            let file = try OutputFile(new)
            switch content {
            case .bytes(let bytes): try file.write(bytes)
            case .file(let source, _, _):
                try FileBytes(source).eachPiece { (piece: [UInt8]) throws(NacreError) in try file.write(piece) }
            }
            try file.finish()
            guard try place(new, at: path, condition) else { return false }
            syncFolder(folder)
            return true
        }
    }

    private func place(_ new: String, at path: String, _ condition: PutCondition) throws(NacreError) -> Bool {
        switch condition {
        case .ifAbsent:
            guard link(new, path) != 0 else { return true }
            guard nacre_errno() == EEXIST else { throw fault(path) }
            return false
        case .ifTag(let tag):
            let lock = nacre_lock_file(root + "/.publishing", 1, 1)
            guard lock >= 0 else { throw fault(root) }
            defer { nacre_close(lock) }
            let present = try read(path, upTo: .max).map { TreeDigest(of: $0).description }
            guard present == tag else { return false }  // guard: folder-tag
            guard rename(new, path) == 0 else { throw fault(path) }
        case .always:
            guard rename(new, path) == 0 else { throw fault(path) }
        }
        return true
    }

    package func list(_ prefix: String) async throws -> [String] {
        try await threads.run {
            let folder = prefix.lastIndex(of: "/").map { String(prefix[..<$0]) } ?? ""
            var keys: [String] = []
            try walk(folder, into: &keys)
            return keys.filter { $0.hasPrefix(prefix) }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        }
    }

    private func walk(_ folder: String, into keys: inout [String]) throws(NacreError) {
        guard let names = FolderNames.read(root + "/" + folder) else {
            if nacre_errno() == ENOENT { return }
            throw fault(root + "/" + folder)
        }
        // What begins with a dot is half a file, or not ours.
        for name in names where !name.hasPrefix(".") {
            let inside = folder.isEmpty ? name : folder + "/" + name
            var status = stat()
            guard stat(root + "/" + inside, &status) == 0 else { continue }
            if Int32(status.st_mode) & S_IFMT == S_IFDIR {
                try walk(inside, into: &keys)
            } else {
                keys.append(inside)
            }
        }
    }

    package func remove(_ key: String) async throws {
        let path = root + "/" + key
        try await threads.run {
            guard unlink(path) == 0 || nacre_errno() == ENOENT else { throw fault(path) }
        }
    }

    package func keepsConditions(_ channel: String) async throws -> Bool { true }

    package func prepare() async throws -> [String] {
        try await threads.run {
            let isNew = access(root, F_OK) != 0
            try makeFolders(root + "/channels")
            return [
                isNew ? "made: \(root)" : "there already: \(root)",
                "serve it as files, without listings of folders; channels/*/manifest.json with Cache-Control: no-cache, "
                    + "everything else with Cache-Control: public, max-age=31536000, immutable",
            ]
        }
    }

    private func makeFolders(_ path: String) throws(NacreError) {
        var partial = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            let above = partial
            partial += "/" + part
            if mkdir(partial, 0o755) == 0 {
                syncFolder(above.isEmpty ? "/" : above)
            } else if nacre_errno() != EEXIST {
                throw fault(partial)
            }
        }
    }

    private func syncFolder(_ path: String) {
        let handle = nacre_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard handle >= 0 else { return }
        fsync(handle)
        nacre_close(handle)
    }

    private func open(_ path: String) throws(NacreError) -> FileBytes? {
        guard access(path, F_OK) == 0 else {
            guard nacre_errno() == ENOENT || nacre_errno() == ENOTDIR else { throw fault(path) }
            return nil
        }
        return try FileBytes(path)
    }

    private func read(_ path: String, upTo limit: Int) throws(NacreError) -> [UInt8]? {
        guard let file = try open(path) else { return nil }
        guard file.count <= limit else { throw BucketFault.tooLarge(path, limit) }
        return try file.read(0..<file.count)
    }

    private func fault(_ path: String) -> NacreError { OutputFile.fault(path, nacre_errno()) }
}

enum BucketFault {
    static func tooLarge(_ key: String, _ limit: Int) -> NacreError {
        NacreError("bucket.too_large", "\(key) is larger than \(limit) bytes; it is not what a publisher put there.")
    }
}
