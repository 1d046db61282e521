// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreDatabase
import NacreDatabaseTesting
import Testing

@testable import NacreServer

/// Restores into a PostgreSQL database of the test's own, by PostgreSQL's own tools.
@Suite(.serialized) struct PostgresRestoreTests {
    private final class World: Sendable {
        let root = NSTemporaryDirectory() + "nacre-pg-restore-\(UUID().uuidString)"
        let url: String
        private let server: String
        private let name: String

        init() throws {
            server = try TestDatabase.server()
            name = "restore_" + SystemRandom().identifier().lowercased().filter { $0.isLetter || $0.isNumber }
            var parts = try #require(URLComponents(string: server))
            parts.path = "/" + name
            url = try #require(parts.string)
            try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
            try Self.run("CREATE DATABASE \(name)", server)
        }

        deinit {
            try? Self.run("DROP DATABASE \(name) WITH (FORCE)", server)
            try? FileManager.default.removeItem(atPath: root)
        }

        private static func run(_ statement: String, _ server: String) throws {
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = ["psql", "--no-psqlrc", "--quiet", "--dbname=\(server)", "--command=\(statement)"]
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else { throw NacreError("test.psql", statement) }
        }

        func configuration(_ database: String?, data: String = "data") throws -> ServerConfiguration {
            var configuration = try ServerConfiguration(
                json: ["data": .string(root + "/" + data)], file: "nacre.server.json",
                environment: ["NACRE_ENV": "development"]
            ) { _ in "" }
            configuration.database = database
            return configuration
        }

        func administration(_ database: String?, data: String = "data") throws -> Administration {
            Administration(try configuration(database, data: data))
        }

        func add(_ name: String) async throws {
            _ = try await administration(url).addUser(
                name, password: "long enough", email: "\(name)@example.org", givenName: name, familyName: "",
                locale: "en")
        }

        var people: [String] {
            get async throws {
                try await administration(url).listUsers()["accounts"]?.array?.compactMap { $0["username"]?.string }
                    .filter { $0.hasPrefix("p-") }.sorted() ?? []
            }
        }

        func sql(_ script: String) async throws {
            try await Database.open(url).write { sql in try sql.executeScript(script) }
        }

        func tables(_ name: String) async throws -> Int {
            try await Database.open(url).read { sql in
                try sql.query("SELECT 1 AS n FROM information_schema.tables WHERE table_name = $1", [.text(name)]).count
            }
        }

        var asides: [String] {
            get throws {
                try FileManager.default.contentsOfDirectory(atPath: root + "/data").filter {
                    $0.hasPrefix("before-restore") || $0.hasPrefix("restore")
                }
            }
        }
    }

    @Test func `a dump does not go beside SQLite files, nor SQLite files beside a database; both stay as they are`()
        async throws
    {
        let world = try World()
        _ = try await world.administration(world.url).migrate()
        try await world.add("p-anna")
        let dump = world.root + "/dump.tar"
        _ = try await world.administration(world.url).backup(to: dump)
        let files = try world.administration(nil, data: "files")
        _ = try await files.migrate()
        let tar = world.root + "/files.tar"
        _ = try await files.backup(to: tar)
        for (admin, archive) in [(files, dump), (try world.administration(world.url), tar)] {
            let error = await #expect(throws: NacreError.self) {
                _ = try await admin.restore(from: archive, force: true)
            }
            #expect(error?.code == "restore.database")
        }
        #expect(try await world.people == ["p-anna"])
        _ = try await files.schema()
    }

    @Test func `tables that a newer program made are not left beside older ones: refused, or dropped and kept`()
        async throws
    {
        let world = try World()
        let admin = try world.administration(world.url)
        _ = try await admin.migrate()
        try await world.add("p-anna")
        let archive = world.root + "/one.tar"
        _ = try await admin.backup(to: archive)
        try await world.add("p-bert")
        try await world.sql("CREATE TABLE novelty (id BIGINT PRIMARY KEY); INSERT INTO novelty VALUES (7)")
        let surplus = await #expect(throws: NacreError.self) {
            _ = try await admin.restore(from: archive, force: false)
        }
        #expect(surplus?.code == "restore.newer_data")
        #expect(surplus?.message.contains("novelty") == true)
        #expect(try await world.people == ["p-anna", "p-bert"])
        try await world.sql("INSERT INTO nacre_migration VALUES ('sessions', 99, 'x', 0); DROP TABLE novelty")
        let newer = await #expect(throws: NacreError.self) { _ = try await admin.restore(from: archive, force: false) }
        #expect(newer?.message.contains("sessions 99") == true)
        try await world.sql("DELETE FROM nacre_migration WHERE version = 99")
        try await world.sql("CREATE TABLE novelty (id BIGINT PRIMARY KEY); INSERT INTO novelty VALUES (7)")
        let kept = try #require(try await admin.restore(from: archive, force: true)["kept"]?.string)
        #expect(try await world.people == ["p-anna"])
        #expect(try await world.tables("novelty") == 0)
        let tools = try PostgresTools(world.url, environment: ProcessInfo.processInfo.environment, scratch: kept)
        #expect(try tools.contents(of: kept + "/postgres.dump").tables.contains("public.novelty"))
    }

    @Test func `a restore that this program cannot run leaves the database, the keys and the folder as they were`()
        async throws
    {
        let world = try World()
        let admin = try world.administration(world.url)
        _ = try await admin.migrate()
        try await world.add("p-anna")
        // A backup of a program that knows more than this one.
        try await world.sql(
            """
            INSERT INTO nacre_migration SELECT 'sessions', n, 'x', 0 FROM generate_series(2, 99) AS n ON CONFLICT DO NOTHING
            """)
        let archive = world.root + "/newer.tar"
        _ = try await admin.backup(to: archive)
        try await world.sql("DELETE FROM nacre_migration WHERE checksum = 'x'")
        try await world.add("p-bert")
        try await world.sql("CREATE TABLE own (id BIGINT PRIMARY KEY); INSERT INTO own VALUES (7)")
        let key = try TarArchive.digest(of: world.root + "/data/secret.key").digest
        let error = await #expect(throws: NacreError.self) { _ = try await admin.restore(from: archive, force: true) }
        #expect(error?.code == "restore.unusable", "\(error?.message ?? "")")
        #expect(try await world.people == ["p-anna", "p-bert"])
        #expect(try await world.tables("own") == 1)
        #expect(try TarArchive.digest(of: world.root + "/data/secret.key").digest == key)
        #expect(try world.asides.isEmpty)
        _ = try await NacreServer(try world.configuration(world.url), log: .none)
    }
}
