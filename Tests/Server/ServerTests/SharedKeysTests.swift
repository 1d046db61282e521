// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreCrypto
import NacreDatabase
import NacreDatabaseTesting
import NacreTesting
import Testing

@testable import NacreServer

/// What the nodes of one database agree on.
@Suite struct SharedKeysTests {
    private let secret = Base64URL.encode(SeededRandom(4).bytes(32))

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func keys(
        _ path: String, _ secret: String?, _ database: Database, _ seed: UInt64 = 1
    ) async throws -> ServerKeys {
        try await ServerKeys(
            DataFolder(path), secret: secret, sharedBy: database, time: SystemTime(), random: SeededRandom(seed))
    }

    @Test func `nodes with one secret and folders of their own have the same keys`() async throws {
        let (first, second) = (folder.file("first"), folder.file("second"))
        let database = try await TestDatabase.make()
        async let one = keys(first, secret, database, 1)
        async let two = keys(second, secret, database, 2)
        let (a, b) = try await (one, two)
        #expect(a.identity.publicKey.pem == b.identity.publicKey.pem)
        #expect(a.sealing.bytes == b.sealing.bytes)
        #expect(a.embeddedClientSecret == b.embeddedClientSecret)
        #expect(!FileManager.default.fileExists(atPath: first + "/secret.key"))
        let rows = try await database.read { sql in try sql.query("SELECT * FROM server_key") }
        let text = rows.flatMap(\.values).compactMap(\.blob).map { String(decoding: $0, as: UTF8.self) }.joined()
        #expect(!text.contains("PRIVATE KEY"), "at rest it is sealed")
    }

    @Test func `a node with another secret is refused and told what to do`() async throws {
        let path = folder.file("data")
        let database = try await TestDatabase.make()
        _ = try await keys(path, secret, database)
        let error = await #expect(throws: NacreError.self) { _ = try await keys(path, nil, database) }
        #expect(error?.code == "server.secret_differs")
        #expect(error?.message.contains("NACRE_SECRET_FILE") == true)
    }

    @Test func `a folder that served alone brings its identity key along`() async throws {
        let path = folder.file("data")
        let alone = try ServerKeys(DataFolder(path), random: SeededRandom(3))
        let shared = try await keys(path, nil, TestDatabase.make())
        #expect(shared.identity.publicKey.pem == alone.identity.publicKey.pem)
        #expect(shared.sealing.bytes == alone.sealing.bytes)
    }
}
