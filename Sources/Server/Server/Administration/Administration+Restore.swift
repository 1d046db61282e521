// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
package import NacreCore
import NacreCrypto
import NacreDatabase
import Synchronization

extension Administration {
    /// Puts a backup in the place of what is in the data folder, which is kept beside it.
    ///
    /// Without `force` it refuses while a server runs, over data that a newer program has written, and over another
    /// installation's data. Never does it take a backup that this configuration has no place for. When it fails, what was
    /// there is there again.
    /// - Throws: `restore.*`, `backup.damaged`, `server.data_in_use`.
    package func restore(from place: String, force: Bool) async throws -> JSONValue {
        let folder = try DataFolder(configuration.data)
        defer { giveToOwner() }
        let lock: FolderLock?
        do { lock = try FolderLock.take(folder, exclusive: true) } catch {
            guard force, error.code == "server.data_in_use" else { throw error }  // guard: restore-running
            lock = nil
        }
        defer { withExtendedLifetime(lock) {} }
        let staging = folder.file("restore-staging")
        try? FileManager.default.removeItem(atPath: staging)
        defer { try? FileManager.default.removeItem(atPath: staging) }
        let threads = WorkThreads(limit: 1)
        let manifest = try await threads.run {
            try Self.makePrivate(staging)
            return try BackupManifest.read(place, into: staging)
        }
        try checkPlace(manifest, place)
        try checkSecret(manifest, place)
        if !force { try compare(manifest, place, folder) }
        let surplus = try await tryOut(manifest, place, in: staging, folder, force: force)
        // Read anew: the trial has changed its copy.
        try await threads.run {
            try FileManager.default.removeItem(atPath: staging)
            try Self.makePrivate(staging)
            guard try BackupManifest.read(place, into: staging) == manifest else {
                throw TarArchive.damaged(place, "it was changed while it was read")
            }
        }
        let kept = try await swap(manifest, place, staging, folder, surplus: surplus, threads)
        return [
            "restored": .string(place), "into": .string(folder.path), "kept": JSONValue(kept),
            "restartNeeded": .bool(lock == nil),
        ]
    }

    // MARK: Before anything is touched

    /// A dump put beside SQLite files, or the reverse, would leave a server without its tables.
    private func checkPlace(_ manifest: BackupManifest, _ place: String) throws(NacreError) {
        guard let found = manifest.databasePlace else {
            throw TarArchive.damaged(place, "it does not hold the tables of one installation")
        }
        let wanted = configuration.databasePlace
        guard found == wanted else {  // guard: restore-place
            throw NacreError(
                "restore.database",
                "\(place) holds \(found.name), but the configuration names \(wanted.name); \(found.remedy), or "
                    + "restore a backup of \(wanted.name). Nothing was changed.")
        }
    }

    /// Under another secret nothing in the backup can be opened.
    private func checkSecret(_ manifest: BackupManifest, _ place: String) throws(NacreError) {
        guard let secret = configuration.secret.flatMap(ServerKeys.secret) else { return }
        guard ServerKeys.installation(of: secret) == manifest.installation else {  // guard: restore-secret
            throw NacreError(
                "restore.other_secret",
                "\(place) was made with another secret than the configuration's (NACRE_SECRET, \"secretFile\"), and "
                    + "nothing in it opens with this one; set the secret of that time (secret.key in the backup). Nothing "
                    + "was changed.")
        }
    }

    private func compare(_ manifest: BackupManifest, _ place: String, _ folder: DataFolder) throws {
        guard let text = try configuration.secret ?? folder.existing("secret.key") else { return }
        guard let present = ServerKeys.secret(text).map({ ServerKeys.installation(of: $0) }),
            present == manifest.installation
        else {  // guard: restore-other
            throw NacreError(
                "restore.other_installation",
                "\(folder.path) holds another installation than the one in \(place); if it is to be replaced, "
                    + "say --force (the old data is kept).")
        }
        for (file, old) in manifest.schemas {
            guard let path = destination(of: file, folder), FileManager.default.fileExists(atPath: path) else {
                continue
            }
            try refuseNewer(try SQLiteSnapshot.versions(path), old, folder.path)
        }
    }

    private func refuseNewer(_ present: [String: Int], _ old: [String: Int], _ name: String) throws(NacreError) {
        for (component, version) in present {
            guard version <= old[component] ?? 0 else {  // guard: restore-newer
                throw NacreError(
                    "restore.newer_data",
                    "A newer program has used \(name) since this backup (\(component) \(version), backup "
                        + "\(old[component] ?? 0)); if it is to be replaced all the same, say --force "
                        + "(the old data is kept).")
            }
        }
    }

    /// Puts a server together on a copy of the backup: what this program cannot run does not get into the data folder.
    ///
    /// A dump is read and compared with the database instead; answers the tables of that database which it does not have.
    private func tryOut(
        _ manifest: BackupManifest, _ place: String, in staging: String, _ folder: DataFolder, force: Bool
    ) async throws -> [String] {
        for name in manifest.schemas.keys { try SQLiteSnapshot.check(staging + "/" + name) }
        var trial = configuration
        trial.data = staging
        switch configuration.databasePlace {
        case .folder: trial.database = nil
        case .file: trial.database = staging + "/" + BackupManifest.database  // guard: restore-trial
        case .postgres:
            let present = try await LiveTables(configuration, time: time)
            let dump = try await WorkThreads(limit: 1).run {
                try tools(staging).contents(of: staging + "/" + BackupManifest.dump)
            }
            if !force { try refuseNewer(present.versions, dump.versions, "the database") }
            let surplus = present.tables.filter { !dump.tables.contains($0) }
            guard force || surplus.isEmpty else {  // guard: restore-surplus
                throw NacreError(
                    "restore.newer_data",
                    "The database has tables that are not in \(place) and would be dropped "
                        + "(\(surplus.joined(separator: ", "))); if that is meant, say --force (they are kept in a dump)."
                )
            }
            return surplus
        }
        try await Self.run(trial, place, log: log, time: time, random: random)
        return []
    }

    private static func run(
        _ trial: ServerConfiguration, _ place: String, log: Log, time: any TimeSource, random: any RandomSource
    ) async throws {
        do { _ = try await NacreServer(trial, log: log, time: time, random: random) } catch let error as NacreError {
            throw NacreError("restore.unusable", "This program cannot run \(place): \(error.message)", cause: error)
        }
    }

    private func tools(_ scratch: String) throws(NacreError) -> PostgresTools {
        try PostgresTools(configuration.database ?? "", environment: environment, scratch: scratch)
    }

    /// Where a file of a backup goes; nil for a dump.
    private func destination(of name: String, _ folder: DataFolder) -> String? {
        switch name {
        case BackupManifest.dump: nil
        case BackupManifest.database: configuration.databaseFile
        default: folder.file(name)
        }
    }

    // MARK: The change itself

    /// Moves the present data aside and the new in. Should the process be killed meanwhile, the server does not start until
    /// a restore has come to its end; should anything fail, everything goes back.
    private func swap(
        _ manifest: BackupManifest, _ place: String, _ staging: String, _ folder: DataFolder, surplus: [String],
        _ threads: WorkThreads
    ) async throws -> String? {
        let aside = try makeAside(folder)
        let mark = folder.file(DataFolder.restoreMark)
        let wasHalfRestored = FileManager.default.fileExists(atPath: mark)
        let moves = FileMoves()
        var isDatabaseTouched = false
        do {
            if let aside, configuration.postgres != nil {
                try await threads.run { try tools(staging).dump(to: aside + "/" + BackupManifest.dump) }
            }
            try PrivateFile.replace(mark, Array(place.utf8))
            if configuration.postgres != nil {
                isDatabaseTouched = true
                try await replaceTables(by: staging + "/" + BackupManifest.dump, surplus, staging, threads)
                try await tryOnDatabase(place, staging)
            }
            try await threads.run { try moveFiles(manifest, staging, folder, aside: aside ?? staging, moves) }
        } catch {
            try await putBack(after: error, aside, staging, moves, isDatabaseTouched, threads)
            // What an earlier, interrupted restore left is no more whole than before.
            if !wasHalfRestored { try PrivateFile.remove(mark) }  // guard: restore-mark-stays
            if let aside { try? FileManager.default.removeItem(atPath: aside) }
            throw error
        }
        try PrivateFile.remove(mark)
        return aside
    }

    /// The folder for what is there now; nil when nothing is.
    private func makeAside(_ folder: DataFolder) throws -> String? {
        guard try !Self.present(folder).isEmpty || configuration.database != nil else { return nil }
        var name = folder.file("before-restore-\(Self.text(time.now).replacingOccurrences(of: ":", with: ""))")
        while FileManager.default.fileExists(atPath: name) { name += "x" }
        try Self.makePrivate(name)
        return name
    }

    private static func present(_ folder: DataFolder) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { name in
            !name.hasPrefix("before-restore-") && !name.hasPrefix("restore") && !name.hasSuffix(".lock")
        }
    }

    private func replaceTables(
        by dump: String, _ surplus: [String], _ scratch: String, _ threads: WorkThreads
    ) async throws {
        if !surplus.isEmpty { try await LiveTables.drop(surplus, configuration, time: time) }
        try await threads.run { try tools(scratch).restore(from: dump) }
    }

    /// The server's start over the restored tables, with the backup's secret, in a folder of its own: the lock of the
    /// data folder is ours.
    private func tryOnDatabase(_ place: String, _ staging: String) async throws {
        var trial = configuration
        trial.data = staging + "/trial"
        trial.secret = try trial.secret ?? String(contentsOfFile: staging + "/secret.key", encoding: .utf8)
        try await Self.run(trial, place, log: log, time: time, random: random)
    }

    private func moveFiles(
        _ manifest: BackupManifest, _ staging: String, _ folder: DataFolder, aside: String, _ moves: FileMoves
    ) throws {
        for name in try Self.present(folder) { try moves.move(folder.file(name), to: aside + "/" + name) }
        if let database = configuration.databaseFile {
            for ending in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: database + ending) {
                try moves.move(database + ending, to: aside + "/before-" + BackupManifest.database + ending)
            }
        }
        for file in manifest.files {
            guard let path = destination(of: file.name, folder) else { continue }
            // Another file system, perhaps: a move across two is no rename, but the mark stands until it is done.
            try moves.move(staging + "/" + file.name, to: path)
        }
    }

    /// - Throws: `restore.half` when not even that could be done; the mark stays.
    private func putBack(
        after error: any Error, _ aside: String?, _ staging: String, _ moves: FileMoves, _ isDatabaseTouched: Bool,
        _ threads: WorkThreads
    ) async throws {
        do {
            try await threads.run { try moves.undo() }  // guard: restore-undo
            guard isDatabaseTouched, let aside else { return }
            let dump = aside + "/" + BackupManifest.dump
            let before = try await threads.run { try tools(staging).contents(of: dump) }
            let present = try await LiveTables(configuration, time: time).tables
            try await replaceTables(by: dump, present.filter { !before.tables.contains($0) }, staging, threads)
        } catch let second {
            throw NacreError(
                "restore.half",
                "The restore failed (\((error as? NacreError)?.message ?? "\(error)")), and what was there could not be put "
                    + "back (\((second as? NacreError)?.message ?? "\(second)")); it is in \(aside ?? staging). Mend the cause "
                    + "and run nacre admin restore again with --force.", cause: error)
        }
    }

    private static func makePrivate(_ path: String) throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }
}

/// What was moved where, so that it can go back. Used by one thread at a time.
private final class FileMoves: Sendable {
    private let done = Mutex<[(from: String, to: String)]>([])

    func move(_ from: String, to: String) throws {
        try FileManager.default.moveItem(atPath: from, toPath: to)
        done.withLock { $0.append((from, to)) }
    }

    /// The last one first.
    func undo() throws {
        while let last = done.withLock({ $0.popLast() }) {
            try FileManager.default.moveItem(atPath: last.to, toPath: last.from)
        }
    }
}
