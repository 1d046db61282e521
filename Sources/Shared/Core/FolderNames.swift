// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux

/// What a folder holds. The call blocks; make it off the cooperative pool.
package enum FolderNames {
    /// The names in a folder, in no order; nil where it cannot be opened, and the system's error number says why.
    package static func read(_ path: String) -> [String]? {
        guard let stream = opendir(path) else { return nil }
        defer { closedir(stream) }
        var names: [String] = []
        while let next = readdir(stream) {
            let name = withUnsafePointer(to: &next.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
