// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
package import NacreCore
import NacreCrypto
import NacreDatabase

extension Administration {
    /// Puts a backup in the place of what is in the data folder, which is kept beside it.
    ///
    /// Without `force` it refuses while a server runs, over data that a newer program has written, and over another
    /// installation's data.
    /// - Throws: `restore.*`, `backup.damaged`, `server.data_in_use`.
    package func restore(from place: String, force: Bool) async throws -> JSONValue {
        let folder = try DataFolder(configuration.data)
        let lock: FolderLock?
        do { lock = try FolderLock.take(folder, exclusive: true) } catch {
            guard force, error.code == "server.data_in_use" else { throw error }  // guard: restore-running
            lock = nil
        }
        defer { withExtendedLifetime(lock) {} }
        let staging = folder.file("restore-staging")
        try? FileManager.default.removeItem(atPath: staging)
        defer { try? FileManager.default.removeItem(atPath: staging) }
        try await tryOut(place, in: staging, folder, force: force)
        let kept = try await WorkThreads(limit: 1).run { try swap(place, staging, folder) }
        giveToOwner()
        return [
            "restored": .string(place), "into": .string(folder.path), "kept": JSONValue(kept),
            "restartNeeded": .bool(lock == nil),
        ]
    }

    /// Reads the backup once, checks it against what is there, and puts a server together on a copy of it: what this
    /// program cannot run does not get into the data folder.
    private func tryOut(_ place: String, in staging: String, _ folder: DataFolder, force: Bool) async throws {
        let manifest = try await WorkThreads(limit: 1).run {
            try Self.makePrivate(staging)
            return try BackupManifest.read(place, into: staging)
        }
        if !force { try compare(manifest, place, folder) }
        for name in manifest.schemas.keys { try SQLiteSnapshot.check(staging + "/" + name) }
        guard configuration.postgres == nil else { return }
        guard !manifest.files.contains(where: { $0.name == BackupManifest.dump }) else {
            throw NacreError(
                "restore.database",
                "\(place) is of a PostgreSQL database, but the configuration names none; set "
                    + "\"database\" first.")
        }
        var trial = configuration
        trial.data = staging
        if manifest.schemas[BackupManifest.database] != nil { trial.database = staging + "/" + BackupManifest.database }
        do { _ = try await NacreServer(trial, log: log, time: time, random: random) } catch let error as NacreError {
            throw NacreError(
                "restore.unusable", "This program cannot run \(place): \(error.message)", cause: error)
        }
    }

    /// Where a file of a backup goes; nil for a dump.
    ///
    /// - Throws: `restore.database` for a database that the configuration has no place for.
    private func destination(of name: String, _ folder: DataFolder) throws(NacreError) -> String? {
        switch name {
        case BackupManifest.dump: return nil
        case BackupManifest.database:
            guard let path = configuration.databaseFile else {
                throw NacreError(
                    "restore.database",
                    "The backup holds a SQLite database of its own place; set \"database\" to where it goes.")
            }
            return path
        default: return folder.file(name)
        }
    }

    private func compare(_ manifest: BackupManifest, _ place: String, _ folder: DataFolder) throws {
        let manager = FileManager.default
        guard manager.fileExists(atPath: folder.file("secret.key")) || configuration.secret != nil else { return }
        let present = try ServerKeys(folder, secret: configuration.secret, random: random).installation
        guard present == manifest.installation else {  // guard: restore-other
            throw NacreError(
                "restore.other_installation",
                "\(folder.path) holds another installation than the one in \(place); if it is to be replaced, "
                    + "say --force (the old data is kept).")
        }
        for (file, old) in manifest.schemas {
            guard let path = try destination(of: file, folder), manager.fileExists(atPath: path) else { continue }
            for (component, version) in try SQLiteSnapshot.versions(path) {
                guard version <= old[component] ?? 0 else {  // guard: restore-newer
                    throw NacreError(
                        "restore.newer_data",
                        "A newer program has used \(folder.path) since this backup (\(component) \(version), backup "
                            + "\(old[component] ?? 0)); if it is to be replaced all the same, say --force "
                            + "(the old data is kept).")
                }
            }
        }
    }

    /// Unpacks, moves the present files aside and the new ones in. Should this be interrupted, the server does not start
    /// until a restore has come to its end.
    private func swap(_ place: String, _ staging: String, _ folder: DataFolder) throws -> String? {
        let manager = FileManager.default
        try manager.removeItem(atPath: staging)
        try Self.makePrivate(staging)
        let manifest = try BackupManifest.read(place, into: staging)
        let stamp = Self.text(time.now).replacingOccurrences(of: ":", with: "")
        let present = try manager.contentsOfDirectory(atPath: folder.path).filter { name in
            !name.hasPrefix("before-restore-") && !name.hasPrefix("restore") && !name.hasSuffix(".lock")
        }
        var aside: String?
        if !present.isEmpty || configuration.database != nil {
            var name = folder.file("before-restore-\(stamp)")
            while manager.fileExists(atPath: name) { name += "x" }
            try Self.makePrivate(name)
            aside = name
        }
        if let postgres = configuration.postgres, let aside {
            try PostgresTools(postgres).dump(to: aside + "/" + BackupManifest.dump)
        }
        let mark = folder.file(DataFolder.restoreMark)
        try PrivateFile.replace(mark, Array(place.utf8))
        for name in present { try manager.moveItem(atPath: folder.file(name), toPath: (aside ?? staging) + "/" + name) }
        if let database = configuration.databaseFile {
            for ending in ["", "-wal", "-shm"] where manager.fileExists(atPath: database + ending) {
                try manager.moveItem(
                    atPath: database + ending,
                    toPath: (aside ?? staging) + "/before-" + BackupManifest.database + ending)
            }
        }
        for file in manifest.files {
            guard let path = try destination(of: file.name, folder) else { continue }
            // Another file system, perhaps: a move across two is no rename, but the mark stands until it is done.
            try manager.moveItem(atPath: staging + "/" + file.name, toPath: path)
        }
        if let postgres = configuration.postgres {
            try PostgresTools(postgres).restore(from: staging + "/" + BackupManifest.dump)
        }
        try PrivateFile.remove(mark)
        return aside
    }

    private static func makePrivate(_ path: String) throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }
}
