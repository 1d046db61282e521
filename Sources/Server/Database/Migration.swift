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

    static func apply(
        _ migrations: [Migration], of component: String, to sql: any SQLConnection, dialect: SQLDialect, now: Instant
    ) throws(NacreError) {
        try sql.executeScript(
            """
            CREATE TABLE IF NOT EXISTS nacre_migration (
                component TEXT NOT NULL, version BIGINT NOT NULL, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL,
                PRIMARY KEY (component, version))
            """)
        let done = try sql.query(
            "SELECT version, checksum FROM nacre_migration WHERE component = $1 ORDER BY version", [.text(component)])
        let history = try done.map { row throws(NacreError) in
            (version: Int(try row.integer("version")), checksum: row["checksum"].text)
        }
        let steps = migrations.map { SchemaStep($0.version, $0.script) }
        let remaining = try SchemaStep.remaining(
            steps, after: history, in: "The tables of \(component)", layer: "database")
        for migration in remaining {
            try sql.executeScript(dialect.expand(migration.script))
            try sql.execute(
                "INSERT INTO nacre_migration (component, version, checksum, applied_at) VALUES ($1, $2, $3, $4)",
                [.text(component), SQLValue(migration.version), .text(migration.checksum), SQLValue(now)])
        }
    }
}
