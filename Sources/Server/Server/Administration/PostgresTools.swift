// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreDatabase

/// PostgreSQL's own dump and restore (Debian package postgresql-client), which get in exactly as the server does. Calls block
/// until they are done.
///
/// No secret is on a command line, which everybody on the machine can read: the password goes through the environment, any
/// other secret through a file of this user's that lives as long as the call.
struct PostgresTools: Sendable {
    let access: PostgresAccess
    /// The environment of the call: where the tools are, and what libpq takes from it.
    let environment: [String: String]
    /// A folder that only this user may enter.
    let scratch: String

    /// - Throws: `database.url`.
    init(_ url: String, environment: [String: String], scratch: String) throws(NacreError) {
        access = try PostgresAccess(url: url)
        // Our own settings, secrets among them, are nothing to the tools.
        self.environment = environment.filter { !$0.key.hasPrefix("NACRE_") }  // guard: dump-environment
        self.scratch = scratch
    }

    /// Writes a dump of one moment to `place`.
    func dump(to place: String) throws {
        try connected("pg_dump", ["--format=custom", "--no-owner", "--no-privileges", "--file=\(place)"])
    }

    /// Replaces the tables by those of a dump, all of them or none.
    func restore(from place: String) throws {
        try connected(
            "pg_restore",
            [
                "--clean", "--if-exists", "--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error",
                place,
            ])
    }

    /// What is in a dump.
    func contents(of dump: String) throws -> PostgresDump {
        let output = scratch + "/contents"
        defer { try? FileManager.default.removeItem(atPath: output) }
        try run("pg_restore", ["--list", "--file=\(output)", dump], environment)
        let list = try String(contentsOfFile: output, encoding: .utf8)
        try run(
            "pg_restore", ["--data-only", "--table=nacre_migration", "--file=\(output)", dump], environment)
        return PostgresDump(list: list, migrations: try String(contentsOfFile: output, encoding: .utf8))
    }

    /// Runs a tool that talks with the database. It never asks for a password: nobody may be there to answer.
    private func connected(_ name: String, _ arguments: [String]) throws {
        var environment = environment
        if let password = access.password { environment["PGPASSWORD"] = password }
        var address = access.connectionString
        let service = scratch + "/pg_service.conf"
        if let text = try access.serviceFile(environment: { [environment] in environment[$0] }) {
            try PrivateFile.replace(service, Array(text.utf8))
            environment["PGSERVICEFILE"] = service
            address += " service=" + PostgresAccess.service
        }
        defer { unlink(service) }  // guard: dump-service
        try run(name, ["--no-password", "--dbname=\(address)"] + arguments, environment)
    }

    private func run(_ name: String, _ arguments: [String], _ environment: [String: String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [name] + arguments
        process.environment = environment
        let errors = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        do { try process.run() } catch {
            throw NacreError(
                "postgres.tool", "\(name) cannot be run; install the package postgresql-client.", cause: error)
        }
        let text = String(decoding: (try? errors.fileHandleForReading.readToEnd()) ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            let line = text.split(separator: "\n").first.map(String.init) ?? "no reason given"
            throw NacreError(
                "postgres.tool",
                process.terminationStatus == 127
                    ? "\(name) is not installed; install the package postgresql-client."
                    : "\(name) failed: \(access.redacted(line))")
        }
    }
}

/// What is in a dump, as `pg_restore` tells it.
struct PostgresDump: Sendable, Equatable {
    /// The tables, each with its schema, such as `public.session`.
    let tables: Set<String>
    /// The version of each component's tables.
    let versions: [String: Int]

    /// Reads the list of a dump and the data of its table of migrations.
    init(list: String, migrations: String) {
        tables = Set(
            list.split(separator: "\n").compactMap { line in
                // "215; 1259 16388 TABLE public session nacre"; lines about data and comments have other words there.
                let words = line.split(separator: " ")
                guard words.count >= 6, words[3] == "TABLE", words[4] != "DATA", !line.hasPrefix(";") else {
                    return nil
                }
                return "\(words[4]).\(words[5])"
            })
        var versions: [String: Int] = [:]
        var columns: [String] = []
        for line in migrations.split(separator: "\n") {
            if line.hasPrefix("COPY "), let open = line.firstIndex(of: "("), let close = line.lastIndex(of: ")") {
                columns = line[line.index(after: open)..<close].split(separator: ",").map {
                    $0.trimmingCharacters(in: .whitespaces)
                }
            } else if line == "\\." {
                columns = []
            } else if !columns.isEmpty {
                let values = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
                let row = Dictionary(zip(columns, values)) { first, _ in first }
                guard let component = row["component"], let version = row["version"].flatMap({ Int($0) }) else {
                    continue
                }
                versions[component] = max(version, versions[component] ?? 0)
            }
        }
        self.versions = versions
    }
}
