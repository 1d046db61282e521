// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
import NacreCore
import Synchronization

/// A file that is being written and belongs to one user (0600). Removed with its last user unless it was kept.
///
/// Calls block for the disk; make them off the cooperative pool.
final class PartialFile: Sendable {
    let path: String
    private let descriptor: Int32
    /// Whether nothing is left to remove: it has its name, or is gone.
    private let kept = Mutex(false)

    /// A new, empty file; whatever was there is gone, a link is not followed.
    ///
    /// - Throws: `file.disk_full`, `file.write`.
    init(_ path: String) throws(NacreError) {
        unlink(path)
        let file = nacre_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw Self.fault(nacre_errno()) }
        self.path = path
        descriptor = file
    }

    deinit {
        nacre_close(descriptor)
        if !kept.withLock({ $0 }) { unlink(path) }
    }

    /// Writes all of `bytes` at `offset`.
    func write(_ bytes: [UInt8], at offset: Int) throws(NacreError) {
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes {
                pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset + done))
            }
            if count >= 0 { done += count } else if nacre_errno() != EINTR { throw Self.fault(nacre_errno()) }
        }
    }

    /// Throws away everything from `size` on.
    func cut(to size: Int) throws(NacreError) {
        guard ftruncate(descriptor, off_t(size)) == 0 else { throw Self.fault(nacre_errno()) }
    }

    /// Removes it at once, whoever still holds it.
    func remove() {
        kept.withLock { kept in
            if !kept { unlink(path) }
            kept = true
        }
    }

    /// Puts it under its name, whole and on disk.
    func finish(as name: String) throws(NacreError) {
        guard fsync(descriptor) == 0, rename(path, name) == 0 else { throw Self.fault(nacre_errno()) }
        kept.withLock { $0 = true }
    }

    /// Bytes that can still be written in the folder of `path`.
    static func freeBytes(beside path: String) -> Int {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let free = nacre_free_bytes(folder)
        return free < 0 ? .max : Int(clamping: free)
    }

    static func fault(_ reason: Int32) -> NacreError {
        reason == ENOSPC || reason == EDQUOT || reason == EFBIG
            ? full
            : NacreError("file.write", "The download cannot be written (\(String(cString: nacre_error_text(reason)))).")
    }

    static var full: NacreError {
        NacreError("file.disk_full", "There is no room left for the download; free some and try again.")
    }
}
