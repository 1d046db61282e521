// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// One step of a schema. Versions count 1, 2, 3 …; a step never changes once it has been released.
package struct SQLiteMigration: Sendable {
    /// The version the database has after this step.
    package let version: Int
    /// The statements, separated by semicolons.
    package let script: String

    /// A step to `version`.
    package init(_ version: Int, _ script: String) {
        self.version = version
        self.script = script
    }

    /// A sum over the script that shows an edit after release (FNV-1a; no protection against intent).
    var checksum: String {
        var sum: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in script.utf8 { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(sum, radix: 16)
    }
}

extension SQLiteConnection {
    /// Brings the schema to the last of `migrations`; each step is one transaction, recorded with its checksum.
    ///
    /// - Throws: `sqlite.migration_newer` when the file was made by a newer program, `sqlite.migration_changed` when a
    ///   released step was edited.
    package func migrate(_ migrations: [SQLiteMigration], now: Instant) throws {
        precondition(migrations.map(\.version) == migrations.indices.map { $0 + 1 }, "versions count 1, 2, 3 …")
        try executeScript(
            """
            CREATE TABLE IF NOT EXISTS nacre_migration
            (version INTEGER PRIMARY KEY, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL)
            """)
        let done = try query("SELECT version, checksum FROM nacre_migration ORDER BY version")
        let current = Int(try query("PRAGMA user_version").first?.values.first?.integer ?? 0)
        guard current <= migrations.count, done.count <= migrations.count else {
            throw NacreError(
                "sqlite.migration_newer",
                "The database has schema version \(max(current, done.count)), this program knows \(migrations.count); "
                    + "install the newer program.")
        }
        for row in done {
            let version = Int(row["version"].integer ?? 0)
            guard version >= 1, migrations[version - 1].checksum == row["checksum"].text else {
                throw NacreError(
                    "sqlite.migration_changed",
                    "Schema step \(version) differs from the one this database was made with; add a new step instead.")
            }
        }
        for migration in migrations.dropFirst(done.count) {
            try transaction { connection in
                try connection.executeScript(migration.script)
                try connection.execute(
                    "INSERT INTO nacre_migration (version, checksum, applied_at) VALUES ($1, $2, $3)",
                    [
                        .integer(Int64(migration.version)), .text(migration.checksum), .integer(now.milliseconds),
                    ])
                try connection.execute("PRAGMA user_version=\(migration.version)")
            }
        }
    }
}
