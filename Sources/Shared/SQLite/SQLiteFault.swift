// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CSQLite
import NacreCore

/// Turns SQLite's result codes into errors that say what to do. Parameters never reach an error.
enum SQLiteFault {
    static func error(_ result: Int32, extended: Int32, detail: String, doing: String) -> NacreError {
        let (code, remedy) = meaning(result, extended: extended)
        return NacreError(code, "\(doing): \(detail). \(remedy)")
    }

    /// The extended codes are composed macros, which Swift imports only in part: unique 8, primary key 6, rowid 10.
    private static func isUniqueness(_ extended: Int32) -> Bool {
        [6, 8, 10].contains((extended >> 8) & 0xFF)
    }

    private static func meaning(_ result: Int32, extended: Int32) -> (NacreError.Code, String) {
        switch result & 0xFF {
        case SQLITE_FULL: ("sqlite.disk_full", "Free space on the disk; nothing of this change was stored.")
        case SQLITE_BUSY, SQLITE_LOCKED:
            ("sqlite.busy", "Another process holds the database; try again, or stop the other process.")
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            ("sqlite.corrupt", "The file is damaged or no database; restore it from a backup.")
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
            ("sqlite.read_only", "Give this user write permission on the file and its folder.")
        case SQLITE_CANTOPEN: ("sqlite.cannot_open", "Check that the folder exists and may be written.")
        case SQLITE_IOERR:
            // SQLITE_IOERR_SHMSIZE (19): a full disk shows as a failed growth of the shared-memory file too.
            extended >> 8 == 19
                ? ("sqlite.disk_full", "Free space on the disk; nothing of this change was stored.")
                : ("sqlite.io", "The disk failed; look into the system's log.")
        case SQLITE_CONSTRAINT:
            isUniqueness(extended)
                ? ("sqlite.unique", "Use another value, or update the row that is there.")
                : ("sqlite.constraint", "The row breaks a rule of its table.")
        case SQLITE_TOOBIG, SQLITE_NOMEM: ("sqlite.too_large", "Store less at once.")
        case SQLITE_INTERRUPT: ("sqlite.interrupted", "Ask again.")
        case SQLITE_SCHEMA, SQLITE_ERROR: ("sqlite.statement", "The statement does not fit the schema.")
        default: ("sqlite.misuse", "This is a fault of the program; report it.")
        }
    }
}
