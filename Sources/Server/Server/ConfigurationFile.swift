// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
import Foundation
package import NacreCore

/// The file with the settings, read for whoever runs the program.
package enum ConfigurationFile {
    /// Its bytes, or nil when there is none and it was not named.
    ///
    /// Root does not take a configuration that somebody else left in the folder where it happens to stand, nor one that others
    /// may change; `isNamed` says that this very file was asked for. What is looked at is what is read.
    /// - Throws: `configuration.file`, `configuration.owner`.
    package static func content(of path: String, isNamed: Bool, user: UInt32? = nil) throws(NacreError) -> [UInt8]? {
        let isCareful = (user ?? geteuid()) == 0 && !isNamed
        let descriptor = nacre_open(path, O_RDONLY | O_CLOEXEC | (isNamed ? 0 : O_NONBLOCK), 0)
        guard descriptor >= 0 else {
            if nacre_errno() == ENOENT, !isNamed { return nil }
            throw unreadable(path)
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var found = stat()
        guard nacre_describe(descriptor, &found) == 0, isNamed || nacre_is_plain_file(found.st_mode) != 0 else {
            throw unreadable(path)
        }
        if isCareful {
            var link = stat()
            guard found.st_uid == 0, found.st_mode & 0o022 == 0,  // guard: configuration-owner
                lstat(path, &link) == 0, link.st_uid == 0  // guard: configuration-link
            else {
                throw NacreError(
                    "configuration.owner",
                    "\(path) here belongs to another user, or others may change it; name it with --config if it is meant."
                )
            }
        }
        do { return [UInt8](try handle.readToEnd() ?? Data()) } catch { throw unreadable(path) }
    }

    private static func unreadable(_ path: String) -> NacreError {
        NacreError("configuration.file", "\(path) cannot be read; check the path and who may read it.")
    }
}
