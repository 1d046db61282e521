// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// The files of a project's folder; paths are relative to it and never lead out of it.
package protocol ProjectFiles {
    /// The content of a file; nil when there is none, or no readable one.
    ///
    /// - Throws: `init.file_too_large`.
    func read(_ path: String, upTo limit: Int) throws(NacreError) -> [UInt8]?
    /// The names in a folder, folders with a `/` at the end; nil when there is no such folder. Links to folders are left out.
    func names(in folder: String) -> [String]?
}

extension ProjectFiles {
    func text(_ path: String, upTo limit: Int = 1 << 20) -> String? {
        guard let bytes = try? read(path, upTo: limit) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    func json(_ path: String) -> JSONValue? {
        guard let bytes = try? read(path, upTo: 1 << 20) else { return nil }
        return try? JSONParser.parse(bytes)
    }

    func exists(_ path: String) -> Bool {
        let cut = path.lastIndex(of: "/")
        let folder = cut.map { String(path[..<$0]) } ?? "."
        let name = cut.map { String(path[path.index(after: $0)...]) } ?? path
        return names(in: folder)?.contains(name) ?? false
    }
}
