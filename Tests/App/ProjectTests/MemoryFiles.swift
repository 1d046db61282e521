// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreProject

/// A project's folder in memory.
struct MemoryFiles: ProjectFiles {
    var files: [String: String]

    init(_ files: [String: String]) { self.files = files }

    func read(_ path: String, upTo limit: Int) throws(NacreError) -> [UInt8]? {
        guard let text = files[path] else { return nil }
        guard text.utf8.count <= limit else { throw NacreError("init.file_too_large", "\(path) is too large.") }
        return Array(text.utf8)
    }

    func names(in folder: String) -> [String]? {
        let prefix = folder == "." ? "" : folder + "/"
        var found: Set<String> = []
        for path in files.keys where path.hasPrefix(prefix) {
            let rest = path.dropFirst(prefix.count)
            found.insert(rest.contains("/") ? rest.prefix { $0 != "/" } + "/" : String(rest))
        }
        return found.isEmpty && folder != "." ? nil : found.sorted()
    }
}
