// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
public import NacreCore
import NacreCrypto

/// A file on the disk as bytes to read from; closed with its last user.
public final class FileBytes: RandomAccessBytes {
    public let count: Int
    private let descriptor: Int32

    /// Opens a plain file; links are not followed.
    ///
    /// - Throws: `file.read`.
    public convenience init(_ path: String) throws(NacreError) {
        try self.init(
            nacre_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0),
            or: "\(path) cannot be read as a file; check that it is one, and no link.")
    }

    /// An open file, whatever its name means by now. The descriptor is taken over, and closed also where this throws.
    ///
    /// - Throws: `file.read`.
    package convenience init(adopting open: Int32) throws(NacreError) {
        try self.init(open, or: "A file that was written cannot be read; it is closed, or none.")
    }

    private init(_ open: Int32, or fault: String) throws(NacreError) {
        descriptor = open
        var status = stat()
        guard open >= 0, fstat(open, &status) == 0, status.st_mode & mode_t(S_IFMT) == mode_t(S_IFREG) else {
            if open >= 0 { nacre_close(open) }
            throw NacreError("file.read", fault)
        }
        count = Int(status.st_size)
    }

    deinit { nacre_close(descriptor) }

    public func read(_ range: Range<Int>) throws(NacreError) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: range.count)
        var done = 0
        while done < out.count {
            let count = out.withUnsafeMutableBytes { space in
                pread(
                    descriptor, space.baseAddress.map { $0 + done }, space.count - done, off_t(range.lowerBound + done))
            }
            if count < 0, nacre_errno() == EINTR { continue }
            guard count > 0 else {
                throw NacreError("file.read", "A file became shorter while it was read.")
            }
            done += count
        }
        return out
    }
}

/// A tree as a folder on the disk.
public struct TreeFolder: Sendable {
    /// The folder, without a slash at its end.
    public let path: String

    public init(_ path: String) { self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path }

    /// Where a file of the tree is.
    public func file(_ path: ReleasePath) -> String { self.path + "/" + path.text }

    /// The bytes of a file of the tree.
    public func bytes(_ file: ReleaseFile) throws(NacreError) -> [UInt8] {
        let bytes = try FileBytes(self.file(file.path))
        return try bytes.read(0..<bytes.count)
    }

    /// Reads every file and gives the tree they are.
    ///
    /// What a build leaves beside its files for others is not taken along: `.DS_Store` and the like, and a file's packed
    /// twins (`app.js.gz`, `app.js.br`) and source map, which other servers send and the app does not.
    /// - Throws: `release.folder` for a link or anything that is no plain file; `release.*`, `file.read`.
    public func measure(limits: ReleaseLimits = ReleaseLimits()) throws(NacreError) -> ReleaseTree {
        var files: [ReleaseFile] = []
        try walk("", into: &files, limits: limits)
        return try ReleaseTree(files, limits: limits)
    }

    private static let left: Set<String> = [".DS_Store", "Thumbs.db", ".git", ".gitignore", ".gitkeep"]

    private static func isTwin(_ name: String, among names: Set<String>) -> Bool {
        [".gz", ".br", ".map"].contains { name.hasSuffix($0) && names.contains(String(name.dropLast($0.count))) }
    }

    private func walk(_ folder: String, into files: inout [ReleaseFile], limits: ReleaseLimits) throws(NacreError) {
        let place = folder.isEmpty ? path : path + "/" + folder
        guard let names = FolderNames.read(place).map(Set.init) else {
            throw NacreError("release.folder", "The folder \(place) cannot be read; check that it exists.")
        }
        for name in names where !Self.left.contains(name) {
            let inside = folder.isEmpty ? name : folder + "/" + name
            var status = stat()
            guard lstat(path + "/" + inside, &status) == 0 else {
                throw NacreError("release.folder", "\(inside) cannot be read.")
            }
            switch Int32(status.st_mode) & S_IFMT {
            case S_IFDIR: try walk(inside, into: &files, limits: limits)
            case S_IFREG:
                guard !Self.isTwin(name, among: names) else { continue }
                files.append(try file(at: inside))
                guard files.count <= limits.files else {
                    throw NacreError("release.too_large", "The folder has more than \(limits.files) files.")
                }
            default:  // guard: folder-link
                throw NacreError(
                    "release.folder", "\(inside) is a link or no file; a release holds plain files only. Copy it in.")
            }
        }
    }

    private func file(at inside: String) throws(NacreError) -> ReleaseFile {
        let path = try ReleasePath(inside)
        let bytes = try FileBytes(file(path))
        return ReleaseFile(path: path, digest: try TreeDigest(of: bytes), size: bytes.count)
    }
}

extension TreeDigest {
    /// The digest of bytes that are read piece by piece.
    ///
    /// - Throws: `file.read`.
    public init(of bytes: any RandomAccessBytes) throws(NacreError) {
        var hasher = SHA256Hasher()
        try bytes.eachPiece { (piece: [UInt8]) throws(NacreError) in hasher.update(piece) }
        guard let digest = TreeDigest(bytes: hasher.finish()) else { preconditionFailure("SHA-256 has 32 bytes") }
        self = digest
    }
}
