// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation

extension ServerConfiguration {
    /// The address of the PostgreSQL database, where there is one.
    var postgres: String? { isShared ? database : nil }

    /// The path of a SQLite database that is not one of the data folder's own.
    var databaseFile: String? { isShared ? nil : database }

    /// Whether that database is the file `path`.
    func isDatabase(_ path: String) -> Bool {
        databaseFile.map { URL(filePath: $0).standardized.path == URL(filePath: path).standardized.path } ?? false
    }

    /// Where its tables are.
    var databasePlace: DatabasePlace { postgres != nil ? .postgres : databaseFile != nil ? .file : .folder }
}

/// Where the tables of an installation are, or were when it was backed up.
enum DatabasePlace: Sendable, Equatable {
    /// SQLite files in the data folder.
    case folder
    /// A SQLite file in a place of its own.
    case file
    /// A PostgreSQL database.
    case postgres

    /// What a sentence calls it.
    var name: String {
        switch self {
        case .folder: "SQLite files in the data folder"
        case .file: "a SQLite file of its own place"
        case .postgres: "a PostgreSQL database"
        }
    }

    /// What to do so that a configuration is for it.
    var remedy: String {
        switch self {
        case .folder: "take \"database\" (NACRE_DATABASE) out of the configuration"
        case .file: "set \"database\" (NACRE_DATABASE) to the path where that file goes"
        case .postgres: "set \"database\" (NACRE_DATABASE) to the URL of the PostgreSQL database that it goes to"
        }
    }
}
