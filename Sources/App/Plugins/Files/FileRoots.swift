// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreBridge
package import NacreCore
import NacreHTTP

/// One file or folder below a root.
package struct FilePlace: Sendable, Equatable {
    package let root: String
    /// Names below the root, none of them `.` or `..`.
    package let names: [String]

    package var absolute: String { ([root] + names).joined(separator: "/") }
    /// As a `file:` URI.
    package var uri: String {
        "file://" + absolute.split(separator: "/").map { "/" + PercentEncoding.encode($0) }.joined()
    }
}

/// The folders of the app that a page may read and write, by the names of Capacitor's `Directory`.
///
/// All are the app's own: a page needs no permission for them, and reaches nothing else of the person's files.
package struct FileRoots: Sendable {
    private let byName: [String: String]
    /// The folders, each once.
    package let folders: [String]

    /// - Parameters:
    ///   - files: what stays until the app is removed.
    ///   - cache: what the system may delete.
    package init(files: String, cache: String) {
        let documents = files + "/documents"
        byName = [
            "DOCUMENTS": documents, "EXTERNAL": documents, "EXTERNAL_STORAGE": documents, "DATA": files + "/data",
            "LIBRARY": files + "/library", "LIBRARY_NO_CLOUD": files + "/library-no-cloud",
            "CACHE": cache + "/cache", "EXTERNAL_CACHE": cache + "/cache", "TEMPORARY": cache + "/temporary",
        ]
        folders = Set(byName.values).sorted()
    }

    /// Makes the folders where they are missing, private to the user.
    ///
    /// - Throws: `file.folder`.
    package func make() throws(NacreError) {
        for folder in folders { try PrivateFile.makeFolder(folder) }
    }

    /// The place of a path below a directory, or, without one, of a `file:` URI or an absolute path.
    ///
    /// - Throws: a `BridgeRejection` with Capacitor's code for a path that is none or that leads out.
    package func place(of path: String, in directory: String?) throws -> FilePlace {
        guard path.utf8.count <= 4096, !path.utf8.contains(0) else { throw FileFault.path.rejection("the path") }
        if let directory {
            guard let root = byName[directory] else {
                throw FileFault.input.rejection("{directory}: \(directory) is no directory of Capacitor's")
            }
            return FilePlace(root: root, names: try Self.names(path[...]))
        }
        var absolute = path
        if path.hasPrefix("file://") {
            guard let decoded = PercentEncoding.decode(path.dropFirst("file://".count)), !decoded.utf8.contains(0)
            else {
                throw FileFault.path.rejection("\(path)")
            }
            absolute = decoded
        }
        guard absolute.hasPrefix("/") else {
            throw FileFault.path.rejection("\(path): without {directory} it must be a file: URI")
        }
        let names = try Self.names(absolute[...])
        for root in folders {
            let own = root.split(separator: "/").map(String.init)
            if names.starts(with: own) { return FilePlace(root: root, names: Array(names.dropFirst(own.count))) }
        }
        throw FileFault.permission.rejection("\(path) is none of the app's files")  // guard: files-outside
    }

    private static func names(_ path: Substring) throws -> [String] {
        // In bytes: a combining mark behind a slash makes another character of it.
        let names = path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }.filter { $0 != "." }
        guard !names.contains("..") else { throw FileFault.path.rejection("\(path)") }  // guard: files-traversal
        return names
    }
}

/// What can go wrong with a file, by the codes of Capacitor's `Filesystem` 8.
enum FileFault: String {
    case input = "OS-PLUG-FILE-0005"
    case path = "OS-PLUG-FILE-0006"
    case permission = "OS-PLUG-FILE-0007"
    case missing = "OS-PLUG-FILE-0008"
    case notAllowed = "OS-PLUG-FILE-0009"
    case exists = "OS-PLUG-FILE-0010"
    case parentMissing = "OS-PLUG-FILE-0011"
    case notEmpty = "OS-PLUG-FILE-0012"
    case other = "OS-PLUG-FILE-0013"

    /// The rejection of a call over `what`.
    func rejection(_ what: String) -> BridgeRejection {
        let reason =
            switch self {
            case .input: "The input parameters aren't valid"
            case .path: "Invalid path"
            case .permission: "Unable to do file operation, permission denied"
            case .missing: "File does not exist"
            case .notAllowed: "Operation not available for this file"
            case .exists: "Directory already exists, cannot be overwritten"
            case .parentMissing: "Missing parent directory, possibly recursive=false was passed"
            case .notEmpty: "Cannot delete directory with children; received recursive=false"
            case .other: "Operation failed"
            }
        return BridgeRejection(code: rawValue, message: "\(reason): \(what).")
    }
}
