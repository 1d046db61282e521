// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreDatabase
import NacreTesting
import Testing

@testable import NacreServer

/// A backup and a configuration that do not belong together, and restores that fail half way.
@Suite struct RestorePlaceTests {
    /// Nobody listens there: whoever tries is told something else than what these tests expect.
    private static let nowhere = "postgres://nacre:s3cret@127.0.0.1:1/nacre"

    private func administration(
        _ place: Installation, _ name: String, database: String? = nil, secret: String? = nil
    ) throws -> Administration {
        var configuration = try place.configuration(place.root + "/\(name)/data")
        configuration.database = database
        configuration.secret = secret
        return Administration(configuration, time: place.time, random: SeededRandom(8))
    }

    /// Backups of each kind, made under one root; that of PostgreSQL is put together by hand.
    private func archive(_ kind: DatabasePlace, _ place: Installation) async throws -> String {
        let path = place.root + "/backup.tar"
        switch kind {
        case .folder, .file:
            let admin = try administration(
                place, "source", database: kind == .file ? place.root + "/source.sqlite" : nil)
            _ = try await admin.migrate()
            _ = try await admin.backup(to: path)
        case .postgres: try archive(["postgres.dump": "PGDMP", "secret.key": "x"], at: path, place)
        }
        return path
    }

    private func archive(_ files: [String: String], at path: String, _ place: Installation) throws {
        var manifest = BackupManifest(program: "0", madeAt: 0, installation: "i")
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let archive = try FileHandle(forWritingTo: URL(filePath: path))
        for name in files.keys.sorted() {
            let file = place.root + "/part"
            try (files[name] ?? "").write(toFile: file, atomically: true, encoding: .utf8)
            let (size, digest) = try TarArchive.digest(of: file)
            manifest.files.append(TarArchive.Entry(name: name, size: size, digest: digest))
            try FileManager.default.removeItem(atPath: file)
        }
        let now = place.time.now
        try TarArchive.append(BackupManifest.name, manifest.json.bytes, to: archive, at: now)
        for name in files.keys.sorted() {
            try TarArchive.append(name, Array((files[name] ?? "").utf8), to: archive, at: now)
        }
        try TarArchive.finish(archive)
    }

    /// Every file below `folder` with its content's sum; locks and SQLite's own shared memory aside.
    private func everything(_ folder: String) throws -> [String: String] {
        var result: [String: String] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            guard !name.hasSuffix(".lock"), !name.hasSuffix("-shm"), !name.hasSuffix("-wal") else { continue }
            result[name] = (try? TarArchive.digest(of: folder + "/" + name).digest) ?? "folder"
        }
        return result
    }

    @Test(
        "A backup of another kind of database is refused with what to do, also with --force, and nothing is touched",
        arguments: [
            (DatabasePlace.folder, DatabasePlace.file), (.folder, .postgres), (.file, .folder), (.file, .postgres),
            (.postgres, .folder), (.postgres, .file),
        ], [false, true])
    func otherKind(_ kinds: (DatabasePlace, DatabasePlace), force: Bool) async throws {
        let place = try Installation()
        let path = try await archive(kinds.0, place)
        // What is there now: an installation that serves people.
        let live = place.root + "/live.sqlite"
        let present = try administration(place, "live", database: kinds.1 == .file ? live : nil)
        _ = try await present.migrate()
        let before = try everything(place.root)
        let admin = try administration(
            place, "live", database: [.file: live, .postgres: Self.nowhere][kinds.1])
        let error = await #expect(throws: NacreError.self) {
            _ = try await admin.restore(from: path, force: force)
        }
        #expect(error?.code == "restore.database")
        #expect(error?.message.contains(kinds.0.name) == true && error?.message.contains(kinds.0.remedy) == true)
        #expect(error?.description.contains("s3cret") == false)
        #expect(try everything(place.root) == before)
    }

    @Test(
        "An archive without the tables of one installation is no backup",
        arguments: [
            ["secret.key": "x"], ["postgres.dump": "x", "configured.sqlite": "x"],
        ])
    func noTables(_ files: [String: String]) async throws {
        let place = try Installation()
        let path = place.root + "/backup.tar"
        try archive(files, at: path, place)
        let error = await #expect(throws: NacreError.self) {
            _ = try await administration(place, "live").restore(from: path, force: true)
        }
        #expect(error?.code == "backup.damaged")
    }

    @Test func `the trial of a backup never runs on the database that serves people`() async throws {
        let place = try Installation()
        let live = place.root + "/live.sqlite"
        let admin = try administration(place, "live", database: live)
        _ = try await admin.migrate()
        let path = place.root + "/backup.tar"
        _ = try await admin.backup(to: path)
        // A table that a start on this database would make again.
        let database = try Database.sqlite(path: live, time: place.time)
        try await database.write { sql in
            try sql.execute("DROP TABLE server_lease")
            try sql.execute("DELETE FROM nacre_migration WHERE component = 'server'")
        }
        _ = try await admin.restore(from: path, force: true)
        let kept = try #require(
            try FileManager.default.contentsOfDirectory(atPath: place.root + "/live/data").first {
                $0.hasPrefix("before-restore")
            })
        let before = try Database.sqlite(
            path: place.root + "/live/data/\(kept)/before-configured.sqlite", time: place.time)
        let found = try await before.read { sql in
            try sql.query("SELECT 1 AS n FROM sqlite_schema WHERE name = 'server_lease'").count
        }
        #expect(found == 0)
    }

    @Test func `under another secret nothing would open: refused, also with --force`() async throws {
        let place = try Installation()
        let first = String(repeating: "A", count: 43)
        let live = place.root + "/live.sqlite"
        let admin = try administration(place, "live", database: live, secret: first)
        _ = try await admin.migrate()
        let path = place.root + "/backup.tar"
        _ = try await admin.backup(to: path)
        let before = try everything(place.root)
        let other = try administration(place, "live", database: live, secret: String(repeating: "B", count: 42) + "A")
        let error = await #expect(throws: NacreError.self) { _ = try await other.restore(from: path, force: true) }
        #expect(error?.code == "restore.other_secret")
        #expect(error?.description.contains(first) == false)
        #expect(try everything(place.root) == before)
        _ = try await admin.restore(from: path, force: true)
    }

    @Test(
        "A restore that fails while files are moved leaves what was there, and an earlier interruption's mark",
        arguments: [false, true])
    func failedMove(wasInterrupted: Bool) async throws {
        let place = try Installation()
        let source = try administration(place, "source", database: place.root + "/source.sqlite")
        _ = try await source.migrate()
        let path = place.root + "/backup.tar"
        _ = try await source.backup(to: path)
        let live = try administration(place, "live")
        _ = try await live.migrate()
        let mark = place.root + "/live/data/" + DataFolder.restoreMark
        if wasInterrupted { try "earlier".write(toFile: mark, atomically: true, encoding: .utf8) }
        let before = try everything(place.root)
        // The folder that the database is to go to is not there: the last move fails.
        let admin = try administration(place, "live", database: place.root + "/missing/nacre.sqlite")
        await #expect(throws: (any Error).self) { _ = try await admin.restore(from: path, force: true) }
        var after = try everything(place.root)
        #expect((after["live/data/" + DataFolder.restoreMark] != nil) == wasInterrupted)
        if wasInterrupted {
            after["live/data/" + DataFolder.restoreMark] = before["live/data/" + DataFolder.restoreMark]
        }
        #expect(after == before)
        if !wasInterrupted { _ = try await live.schema() }
    }
}
