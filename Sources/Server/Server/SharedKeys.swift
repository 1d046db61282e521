// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase

/// What the nodes of one database must agree on: the secret that everything is sealed with, and the key under the
/// identities. It stands in the database, sealed with the secret, which itself never does.
struct SharedKeys: Sendable {
    static let component = "keys"
    static let migrations = [
        Migration(
            1,
            """
            CREATE TABLE server_key (name TEXT NOT NULL PRIMARY KEY, sealed BYTEA NOT NULL, created_at BIGINT NOT NULL);
            """)
    ]

    let database: Database
    let sealing: SealingKey
    let time: any TimeSource
    let random: any RandomSource

    private static func context(_ name: String) -> [UInt8] { Array("server_key/\(name)".utf8) }

    /// Creates the table and checks that this node has the secret of the others.
    ///
    /// - Throws: `server.secret_differs`.
    func prepare() async throws {
        try await database.migrate(Self.component, Self.migrations)
        _ = try await value("check") { "nacre" }
    }

    /// The text under `name`, made by `make` where there is none yet. Of several nodes that start at once, one wins.
    func value(_ name: String, make: () throws -> String) async throws -> String {
        if let known = try await database.read({ try Self.row(name, $0) }) { return try open(known, name) }
        let sealed = try sealing.seal(Array(make().utf8), context: Self.context(name), random: random)
        let now = time.now
        let stored = try await database.write { sql in
            try sql.execute(
                "INSERT INTO server_key (name, sealed, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING",
                [.text(name), .blob(sealed), SQLValue(now)])
            return try Self.row(name, sql)
        }
        return try open(stored ?? sealed, name)
    }

    private static func row(_ name: String, _ sql: any SQLConnection) throws(NacreError) -> [UInt8]? {
        try sql.first("SELECT sealed FROM server_key WHERE name = $1", [.text(name)])
            .map { row throws(NacreError) in try row.blob("sealed") }
    }

    private func open(_ sealed: [UInt8], _ name: String) throws(NacreError) -> String {
        do {
            return String(decoding: try sealing.open(sealed, context: Self.context(name)), as: UTF8.self)
        } catch {
            throw NacreError(  // guard: shared-secret
                "server.secret_differs",
                "This database belongs to another secret; give every node the same one: copy secret.key of the first "
                    + "node's data folder, or set NACRE_SECRET_FILE.", cause: error)
        }
    }
}
