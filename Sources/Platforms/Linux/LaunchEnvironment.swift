// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Glibc

/// What this process was started with.
package enum LaunchEnvironment {
    /// Removes a secret, so that neither a child nor `/proc/<pid>/environ` tells it.
    ///
    /// Call it before any other thread runs, and after the value was copied.
    package static func forget(_ name: String) {
        guard let value = getenv(name) else { return }
        // The kernel shows the very bytes a process was started with, whatever unsetenv does to the list of pointers.
        explicit_bzero(value, strlen(value))  // guard: launch-secret-bytes
        unsetenv(name)  // guard: launch-secret-inherited
    }
}
