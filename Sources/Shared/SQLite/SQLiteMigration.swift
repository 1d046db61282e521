// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// One step of the schema of a database file.
package typealias SQLiteMigration = SchemaStep

extension SQLiteConnection {
    /// Brings the schema to the last of `migrations`; each step is one transaction, recorded with its checksum.
    ///
    /// - Throws: `sqlite.migration_newer` when the file was made by a newer program, `sqlite.migration_changed` when a
    ///   released step was edited.
    package func migrate(_ migrations: [SQLiteMigration], now: Instant) throws {
        try executeScript(
            """
            CREATE TABLE IF NOT EXISTS nacre_migration
            (version INTEGER PRIMARY KEY, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL)
            """)
        let rows = try query("SELECT version, checksum FROM nacre_migration ORDER BY version")
        var done = rows.map { (version: Int($0["version"].integer ?? 0), checksum: $0["checksum"].text) }
        let current = Int(try query("PRAGMA user_version").first?.values.first?.integer ?? 0)
        // The file's own number says so too when a newer program keeps its steps elsewhere.
        while current > migrations.count, done.count < current { done.append((done.count + 1, nil)) }
        let remaining = try SchemaStep.remaining(
            migrations, after: done, in: "The tables of this file", layer: "sqlite")
        for migration in remaining {
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
