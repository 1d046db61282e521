// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
package import NacreCore
import NacreUpdates

/// A new file, written piece by piece; whoever reads it before `finish` has half of it.
final class OutputFile {
    private let descriptor: Int32
    private let path: String
    private(set) var count = 0

    /// - Throws: `file.write`.
    init(_ path: String) throws(NacreError) {
        self.path = path
        descriptor = nacre_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard descriptor >= 0 else { throw Self.fault(path, nacre_errno()) }
    }

    deinit { nacre_close(descriptor) }

    func write(_ bytes: [UInt8]) throws(NacreError) {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { space in
                CLinux.write(descriptor, space.baseAddress.map { $0 + done }, space.count - done)
            }
            if count < 0, nacre_errno() == EINTR { continue }
            guard count > 0 else { throw Self.fault(path, nacre_errno()) }
            done += count
        }
        count += bytes.count
    }

    /// On the disk when this returns.
    func finish() throws(NacreError) {
        guard fsync(descriptor) == 0 else { throw Self.fault(path, nacre_errno()) }
    }

    static func fault(_ path: String, _ reason: Int32) -> NacreError {
        reason == ENOSPC || reason == EDQUOT
            ? NacreError("file.disk_full", "There is no room left to write \(path); free some and try again.")
            : NacreError(
                "file.write", "\(path) cannot be written or read (\(String(cString: nacre_error_text(reason)))).")
    }
}

/// A folder for what is made on the way, removed with its last user.
package final class WorkFolder: Sendable {
    package let path: String

    /// Makes a folder inside of `parent`.
    ///
    /// - Throws: `file.write`.
    package init(in parent: String, random: any RandomSource) throws(NacreError) {
        path = parent + "/nacre-ota-" + random.identifier()
        guard mkdir(path, 0o700) == 0 else { throw OutputFile.fault(path, nacre_errno()) }
    }

    deinit { try? SystemDisk().remove(path) }

    func file(_ name: String) -> String { path + "/" + name }
}
