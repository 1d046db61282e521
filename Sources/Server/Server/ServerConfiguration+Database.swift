// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase

/// The settings about where things are kept, and how the program opens them.
extension ServerConfiguration {
    mutating func readDatabase(
        _ reader: inout ConfigurationReader, _ file: String, _ environment: EnvironmentReader,
        _ readFile: (String) throws -> String
    ) throws(NacreError) {
        func secret(_ key: String, _ name: String, literal: String?) throws(NacreError) -> String? {
            let written = try reader.string(key + "File").map { Self.path($0, besides: file) }
            if let value = environment.text(name) ?? literal { return value }
            guard let path = environment.text(name + "_FILE") ?? written else { return nil }
            do { return try readFile(path).trimmingNewlines() } catch {
                throw NacreError(
                    "configuration.value", "The file \(path) cannot be read; check \"\(key)File\" (\(name)_FILE).",
                    cause: error)
            }
        }
        let written = try reader.string("database")
        database = try secret("database", "NACRE_DATABASE", literal: written)
        if let text = database, !Self.isURL(text) {
            // A misspelled scheme would silently become the name of a file.
            guard !text.isEmpty, !text.contains("://") else {  // guard: database-scheme
                throw reader.fault(
                    "database", "(NACRE_DATABASE) must be the path of a SQLite file or begin with postgres://.")
            }
            database = text == written ? Self.path(text, besides: file) : text
        }
        self.secret = try secret("secret", "NACRE_SECRET", literal: nil)
        if let secret = self.secret, ServerKeys.secret(secret) == nil {
            throw reader.fault(
                "secretFile",
                "(NACRE_SECRET, NACRE_SECRET_FILE) must hold 32 random bytes in base64url, as "
                    + "`openssl rand -base64 32 | tr '+/' '-_' | tr -d =` prints them.")
        }
    }

    static func isURL(_ text: String) -> Bool { text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") }

    /// Whether several machines may use the database, so that nothing they share may stand in one's folder.
    var isShared: Bool { database.map(Self.isURL) ?? false }

    /// The gateway's database and the embedded provider's; one for both where a place is set.
    func openDatabases(
        _ folder: DataFolder, time: any TimeSource
    ) throws(NacreError) -> (gateway: Database, provider: @Sendable () throws(NacreError) -> Database) {
        if let database {
            let opened = try Database.open(database, time: time)
            return (opened, { () throws(NacreError) in opened })
        }
        let file = folder.file("provider.sqlite")
        return (
            try .sqlite(path: folder.file("gateway.sqlite"), time: time),
            { () throws(NacreError) in try .sqlite(path: file, time: time) }
        )
    }
}
