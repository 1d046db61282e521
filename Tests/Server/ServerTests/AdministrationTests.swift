// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreDatabase
import NacreSessions
import NacreTesting
import Synchronization
import Testing

@testable import NacreServer

/// An installation in a folder of its own, removed in the end.
final class Installation: Sendable {
    let root = NSTemporaryDirectory() + "nacre-admin-\(UUID().uuidString)"
    let time = ManualTime()
    private let seeds = Mutex<UInt64>(100)
    var data: String { root + "/data" }

    init() throws { try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: root) }

    func configuration(
        _ data: String? = nil, provider: Bool = true, tokens: Bool = false
    ) throws -> ServerConfiguration {
        try ServerConfiguration(
            json: [
                "data": .string(data ?? self.data), "provider": ["enabled": .bool(provider)],
                "oidc": provider ? [:] : ["issuer": "https://id.example.org", "clientID": "nacre"],
                "tokens": ["presentations": tokens ? ["pair"] : []],
            ], file: "nacre.server.json", environment: ["NACRE_ENV": "development"]
        ) { _ in "" }
    }

    func administration(
        _ data: String? = nil, provider: Bool = true, tokens: Bool = false, seed: UInt64 = 5
    ) throws -> Administration {
        Administration(
            try configuration(data, provider: provider, tokens: tokens), time: time, random: SeededRandom(seed))
    }

    /// Puts a session there; answers its handle.
    func session(_ subject: String = "anna") async throws -> (id: String, handle: String) {
        let administration = try administration(
            seed: seeds.withLock { seed in
                seed += 1
                return seed
            })
        let (session, handle) = try await administration.sessions(try await administration.stores()).begin(
            Authentication(
                method: "oidc", issuer: "http://localhost:8902", subject: subject,
                profile: ["email": .string("\(subject)@example.org")]), device: "Test \u{1F4F1}")
        return (session.id, handle)
    }

    func find(_ handle: String, in data: String? = nil) async throws -> Session? {
        let administration = try administration(data)
        return try await administration.sessions(try await administration.stores()).find(handle: handle)
    }
}

@Suite struct AdministrationTests {
    @Test func `a mistyped folder is said and does not become an installation`() async throws {
        let place = try Installation()
        let error = await #expect(throws: NacreError.self) {
            _ = try await place.administration().listSessions(user: nil, limit: 10)
        }
        #expect(error?.code == "admin.no_installation")
        #expect(!FileManager.default.fileExists(atPath: place.data))
    }

    @Test func `sessions are listed without anything that opens them, and ended one by one or by person`() async throws
    {
        let place = try Installation()
        let admin = try place.administration()
        let schema = try await admin.migrate()
        #expect(schema["databases"]?["gateway"]?["sessions"]?.integer ?? 0 >= 1)
        let first = try await place.session()
        let second = try await place.session()
        let other = try await place.session("bert")
        let listed = try await admin.listSessions(user: nil, limit: 10)
        let sessions = try #require(listed["sessions"]?.array)
        #expect(Set(sessions.compactMap { $0["id"]?.string }) == [first.id, second.id, other.id])
        #expect(!listed.text.contains(first.handle))
        let user = try #require(sessions.first { $0["id"]?.string == first.id }?["user"]?.string)
        #expect(try await admin.listSessions(user: user, limit: 10)["sessions"]?.array?.count == 2)
        #expect(try await admin.listSessions(user: nil, limit: 1)["sessions"]?.array?.count == 1)
        #expect(try await admin.endSessions([first.id])["ended"] == 1)
        #expect(try await place.find(first.handle) == nil)
        let error = await #expect(throws: NacreError.self) { _ = try await admin.endSessions([first.id]) }
        #expect(error?.code == "admin.no_session")
        #expect(try await admin.endAllSessions(user: user)["ended"] == 1)
        #expect(try await place.find(other.handle) != nil)
        #expect(try await admin.endAllSessions(user: nil)["ended"] == 1)
        #expect(try await place.find(other.handle) == nil)
    }

    @Test func `people of the embedded provider are added, given passwords and removed; their sessions end`()
        async throws
    {
        let place = try Installation()
        let admin = try place.administration()
        _ = try await admin.migrate()
        let add = {
            try await admin.addUser(
                "zoe", password: "long enough", email: "zoe@example.org", givenName: "Zoé", familyName: "Petit",
                locale: "fr")
        }
        _ = try await add()
        let twice = await #expect(throws: NacreError.self) { _ = try await add() }
        #expect(twice?.code == "admin.user_exists")
        let accounts = try #require(try await admin.listUsers()["accounts"]?.array)
        let zoe = try #require(accounts.first { $0["username"] == "zoe" })
        let session = try await place.session(try #require(zoe["subject"]?.string))
        #expect(try await admin.setPassword("another one", of: "zoe")["endedSessions"] == 1)
        #expect(try await place.find(session.handle) == nil)
        let short = await #expect(throws: NacreError.self) { _ = try await admin.setPassword("short", of: "zoe") }
        #expect(short?.code == "admin.password")
        #expect(try await admin.removeUser("zoe@example.org")["removed"] == "zoe")
        let gone = await #expect(throws: NacreError.self) { _ = try await admin.removeUser("zoe") }
        #expect(gone?.code == "admin.no_user")
        let elsewhere = await #expect(throws: NacreError.self) {
            _ = try await place.administration(provider: false).removeUser("zoe")
        }
        #expect(elsewhere?.code == "admin.no_provider")
    }

    @Test func `keys are rotated by name`() async throws {
        let place = try Installation()
        let admin = try place.administration()
        _ = try await admin.migrate()
        #expect(try await admin.rotateKeys([])["rotated"] == ["identity", "provider"])
        let error = await #expect(throws: NacreError.self) { _ = try await admin.rotateKeys(["identiy"]) }
        #expect(error?.message.contains("identity, provider") == true)
        #expect(try await admin.rotateKeys([], stolen: true)["rotated"] == ["identity", "provider"])
        await #expect(throws: NacreError.self) { _ = try await admin.rotateKeys(["tokens"]) }
    }

    private func keys(_ admin: Administration) async throws -> [String: [String]] {
        let database = try await admin.stores().gateway
        return try await database.read { sql in
            var result: [String: [String]] = [:]
            for (name, table) in [("identity", "gateway_identity_key"), ("tokens", "session_key")] {
                result[name] = try sql.query("SELECT kid FROM \(table) ORDER BY created_at, kid").map {
                    try $0.text("kid")
                }
            }
            return result
        }
    }

    @Test(arguments: ["identity", "tokens"])
    func `a key is followed by a new one and stays, unless it may be stolen`(name: String) async throws {
        let place = try Installation()
        let admin = try place.administration(tokens: true)
        _ = try await admin.migrate()
        #expect(try await admin.rotateKeys([])["rotated"] == ["identity", "tokens", "provider"])
        let before = try await keys(admin)
        #expect(before[name]?.count == 2)
        place.time.advance(by: .seconds(1))
        #expect(try await admin.rotateKeys([name])["rotated"] == [.string(name)])
        let planned = try await keys(admin)
        #expect(planned[name]?.prefix(2) == before[name]?[...])
        #expect(planned[name]?.count == 3)
        place.time.advance(by: .seconds(1))
        #expect(try await admin.rotateKeys([name], stolen: true)["rotated"] == [.string(name)])
        let stolen = try await keys(admin)
        #expect(stolen[name]?.count == 1)
        #expect(planned[name]?.contains(stolen[name]?.first ?? "") == false)
        let other = name == "tokens" ? "identity" : "tokens"
        #expect(stolen[other] == before[other], "the others are left alone")
    }
}

@Suite struct BackupTests {
    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `a backup brings a session back, with the keys that open it, and keeps what was there`() async throws {
        let place = try Installation()
        let admin = try place.administration()
        _ = try await admin.migrate()
        let session = try await place.session()
        let archive = place.root + "/one.tar"
        // The server goes on meanwhile.
        let server = try await NacreServer(try place.configuration(), log: .none, time: place.time)
        _ = try await admin.backup(to: archive)
        #expect(try mode(archive) == 0o600)
        withExtendedLifetime(server) {}
        _ = try await admin.endAllSessions(user: nil)
        #expect(try await place.find(session.handle) == nil)
        let fresh = place.root + "/fresh"
        let answer = try await place.administration(fresh, seed: 99).restore(from: archive, force: false)
        #expect(answer["kept"] == .null)
        #expect(try await place.find(session.handle, in: fresh)?.subject == "anna")
        #expect(try mode(fresh + "/secret.key") == 0o600)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: place.root).sorted() == ["data", "fresh", "one.tar"])
    }

    @Test func `a restore refuses while a server runs, over newer data and over another installation, unless forced`()
        async throws
    {
        let place = try Installation()
        let admin = try place.administration()
        _ = try await admin.migrate()
        let session = try await place.session()
        let archive = place.root + "/one.tar"
        _ = try await admin.backup(to: archive)
        let stores = try await admin.stores()
        let lock = try FolderLock.take(stores.folder, exclusive: false)
        let running = await #expect(throws: NacreError.self) {
            _ = try await admin.restore(from: archive, force: false)
        }
        #expect(running?.code == "server.data_in_use")
        #expect(try await admin.restore(from: archive, force: true)["restartNeeded"] == true)
        withExtendedLifetime(lock) {}

        let other = place.root + "/other"
        _ = try await place.administration(other, seed: 77).migrate()
        let foreign = await #expect(throws: NacreError.self) {
            _ = try await place.administration(other, seed: 77).restore(from: archive, force: false)
        }
        #expect(foreign?.code == "restore.other_installation")
        let kept = try await place.administration(other, seed: 77).restore(from: archive, force: true)["kept"]?.string
        #expect(FileManager.default.fileExists(atPath: try #require(kept) + "/secret.key"))
        #expect(try await place.find(session.handle, in: other) != nil)

        let database = try Database.sqlite(path: other + "/gateway.sqlite", time: place.time)
        try await database.write { sql in
            _ = try sql.execute(
                "INSERT INTO nacre_migration (component, version, checksum, applied_at) VALUES ('sessions', 99, 'x', 0)"
            )
        }
        let newer = await #expect(throws: NacreError.self) {
            _ = try await place.administration(other).restore(from: archive, force: false)
        }
        #expect(newer?.code == "restore.newer_data")
        _ = try await place.administration(other).restore(from: archive, force: true)
        #expect(try await place.find(session.handle, in: other) != nil)
    }

    @Test func `data that this program cannot run do not get in`() async throws {
        let place = try Installation()
        let admin = try place.administration()
        _ = try await admin.migrate()
        let database = try Database.sqlite(path: place.data + "/gateway.sqlite", time: place.time)
        try await database.write { sql in
            for version in 2...99 {
                _ = try sql.execute(
                    """
                    INSERT INTO nacre_migration (component, version, checksum, applied_at)
                    VALUES ('sessions', $1, 'x', 0) ON CONFLICT DO NOTHING
                    """, [SQLValue(version)])
            }
        }
        let archive = place.root + "/newer.tar"
        _ = try await admin.backup(to: archive)
        let fresh = place.root + "/fresh"
        let error = await #expect(throws: NacreError.self) {
            _ = try await place.administration(fresh).restore(from: archive, force: true)
        }
        #expect(error?.code == "restore.unusable")
        #expect(error?.message.contains("newer program") == true)
        #expect(!FileManager.default.fileExists(atPath: fresh + "/secret.key"))
    }

    @Test func `every altered byte of a backup is found before anything is replaced`() async throws {
        let place = try Installation()
        let admin = try place.administration()
        _ = try await admin.migrate()
        let archive = place.root + "/one.tar"
        _ = try await admin.backup(to: archive)
        let whole = [UInt8](try #require(FileManager.default.contents(atPath: archive)))
        let damaged = place.root + "/damaged.tar"
        // In a header, in the manifest, in a database, in a key.
        let marks = [10, 600, whole.count / 2, whole.count - 1024 - 500]
        for place in marks {
            var bytes = whole
            bytes[place] ^= 1
            #expect(FileManager.default.createFile(atPath: damaged, contents: Data(bytes)))
            await #expect(throws: NacreError.self, "byte \(place)") {
                _ = try await admin.restore(from: damaged, force: true)
            }
        }
        for length in [0, 100, 512, 5000, whole.count - 1024] {
            #expect(FileManager.default.createFile(atPath: damaged, contents: Data(whole.prefix(length))))
            let error = await #expect(throws: NacreError.self, "length \(length)") {
                _ = try await admin.restore(from: damaged, force: true)
            }
            #expect(error?.code == "backup.damaged")
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: place.data)
        #expect(!names.contains { $0.hasPrefix("before-restore") || $0.hasPrefix("restore") })
    }

    @Test(arguments: ["../secret.key", "/etc/passwd", ".hidden", "a/b", ""])
    func `a name that leads out of the folder is no backup's`(_ name: String) throws {
        #expect(!TarArchive.isPlain(name))
    }

    @Test func `an archive that holds a path elsewhere is not unpacked`() throws {
        let place = try Installation()
        let path = place.root + "/evil.tar"
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let archive = try FileHandle(forWritingTo: URL(filePath: path))
        try TarArchive.append("../evil", [1, 2, 3], to: archive, at: Instant(milliseconds: 0))
        try TarArchive.finish(archive)
        var names: [String] = []
        let error = #expect(throws: NacreError.self) {
            _ = try TarArchive.read(path) { name in
                names.append(name)
                return nil
            }
        }
        #expect(error?.code == "backup.damaged")
        #expect(names.isEmpty)
    }

    @Test func `a copy whose index does not fit its table is damaged`() async throws {
        let place = try Installation()
        let path = place.root + "/one.sqlite"
        let database = try Database.sqlite(path: path, time: place.time)
        try await database.write { sql in
            try sql.executeScript("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT); CREATE INDEX t_name ON t (name)")
            for number in 0..<50 {
                try sql.execute("INSERT INTO t (name) VALUES ($1)", [.text("value-of-row-\(number)")])
            }
        }
        let copy = place.root + "/copy.sqlite"
        try SQLiteSnapshot.write(path, to: copy)
        var bytes = [UInt8](try #require(FileManager.default.contents(atPath: copy)))
        let needle = Array("value-of-row-7".utf8)
        let found = try #require(bytes.indices.first { bytes[$0...].starts(with: needle) })
        bytes[found] = UInt8(ascii: "V")
        #expect(FileManager.default.createFile(atPath: copy, contents: Data(bytes)))
        let error = #expect(throws: NacreError.self) { try SQLiteSnapshot.check(copy) }
        #expect(error?.code == "database.snapshot")
    }

    @Test func `a database of its own place is backed up and restored there; a secret kept elsewhere comes along`()
        async throws
    {
        let place = try Installation()
        func administration(_ name: String) throws -> Administration {
            var configuration = try place.configuration(place.root + "/\(name)/data")
            configuration.database = place.root + "/\(name).sqlite"
            configuration.secret = String(repeating: "A", count: 43)
            return Administration(configuration, time: place.time, random: SeededRandom(8))
        }
        let admin = try administration("one")
        _ = try await admin.migrate()
        let (_, handle) = try await admin.sessions(try await admin.stores()).begin(
            Authentication(method: "oidc", issuer: "https://id.example.org", subject: "anna"), device: nil)
        let archive = place.root + "/one.tar"
        let files = try await admin.backup(to: archive)["files"]?.array ?? []
        #expect(files.contains("configured.sqlite") && files.contains("secret.key"))
        _ = try await admin.endAllSessions(user: nil)
        let kept = try #require(try await admin.restore(from: archive, force: false)["kept"]?.string)
        #expect(FileManager.default.fileExists(atPath: kept + "/before-configured.sqlite"))
        let again = try administration("one")
        #expect(try await again.sessions(try await again.stores()).find(handle: handle) != nil)
    }

    @Test func `a server does not start on data that are half restored`() async throws {
        let place = try Installation()
        let admin = try place.administration()
        _ = try await admin.migrate()
        let archive = place.root + "/one.tar"
        _ = try await admin.backup(to: archive)
        try "x".write(toFile: place.data + "/" + DataFolder.restoreMark, atomically: true, encoding: .utf8)
        try FileManager.default.removeItem(atPath: place.data + "/secret.key")
        let error = await #expect(throws: NacreError.self) {
            _ = try await NacreServer(try place.configuration(), log: .none, time: place.time)
        }
        #expect(error?.code == "server.half_restored")
        #expect(!FileManager.default.fileExists(atPath: place.data + "/secret.key"))
        _ = try await admin.restore(from: archive, force: false)
        _ = try await NacreServer(try place.configuration(), log: .none, time: place.time)
    }
}
