// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
package import NacreCore
package import NacreDatabase

/// The databases that one test body runs on.
package enum DatabaseKind: String, CaseIterable, Sendable, CustomStringConvertible {
    case sqlite = "SQLite"
    case postgres = "PostgreSQL"

    package var description: String { rawValue }
}

/// Databases of a test's own. The suites run twice: in memory, and with `NACRE_TEST_POSTGRES` (the URL that
/// `scripts/postgres start` prints) in a schema of their own of that PostgreSQL.
package enum TestDatabase {
    package static let variable = "NACRE_TEST_POSTGRES"

    /// The URL of the test server.
    ///
    /// - Throws: `test.postgres` that says how to start it.
    package static func server() throws(NacreError) -> String {
        guard let url = ProcessInfo.processInfo.environment[variable], !url.isEmpty else {
            throw NacreError(
                "test.postgres",
                "These tests need a PostgreSQL: run them with scripts/test sockets, or export "
                    + "\(variable)=$(scripts/postgres start).")
        }
        return url
    }

    /// What a run is on as a whole.
    package static var preset: DatabaseKind {
        ProcessInfo.processInfo.environment[variable] == nil ? .sqlite : .postgres
    }

    /// A place with nothing in it: memory, or a new schema.
    package static func place(_ kind: DatabaseKind = preset) async throws -> String {
        guard kind == .postgres else { return ":memory:" }
        let server = try server()
        let schema = "test_" + SystemRandom().identifier().lowercased().filter { $0.isLetter || $0.isNumber }
        let made = try Database.postgres(url: server, options: options(connections: 1))
        try await made.write { sql in try sql.executeScript("CREATE SCHEMA \(schema)") }
        return server + "?options=-csearch_path%3D\(schema)"
    }

    /// A database with nothing in it.
    package static func make(
        _ kind: DatabaseKind = preset, time: any TimeSource = SystemTime()
    ) async throws -> Database {
        try open(try await place(kind), time: time)
    }

    /// Another process' way to the same place.
    package static func open(
        _ place: String, connections: Int = 4, time: any TimeSource = SystemTime()
    ) throws -> Database {
        // No test pulls the plug, and thousands of commits each wait for a disk that the machine shares with others.
        guard place.hasPrefix("postgres") else { return try Database.sqlite(path: place, durable: false, time: time) }
        return try Database.postgres(url: place, options: options(connections: connections), time: time)
    }

    /// A loaded machine with few cores lets thousands of tasks wait long.
    private static func options(connections: Int) -> PostgresOptions {
        var options = PostgresOptions()
        options.connections = connections
        options.queuePatience = .seconds(120)
        options.conflictPatience = .seconds(60)
        return options
    }
}
