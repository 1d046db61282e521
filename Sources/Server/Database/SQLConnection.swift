// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore

/// The one SQL surface, synchronous, valid inside a `read` or `write` closure only.
///
/// Write the portable subset: parameters `$1`, `$2` …, whole milliseconds for moments, `RETURNING`, upserts with
/// `ON CONFLICT`, no JSON operators. Text in double quotes is a name.
///
/// Errors are `NacreError`s: `database.unique` (a row of that key is there), `database.constraint`, `database.busy`,
/// `database.disk_full`, `database.corrupt`, `database.read_only`, `database.io`, `database.statement`, `database.value`,
/// and of a database elsewhere `database.unreachable`, `database.timeout`, `database.commit_unknown`.
///
/// A statement that failed ends the transaction: whatever is asked after it fails with the same error, and nothing is
/// stored. Use `ON CONFLICT` where a row may be there already.
public protocol SQLConnection {
    /// Runs one statement; returns how many rows it inserted, changed or deleted.
    @discardableResult
    func execute(_ sql: String, _ arguments: [SQLValue]) throws(NacreError) -> Int
    /// All rows that one statement answers (also an INSERT, UPDATE or DELETE with `RETURNING`).
    func query(_ sql: String, _ arguments: [SQLValue]) throws(NacreError) -> [SQLRow]
    /// Hands the rows to `body` one by one, without holding them all; `body` answers false to stop.
    func forEachRow(
        _ sql: String, _ arguments: [SQLValue], _ body: (SQLRow) throws(NacreError) -> Bool
    ) throws(NacreError)
    /// Runs several statements separated by semicolons, without parameters.
    func executeScript(_ sql: String) throws(NacreError)
}

extension SQLConnection {
    /// Runs one statement without parameters.
    @discardableResult
    public func execute(_ sql: String) throws(NacreError) -> Int { try execute(sql, []) }
    /// All rows that one statement without parameters answers.
    public func query(_ sql: String) throws(NacreError) -> [SQLRow] { try query(sql, []) }
    /// The first row, or nil.
    public func first(_ sql: String, _ arguments: [SQLValue] = []) throws(NacreError) -> SQLRow? {
        try query(sql, arguments).first
    }
}
