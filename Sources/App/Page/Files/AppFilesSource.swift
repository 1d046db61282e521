// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacrePorts

/// The app's own folders (`Filesystem`), by absolute paths; nothing else of the machine is there.
struct AppFilesSource: BundleSource {
    let stamp = "files"
    private let folders: [String]

    init(_ folders: [String]) { self.folders = folders }

    func file(at path: String) async throws -> BundleFile? {
        for folder in folders where path.utf8.starts(with: (folder + "/").utf8) {  // guard: page-files-confined
            guard let tree = try? FolderBundle(folder) else { continue }
            return try await tree.file(at: String(path.dropFirst(folder.count)))
        }
        return nil
    }
}
