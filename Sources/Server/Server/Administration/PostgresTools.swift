// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore

/// PostgreSQL's own dump and restore (Debian package postgresql-client). Calls block until they are done.
///
/// The password goes through the environment: a command line can be read by everybody on the machine.
struct PostgresTools: Sendable {
    /// The database's address without the password.
    let address: String
    let password: String?

    /// Reads `postgres://user:password@host/name?…`.
    init(_ url: String) throws(NacreError) {
        guard var parts = URLComponents(string: url) else {
            throw NacreError("database.url", "The address of the database cannot be read; check \"database\".")
        }
        var password = parts.password
        parts.password = nil  // guard: dump-password
        if let items = parts.queryItems {
            password = items.first { $0.name == "password" }?.value ?? password
            let kept = items.filter { $0.name != "password" }
            parts.queryItems = kept.isEmpty ? nil : kept
        }
        guard let address = parts.string else {
            throw NacreError("database.url", "The address of the database cannot be read; check \"database\".")
        }
        self.address = address
        self.password = password
    }

    /// Writes a dump of one moment to `place`.
    func dump(to place: String) throws {
        try run(
            "pg_dump", ["--format=custom", "--no-owner", "--no-privileges", "--file=\(place)", "--dbname=\(address)"])
    }

    /// Replaces the tables by those of a dump, all of them or none.
    func restore(from place: String) throws {
        try run(
            "pg_restore",
            [
                "--clean", "--if-exists", "--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error",
                "--dbname=\(address)", place,
            ])
    }

    private func run(_ name: String, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [name] + arguments
        var environment = ProcessInfo.processInfo.environment
        environment["PGPASSWORD"] = password ?? environment["PGPASSWORD"]
        process.environment = environment
        let errors = Pipe()
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        do { try process.run() } catch {
            throw NacreError(
                "postgres.tool", "\(name) cannot be run; install the package postgresql-client.", cause: error)
        }
        let text = String(decoding: (try? errors.fileHandleForReading.readToEnd()) ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            var line = text.split(separator: "\n").first.map(String.init) ?? "no reason given"
            if let password, !password.isEmpty { line = line.replacingOccurrences(of: password, with: "[redacted]") }
            throw NacreError(
                "postgres.tool",
                process.terminationStatus == 127
                    ? "\(name) is not installed; install the package postgresql-client."
                    : "\(name) failed: \(line)")
        }
    }
}

extension ServerConfiguration {
    /// The address of the PostgreSQL database, where there is one.
    var postgres: String? { isShared ? database : nil }

    /// The path of a SQLite database that is not one of the data folder's own.
    var databaseFile: String? { isShared ? nil : database }

    /// Whether that database is the file `path`.
    func isDatabase(_ path: String) -> Bool {
        databaseFile.map { URL(filePath: $0).standardized.path == URL(filePath: path).standardized.path } ?? false
    }
}
