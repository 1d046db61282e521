// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreSQLite

/// Copies of a SQLite database that others go on writing to. Calls block for as long as the copy takes.
package enum SQLiteSnapshot {
    /// Writes the database at `path`, as of one moment, to the new file `place`, and checks the copy.
    ///
    /// - Throws: `database.snapshot` when the copy is not whole, else what the database says.
    package static func write(_ path: String, to place: String) throws(NacreError) {
        let source = try SQLiteConnection(path: path)
        _ = try source.execute("VACUUM INTO ?1", [.text(place)])
        try check(place)
    }

    /// Whether every page and index of the file is as it should be.
    ///
    /// - Throws: `database.snapshot`.
    package static func check(_ place: String) throws(NacreError) {
        let copy = try SQLiteConnection(path: place, options: SQLiteOptions(readOnly: true))
        let answer = try copy.query("PRAGMA integrity_check(1)").first?.values.first?.text
        guard answer == "ok" else {  // guard: snapshot-check
            throw NacreError(
                "database.snapshot",
                "The database \(place) is damaged (\(answer ?? "no answer")); use an earlier backup.")
        }
    }

    /// The version of each component's tables; empty for a database without any.
    package static func versions(_ path: String) throws(NacreError) -> [String: Int] {
        let database = try SQLiteConnection(path: path, options: SQLiteOptions(readOnly: true))
        let known = try database.query("SELECT 1 FROM sqlite_schema WHERE name = 'nacre_migration'")
        guard !known.isEmpty else { return [:] }
        var versions: [String: Int] = [:]
        for row in try database.query("SELECT component, MAX(version) FROM nacre_migration GROUP BY component") {
            guard let component = row.values[0].text, let version = row.values[1].integer else { continue }
            versions[component] = Int(version)
        }
        return versions
    }
}
