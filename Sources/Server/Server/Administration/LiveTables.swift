// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase

/// The tables of the PostgreSQL database that a configuration names, as they are now.
struct LiveTables: Sendable {
    /// Each with its schema, such as `public.session`, in order.
    let tables: [String]
    /// The version of each component's tables.
    let versions: [String: Int]

    init(_ configuration: ServerConfiguration, time: any TimeSource) async throws {
        let database = try Database.open(configuration.database ?? "", time: time)
        (tables, versions) = try await database.read { sql -> ([String], [String: Int]) in
            let tables = try sql.query(
                """
                SELECT table_schema || '.' || table_name AS name FROM information_schema.tables
                WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY 1
                """
            ).map { row in try row.text("name") }
            guard tables.contains(where: { $0.hasSuffix(".nacre_migration") }) else { return (tables, [:]) }
            var versions: [String: Int] = [:]
            for row in try sql.query(
                "SELECT component, MAX(version) AS version FROM nacre_migration GROUP BY component")
            { versions[try row.text("component")] = Int(try row.integer("version")) }
            return (tables, versions)
        }
    }

    /// Drops tables, each named with its schema.
    static func drop(_ tables: [String], _ configuration: ServerConfiguration, time: any TimeSource) async throws {
        let database = try Database.open(configuration.database ?? "", time: time)
        try await database.write { sql in
            for table in tables {
                let parts = table.split(separator: ".", maxSplits: 1).map {
                    "\"" + $0.replacing("\"", with: "\"\"") + "\""
                }
                try sql.execute("DROP TABLE IF EXISTS \(parts.joined(separator: ".")) CASCADE")
            }
        }
    }
}
