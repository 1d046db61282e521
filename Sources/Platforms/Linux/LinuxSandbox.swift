// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Glibc

/// What confines the process.
package enum LinuxSandbox {
    /// Flatpak or Snap: the desktop is reached through portals only.
    package static var isSandboxed: Bool {
        access("/.flatpak-info", F_OK) == 0 || getenv("SNAP_NAME") != nil
    }

    /// False when the kernel's own switches forbid user namespaces, without which WebKit's sandbox cannot start. True is
    /// no promise: a container may forbid them by other means.
    package static func allowsUserNamespaces() -> Bool {
        LinuxFiles.firstLine("/proc/sys/kernel/unprivileged_userns_clone") != "0"
            && LinuxFiles.firstLine("/proc/sys/user/max_user_namespaces") != "0"
    }
}

/// Small files of the system.
enum LinuxFiles {
    /// The start of a file, at most 64 KB; nil when it cannot be read.
    static func text(_ path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
            count = max(0, read(file, buffer.baseAddress, buffer.count))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func firstLine(_ path: String) -> String? {
        guard let line = text(path)?.split(separator: "\n").first else { return nil }
        let end = line.lastIndex { $0 != " " && $0 != "\t" }
        return end.map { String(line[...$0]) }
    }
}
