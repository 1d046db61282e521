// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
package import NacreCore
import NacreCrypto
import NacreDatabase

extension Administration {
    /// Writes databases and keys into one archive, as of now, while the server goes on; then reads the archive back.
    ///
    /// The archive opens every session and holds the signing keys: it is made for this user alone, and belongs in a safe
    /// place.
    /// - Throws: `backup.*`, `database.snapshot`.
    package func backup(to place: String) async throws -> JSONValue {
        let stores = try await stores()
        guard !FileManager.default.fileExists(atPath: place) else {
            throw NacreError("backup.exists", "\(place) is there already; choose another name.")
        }
        return try await WorkThreads(limit: 1).run { try write(stores, to: place) }
    }

    private func write(_ stores: ServerStores, to place: String) throws -> JSONValue {
        let manager = FileManager.default
        let work = place + ".work"
        do {
            try manager.createDirectory(
                atPath: work, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        } catch {
            throw NacreError(
                "backup.write",
                "The folder \(work) cannot be made; remove what is left of an earlier backup, or choose "
                    + "a folder that can be written.", cause: error)
        }
        defer { try? manager.removeItem(atPath: work) }
        let now = time.now
        var manifest = BackupManifest(
            program: ServerConfiguration.version, madeAt: now.milliseconds, installation: stores.keys.installation)
        var sources: [(name: String, path: String)] = []
        for name in try BackupManifest.files(in: stores.folder.path) {
            let path = stores.folder.file(name)
            // Under the name of its own below.
            if configuration.isDatabase(path) { continue }
            guard name.hasSuffix(".sqlite") else {
                sources.append((name, path))
                continue
            }
            let copy = work + "/" + name
            try SQLiteSnapshot.write(path, to: copy)
            manifest.schemas[name] = try SQLiteSnapshot.versions(copy)
            sources.append((name, copy))
        }
        if let database = configuration.databaseFile {
            let copy = work + "/" + BackupManifest.database
            try SQLiteSnapshot.write(database, to: copy)
            manifest.schemas[BackupManifest.database] = try SQLiteSnapshot.versions(copy)
            sources.append((BackupManifest.database, copy))
        }
        if let secret = configuration.secret, !sources.contains(where: { $0.name == "secret.key" }) {
            // Kept elsewhere, but without it nothing of the rest opens.
            try PrivateFile.replace(work + "/secret.key", Array(secret.utf8))
            sources.append(("secret.key", work + "/secret.key"))
        }
        if let postgres = configuration.postgres {
            let copy = work + "/" + BackupManifest.dump
            try PostgresTools(postgres, environment: environment, scratch: work).dump(to: copy)
            sources.append((BackupManifest.dump, copy))
        }
        for source in sources {
            let (size, digest) = try TarArchive.digest(of: source.path)
            manifest.files.append(TarArchive.Entry(name: source.name, size: size, digest: digest))
        }
        let draft = work + "/archive"
        guard manager.createFile(atPath: draft, contents: nil, attributes: [.posixPermissions: 0o600]) else {
            throw NacreError("backup.write", "\(draft) cannot be written; check the folder and the disk.")
        }
        let archive = try FileHandle(forWritingTo: URL(filePath: draft))
        defer { try? archive.close() }
        try TarArchive.append(BackupManifest.name, manifest.json.bytes, to: archive, at: now)
        for source in sources { try TarArchive.append(source.name, file: source.path, to: archive, at: now) }
        try TarArchive.finish(archive)
        // A backup that nobody ever read is none.
        let read = try BackupManifest.read(draft, into: nil)
        guard read == manifest else { throw TarArchive.damaged(place, "it differs from what was written") }
        try manager.moveItem(atPath: draft, toPath: place)
        return [
            "backup": .string(place), "files": .array(manifest.files.map { .string($0.name) }),
            "bytes": JSONValue(manifest.files.reduce(0) { $0 + $1.size }),
        ]
    }
}

/// What stands first in a backup: what is in it and where it comes from.
struct BackupManifest: Equatable, Sendable {
    static let name = "manifest.json"
    /// The SQLite database that the configuration names.
    static let database = "configured.sqlite"
    /// The dump of a PostgreSQL database.
    static let dump = "postgres.dump"
    private static let format: Int64 = 1

    /// The version of the program that made it.
    var program: String
    var madeAt: Int64
    /// Which installation it is of.
    var installation: String
    /// By file, the version of each component's tables.
    var schemas: [String: [String: Int]] = [:]
    var files: [TarArchive.Entry] = []

    /// Where the tables of the installation were; nil when there are none in it.
    var databasePlace: DatabasePlace? {
        func has(_ name: String) -> Bool { files.contains { $0.name == name } }
        if has(Self.dump) { return has(Self.database) ? nil : .postgres }
        return has(Self.database) ? .file : has("gateway.sqlite") ? .folder : nil
    }

    /// The files of a data folder that belong into a backup.
    static func files(in folder: String) throws -> [String] {
        let manager = FileManager.default
        return try manager.contentsOfDirectory(atPath: folder).sorted().filter { name in
            let attributes = try manager.attributesOfItem(atPath: folder + "/" + name)
            guard attributes[.type] as? FileAttributeType == .typeRegular, TarArchive.isPlain(name) else {
                return false
            }
            return !["-wal", "-shm", "-journal", ".lock", ".new", ".incomplete"].contains { name.hasSuffix($0) }
        }
    }

    var json: JSONValue {
        [
            "format": .integer(Self.format), "program": .string(program), "madeAt": .integer(madeAt),
            "installation": .string(installation),
            "schemas": .object(
                schemas.mapValues { .object($0.mapValues { .integer(Int64($0)) }) }),
            "files": .array(
                files.map {
                    ["name": .string($0.name), "size": JSONValue($0.size), "sha256": .string($0.digest)]
                }),
        ]
    }

    init(program: String, madeAt: Int64, installation: String) {
        self.program = program
        self.madeAt = madeAt
        self.installation = installation
    }

    private init(_ json: JSONValue, _ path: String) throws(NacreError) {
        guard let format = json["format"]?.integer else { throw TarArchive.damaged(path, "its manifest is none") }
        guard format == Self.format else {
            throw NacreError(
                "restore.newer", "\(path) was written by a newer program (format \(format)); install that one first.")
        }
        program = json["program"]?.string ?? ""
        madeAt = json["madeAt"]?.integer ?? 0
        installation = json["installation"]?.string ?? ""
        for (file, components) in json["schemas"]?.object ?? [:] {
            schemas[file] = (components.object ?? [:]).compactMapValues { $0.integer.map { Int($0) } }
        }
        for file in json["files"]?.array ?? [] {
            guard let name = file["name"]?.string, let size = file["size"]?.integer, size >= 0,
                let digest = file["sha256"]?.string
            else { throw TarArchive.damaged(path, "its manifest is none") }
            files.append(TarArchive.Entry(name: name, size: UInt64(size), digest: digest))
        }
    }

    /// Reads a whole archive, writing its files into `folder` where one is given.
    ///
    /// - Throws: `backup.damaged` unless every file is exactly the one that was backed up.
    static func read(_ path: String, into folder: String?) throws -> BackupManifest {
        guard FileManager.default.fileExists(atPath: path) else {
            throw NacreError("restore.missing", "There is no backup \(path); check the path.")
        }
        let scratch = folder ?? NSTemporaryDirectory() + "nacre-manifest-\(UUID().uuidString)"
        if folder == nil {
            try FileManager.default.createDirectory(
                atPath: scratch, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        }
        defer { if folder == nil { try? FileManager.default.removeItem(atPath: scratch) } }
        var entries = try TarArchive.read(path) { $0 == name || folder != nil ? scratch + "/" + $0 : nil }
        guard entries.first?.name == name, let text = FileManager.default.contents(atPath: scratch + "/" + name),
            let json = try? JSONParser.parse([UInt8](text))
        else { throw TarArchive.damaged(path, "it has no manifest") }
        entries.removeFirst()
        let manifest = try BackupManifest(json, path)
        guard manifest.files == entries else {  // guard: backup-sums
            throw TarArchive.damaged(path, "its files are not those of its manifest")
        }
        if folder != nil { try FileManager.default.removeItem(atPath: scratch + "/" + name) }
        return manifest
    }
}
