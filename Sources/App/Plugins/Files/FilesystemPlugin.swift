// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreBridge
package import NacreCore

/// Capacitor's `Filesystem` over the app's own folders. What a page writes is whole or not there; one call after the
/// other, in the order of the calls.
package struct FilesystemPlugin: BridgePlugin {
    /// Beyond this a page reads in chunks, or shows the file by `convertFileSrc`.
    static let largestRead = 32 * 1024 * 1024

    package let name = "Filesystem"
    package let methods = [
        BridgeMethod("checkPermissions"), BridgeMethod("requestPermissions"), BridgeMethod("readFile"),
        BridgeMethod("readFileInChunks", .callback), BridgeMethod("writeFile"), BridgeMethod("appendFile"),
        BridgeMethod("deleteFile"), BridgeMethod("mkdir"), BridgeMethod("rmdir"), BridgeMethod("readdir"),
        BridgeMethod("getUri"), BridgeMethod("stat"), BridgeMethod("rename"), BridgeMethod("copy"),
    ]
    private let roots: FileRoots
    private let random: any RandomSource
    private let disk = WorkThreads(limit: 1, waiting: 4096)

    package init(roots: FileRoots, random: any RandomSource) {
        self.roots = roots
        self.random = random
    }

    package func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        switch method {
        // The app's own folders need no permission.
        case "checkPermissions", "requestPermissions": return ["publicStorage": "granted"]
        case "rename", "copy":
            let from = try place(options, "from", "directory")
            let to = try place(options, "to", options["toDirectory"]?.string == nil ? "directory" : "toDirectory")
            let random = random
            return try await disk.run {
                method == "copy"
                    ? try FileWork.copy(from, to, random: random) : try FileWork.rename(from, to)
            }
        case "readFileInChunks": return try await readInChunks(options, call)
        default: break
        }
        let place = try place(options, "path", "directory")
        let random = random
        return try await disk.run { try FileWork.run(method, place, options, random: random) }
    }

    private func place(_ options: JSONValue, _ path: String, _ directory: String) throws -> FilePlace {
        guard let text = options[path]?.string else { throw FileFault.input.rejection("{\(path)} is missing") }
        return try roots.place(of: text, in: options[directory]?.string)
    }

    /// Whole groups of three bytes, so that the base64 texts can be joined; an empty text is the end.
    private func readInChunks(_ options: JSONValue, _ call: BridgeCallContext) async throws -> JSONValue {
        let place = try place(options, "path", "directory")
        let encoding = try FileText.named(options["encoding"])
        guard encoding != .utf16 else { throw FileFault.input.rejection("utf16 is read as a whole only") }
        guard let size = options["chunkSize"]?.integer, (1...Int64(Self.largestRead)).contains(size) else {
            throw FileFault.input.rejection("{chunkSize} is a number of bytes")
        }
        let step = encoding == nil ? max(3, Int(size) / 3 * 3) : max(4, Int(size))
        var offset = 0
        while true {
            let from = offset
            let bytes = try await disk.run {
                let (folder, name) = try ConfinedFolder.parent(of: place)
                let bytes = try folder.bytes(of: name, from: from, upTo: step)
                guard encoding == .utf8, bytes.count == step else { return bytes }
                return FileWork.wholeCharacters(bytes)
            }
            try Task.checkCancellation()
            if bytes.isEmpty { return ["data": ""] }
            await call.send(["data": .string(FileText.text(bytes, encoding))])
            offset += bytes.count
        }
    }
}

/// The blocking half.
enum FileWork {
    static func run(
        _ method: String, _ place: FilePlace, _ options: JSONValue, random: any RandomSource
    ) throws -> JSONValue {
        let recursive = options["recursive"]?.bool ?? false
        switch method {
        case "readFile": return try read(place, options)
        case "writeFile", "appendFile":
            let encoding = try FileText.named(options["encoding"])
            guard let data = options["data"]?.string else { throw FileFault.input.rejection("{data} is missing") }
            let bytes = try FileText.bytes(data, encoding)
            let (folder, name) = try ConfinedFolder.parent(of: place, makes: recursive)
            if method == "appendFile" {
                try folder.append(name, bytes)
                return .null
            }
            try folder.replace(name, bytes, random: random)
            return ["uri": .string(place.uri)]
        case "deleteFile":
            let (folder, name) = try ConfinedFolder.parent(of: place)
            guard let entry = try folder.entry(name) else { throw FileFault.missing.rejection(place.absolute) }
            guard !entry.isFolder, unlinkAt(folder, name) else { throw FileFault.notAllowed.rejection(place.absolute) }
            return .null
        case "mkdir":
            let (folder, name) = try ConfinedFolder.parent(of: place, makes: recursive)
            try makeFolder(folder, name)
            return .null
        case "rmdir":
            let (folder, name) = try ConfinedFolder.parent(of: place)
            guard let entry = try folder.entry(name) else { throw FileFault.missing.rejection(place.absolute) }
            guard entry.isFolder else { throw FileFault.notAllowed.rejection(place.absolute) }
            try folder.removeFolder(name, recursive: recursive)
            return .null
        case "readdir":
            let entries = try ConfinedFolder.at(place).entries()
            return [
                "files": .array(
                    entries.map { info($0, FilePlace(root: place.root, names: place.names + [$0.name])) })
            ]
        case "getUri": return ["uri": .string(place.uri)]
        default:
            guard !place.names.isEmpty else {
                return info(
                    try ConfinedFolder.at(place).ownEntry(String(place.root.split(separator: "/").last ?? "")), place)
            }
            let (folder, name) = try ConfinedFolder.parent(of: place)
            guard let entry = try folder.entry(name) else { throw FileFault.missing.rejection(place.absolute) }
            return info(entry, place)
        }
    }

    private static func read(_ place: FilePlace, _ options: JSONValue) throws -> JSONValue {
        let encoding = try FileText.named(options["encoding"])
        let (folder, name) = try ConfinedFolder.parent(of: place)
        guard let entry = try folder.entry(name) else { throw FileFault.missing.rejection(place.absolute) }
        let offset = max(0, options["offset"]?.integer.map { Int(clamping: $0) } ?? 0)
        let asked = options["length"]?.integer.map { Int(clamping: $0) } ?? Int(entry.size)
        let length = min(max(0, asked), max(0, Int(entry.size) - offset))
        guard length <= FilesystemPlugin.largestRead else {  // guard: files-read-limit
            throw FileFault.other.rejection("\(name) is larger than 32 MB; use readFileInChunks or convertFileSrc")
        }
        let bytes = try folder.bytes(of: name, from: offset, upTo: length)
        return ["data": .string(FileText.text(bytes, encoding))]
    }

    /// Without the beginning of a character that the next chunk completes.
    static func wholeCharacters(_ bytes: [UInt8]) -> [UInt8] {
        for back in 1...min(3, bytes.count) {
            let byte = bytes[bytes.count - back]
            if byte & 0xC0 == 0x80 { continue }
            let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
            return length > back && back < bytes.count ? Array(bytes.dropLast(back)) : bytes
        }
        return bytes
    }

    private static func info(_ entry: ConfinedFolder.Entry, _ place: FilePlace) -> JSONValue {
        [
            "name": .string(entry.name), "type": entry.isFolder ? "directory" : "file", "size": .integer(entry.size),
            "ctime": .integer(entry.changed), "mtime": .integer(entry.modified), "uri": .string(place.uri),
        ]
    }

    static func rename(_ from: FilePlace, _ to: FilePlace) throws -> JSONValue {
        let (source, name) = try ConfinedFolder.parent(of: from)
        guard try source.entry(name) != nil else { throw FileFault.missing.rejection(from.absolute) }
        let (target, newName) = try ConfinedFolder.parent(of: to)
        if let there = try target.entry(newName), there.isFolder { throw FileFault.exists.rejection(to.absolute) }
        try moveAt(source, name, target, newName)
        return .null
    }

    static func copy(_ from: FilePlace, _ to: FilePlace, random: any RandomSource) throws -> JSONValue {
        let (source, name) = try ConfinedFolder.parent(of: from)
        guard let entry = try source.entry(name) else { throw FileFault.missing.rejection(from.absolute) }
        let (target, newName) = try ConfinedFolder.parent(of: to)
        guard from != to else { return ["uri": .string(to.uri)] }
        if entry.isFolder {
            let inside = from.root == to.root && to.names.starts(with: from.names)
            guard !inside else { throw FileFault.notAllowed.rejection("a directory cannot be copied into itself") }
            try copyFolder(source, name, target, newName, random)
        } else {
            try copyFile(source, name, target, newName, random)
        }
        return ["uri": .string(to.uri)]
    }

    private static func copyFolder(
        _ source: ConfinedFolder, _ name: String, _ target: ConfinedFolder, _ newName: String,
        _ random: any RandomSource
    ) throws {
        try makeFolder(target, newName)
        let (from, to) = (try source.folder(name), try target.folder(newName))
        for entry in try from.entries() {
            if entry.isFolder {
                try copyFolder(from, entry.name, to, entry.name, random)
            } else {
                try copyFile(from, entry.name, to, entry.name, random)
            }
        }
    }
}
