// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// One step of a component's schema. Versions count 1, 2, 3 …; a step never changes once it has been released.
public struct Migration: Sendable {
    /// The version the component's tables have after this step.
    public let version: Int
    /// The statements, separated by semicolons.
    public let script: String

    /// A step to `version`.
    public init(_ version: Int, _ script: String) {
        self.version = version
        self.script = script
    }

    /// A sum over the script that shows an edit after release (FNV-1a; no protection against intent).
    var checksum: String {
        var sum: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in script.utf8 { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(sum, radix: 16)
    }

    static func apply(
        _ migrations: [Migration], of component: String, to sql: any SQLConnection, dialect: SQLDialect, now: Instant
    ) throws(NacreError) {
        precondition(migrations.map(\.version) == migrations.indices.map { $0 + 1 }, "versions count 1, 2, 3 …")
        try sql.executeScript(
            """
            CREATE TABLE IF NOT EXISTS nacre_migration (
                component TEXT NOT NULL, version BIGINT NOT NULL, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL,
                PRIMARY KEY (component, version))
            """)
        let done = try sql.query(
            "SELECT version, checksum FROM nacre_migration WHERE component = $1 ORDER BY version", [.text(component)])
        guard done.count <= migrations.count else {  // guard: migration-newer
            throw NacreError(
                "database.migration_newer",
                "The tables of \(component) have version \(done.count), this program knows \(migrations.count); "
                    + "install the newer program.")
        }
        for (row, migration) in zip(done, migrations) {
            guard try row.integer("version") == migration.version, row["checksum"].text == migration.checksum else {
                throw NacreError(
                    "database.migration_changed",
                    "Step \(migration.version) of \(component) differs from the one these tables were made with; "
                        + "add a new step instead.")
            }
        }
        for migration in migrations.dropFirst(done.count) {
            try sql.executeScript(dialect.expand(migration.script))
            try sql.execute(
                "INSERT INTO nacre_migration (component, version, checksum, applied_at) VALUES ($1, $2, $3, $4)",
                [.text(component), SQLValue(migration.version), .text(migration.checksum), SQLValue(now)])
        }
    }
}
