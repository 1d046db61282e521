// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CPostgres
import NacreCore

/// What to do after a failed statement, besides telling.
enum PostgresRemedy: Sendable {
    /// Nothing: the same would fail again.
    case none
    /// Another transaction came in between: run this one again.
    case again
    /// A statement was planned before a table changed: forget the plans and run the transaction again.
    case planAgain
    /// The connection is gone, and with it what the transaction did: run it again on a new one.
    case reconnect
}

/// Turns the states of PostgreSQL (its manual, appendix A) into this layer's errors. Values never reach an error: only
/// the primary message is used, never the detail.
enum PostgresFault {
    /// Error and remedy for a failed result.
    static func judged(_ result: OpaquePointer, reading: Bool) -> (NacreError, PostgresRemedy) {
        let state = nacre_pg_sqlstate(result).map { String(cString: $0) } ?? ""
        let detail = nacre_pg_message(result).map { String(cString: $0) } ?? "the connection failed"
        let constraint = nacre_pg_constraint(result).map { String(cString: $0) }
        let (code, remedy, advice) = meaning(state, reading: reading)
        let named = constraint.map { " (\($0))" } ?? ""
        return (NacreError(code, "A statement failed: \(detail)\(named). \(advice)"), remedy)
    }

    /// Code, remedy and advice for a state.
    static func meaning(_ state: String, reading: Bool) -> (NacreError.Code, PostgresRemedy, String) {
        switch state {
        case "23505": ("database.unique", .none, "Use another value, or update the row that is there.")
        case "40001", "40P01":
            ("database.busy", .again, "Too much was changed at the same time; try again.")  // guard: postgres-conflict
        case "0A000", "26000": ("database.statement", .planAgain, "The tables changed meanwhile; try again.")
        case "53100": ("database.disk_full", .none, "Free space on the database's disk; nothing of this was stored.")
        case "25006" where reading:
            ("database.read_only", .none, "A statement inside read { } changes something; use write { }.")
        case "25006":
            (
                "database.read_only", .none,
                "The database takes no changes; is it a standby? Name the primary in the database's URL."
            )
        case "57014": ("database.timeout", .none, "The statement took too long and was stopped.")
        case "55P03", "53300": ("database.busy", .none, "Others hold the database; try again.")
        case "57P01", "57P02", "57P03", "57P05", "25P03", "08000", "08003", "08006", "":
            ("database.unreachable", .reconnect, "Start the database, or correct its URL.")
        case "53200", "53400", "54000", "54001": ("database.too_large", .none, "Store less at once.")
        case "58030": ("database.io", .none, "The database's disk failed; look into its log.")
        case "XX001", "XX002": ("database.corrupt", .none, "The database is damaged; restore it from a backup.")
        case "42501": ("database.permission", .none, "Give the database's user the right to do this.")
        default:
            switch state.prefix(2) {
            case "23": ("database.constraint", .none, "The row breaks a rule of its table.")
            case "22": ("database.value", .none, "The value does not fit the column.")
            default: ("database.statement", .none, "The statement does not fit the schema.")
            }
        }
    }
}
