// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreDatabase

/// What only each database's own words can do.
extension Database {
    private var isPostgres: Bool { backend.dialect.identifier.contains("IDENTITY") }

    /// Makes every `action` (INSERT, UPDATE or DELETE) on `table` fail until `allow`.
    package func refuse(_ action: String, on table: String) async throws {
        let script =
            isPostgres
            ? """
            CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '23000'; END $$;
            CREATE TRIGGER refuse_\(table) BEFORE \(action) ON \(table) FOR EACH ROW EXECUTE FUNCTION refuse()
            """
            : "CREATE TRIGGER refuse_\(table) BEFORE \(action) ON \(table) BEGIN SELECT RAISE(ABORT, 'no'); END"
        try await write { sql in try sql.executeScript(script) }
    }

    /// Takes `refuse` back.
    package func allow(on table: String) async throws {
        let script = "DROP TRIGGER refuse_\(table)" + (isPostgres ? " ON \(table)" : "")
        try await write { sql in try sql.executeScript(script) }
    }

    /// The names of the tables.
    package func tables() async throws -> [String] {
        let question =
            isPostgres
            ? "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()"
            : "SELECT name FROM sqlite_master WHERE type = 'table'"
        return try await read { sql in try sql.query(question).map { try $0.text("name") } }
    }

    /// The names of the indexes.
    package func indexes() async throws -> [String] {
        let question =
            isPostgres
            ? "SELECT indexname AS name FROM pg_indexes WHERE schemaname = current_schema()"
            : "SELECT name FROM sqlite_master WHERE type = 'index'"
        return try await read { sql in try sql.query(question).map { try $0.text("name") } }
    }

    /// Doubles the rows of `table` so many times; each copy gets an `id` of its own, and nothing in the columns of `empty`.
    package func double(
        _ table: String, times: Int, empty: [String] = ["row_id", "handle", "browser"]
    ) async throws {
        try await write { sql in
            let columns = try sql.first("SELECT * FROM \(table) LIMIT 1")?.columns ?? []
            let kept = columns.filter { !empty.contains($0) }
            for round in 0..<times {
                let values = kept.map { $0 == "id" ? "id || '\(round)x'" : $0 }
                try sql.execute(
                    """
                    INSERT INTO \(table) (\(kept.joined(separator: ", ")))
                    SELECT \(values.joined(separator: ", ")) FROM \(table)
                    """)
            }
        }
    }
}
