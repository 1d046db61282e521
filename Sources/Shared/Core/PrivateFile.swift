// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux

/// Small files that belong to one user alone: whole or not there, on disk when the call returns.
///
/// Calls block for a disk write; make them off the cooperative pool.
package enum PrivateFile {
    /// Puts `bytes` in the place of whatever is at `path`: a new file beside it (0600), synced, renamed over it, and
    /// the folder synced.
    ///
    /// - Throws: `file.disk_full`, `file.write`.
    package static func replace(_ path: String, _ bytes: [UInt8]) throws(NacreError) {
        let temporary = path + ".new"
        unlink(temporary)
        let file = nacre_open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw fault(path, nacre_errno()) }
        var reason: Int32 = 0
        var offset = 0
        while offset < bytes.count, reason == 0 {
            let count = bytes[offset...].withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
            if count >= 0 { offset += count } else if nacre_errno() != EINTR { reason = nacre_errno() }
        }
        if reason == 0, fsync(file) != 0 { reason = nacre_errno() }
        close(file)
        if reason == 0, rename(temporary, path) != 0 { reason = nacre_errno() }
        guard reason == 0 else {
            unlink(temporary)
            throw fault(path, reason)
        }
        syncFolder(of: path)
    }

    /// The bytes of the file, or nil when there is none.
    ///
    /// - Throws: `file.read` when it cannot be read or is larger than `limit`.
    package static func read(_ path: String, upTo limit: Int) throws(NacreError) -> [UInt8]? {
        let file = nacre_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard file >= 0 else {
            if nacre_errno() == ENOENT { return nil }
            throw NacreError("file.read", "\(path) cannot be read (error \(nacre_errno())); check who owns it.")
        }
        defer { close(file) }
        var result: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = buffer.withUnsafeMutableBytes { CLinux.read(file, $0.baseAddress, $0.count) }
            if count == 0 { return result }
            if count < 0 {
                if nacre_errno() == EINTR { continue }
                throw NacreError("file.read", "\(path) cannot be read (error \(nacre_errno())).")
            }
            result += buffer[..<count]
            guard result.count <= limit else {
                throw NacreError("file.read", "\(path) is larger than \(limit) bytes; it is not what the app wrote.")
            }
        }
    }

    /// Removes the file; harmless when there is none.
    package static func remove(_ path: String) throws(NacreError) {
        guard unlink(path) == 0 || nacre_errno() == ENOENT else { throw fault(path, nacre_errno()) }
        syncFolder(of: path)
    }

    /// Makes the folder and its parents where they are missing, and keeps everyone else out of it (0700), also when it
    /// was there before.
    ///
    /// - Throws: `file.folder`.
    package static func makeFolder(_ path: String) throws(NacreError) {
        var partial = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            partial += "/" + part
            guard mkdir(partial, 0o700) == 0 || nacre_errno() == EEXIST else {
                throw NacreError("file.folder", "The folder \(partial) cannot be made (error \(nacre_errno())).")
            }
        }
        guard chmod(path, 0o700) == 0 else {
            throw NacreError("file.folder", "The folder \(path) cannot be made private (error \(nacre_errno())).")
        }
    }

    private static func syncFolder(of path: String) {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let handle = nacre_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard handle >= 0 else { return }
        fsync(handle)
        close(handle)
    }

    /// What a write that failed with this error number means for whoever wanted it.
    package static func fault(_ path: String, _ reason: Int32) -> NacreError {
        reason == ENOSPC || reason == EDQUOT
            ? NacreError("file.disk_full", "There is no room left to write \(path); free some and try again.")
            : NacreError("file.write", "\(path) cannot be written (error \(reason)); check that its folder can be.")
    }
}
