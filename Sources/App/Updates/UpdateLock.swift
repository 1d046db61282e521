// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
import NacreCore

/// Tells one of several processes of an app that it is the one who writes the updater's state; ends with the process.
final class UpdateLock: Sendable {
    private let descriptor: Int32

    /// Nil when another process has it.
    init?(_ folder: String) {
        descriptor = nacre_open(folder + "/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return nil }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {  // guard: update-lock
            nacre_close(descriptor)
            return nil
        }
    }

    deinit { nacre_close(descriptor) }
}
