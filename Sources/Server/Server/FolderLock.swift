// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
import NacreCore

/// Says who uses a data folder: any number of servers share it, a restore wants it alone. Ends with the process at the latest.
final class FolderLock: Sendable {
    private let descriptor: Int32

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { nacre_close(descriptor) }

    /// Waits for the lock under which keys are made, one process after the other.
    ///
    /// - Throws: `server.data`.
    static func ofKeys(_ folder: DataFolder) throws(NacreError) -> FolderLock {
        let place = folder.file("keys.lock")
        let descriptor = nacre_lock_file(place, 1, 1)
        guard descriptor >= 0 else { throw fault(place, -descriptor) }
        return FolderLock(descriptor)
    }

    private static func fault(_ place: String, _ reason: Int32) -> NacreError {
        NacreError(
            "server.data",
            "\(place) cannot be opened (\(String(cString: nacre_error_text(reason)))); check who owns the folder.")
    }

    /// The shared lock of a server, or the one of a restore.
    ///
    /// - Throws: `server.data_in_use`, `server.data`.
    static func take(_ folder: DataFolder, exclusive: Bool) throws(NacreError) -> FolderLock {
        let place = folder.file("in-use.lock")
        let descriptor = nacre_lock_file(place, exclusive ? 1 : 0, 0)
        guard descriptor < 0 else { return FolderLock(descriptor) }
        guard -descriptor == EWOULDBLOCK else { throw fault(place, -descriptor) }
        throw NacreError(
            "server.data_in_use",
            exclusive
                ? "A server is running on \(folder.path); stop it first (systemctl stop nacre)."
                : "A restore is at work in \(folder.path); start again when it is done.")
    }
}
