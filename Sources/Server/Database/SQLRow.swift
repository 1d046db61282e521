// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore

/// One row of an answer: values by the names of the columns.
///
/// The throwing readers (`text`, `integer` …) are for columns that are NOT NULL in the schema; a subscript answers
/// `.null` for a column that is not there.
public struct SQLRow: Sendable {
    /// The names of the columns, in order.
    public let columns: [String]
    /// The values, in the same order.
    public let values: [SQLValue]

    package init(columns: [String], values: [SQLValue]) {
        self.columns = columns
        self.values = values
    }

    /// The value of the column called `name`; NULL when there is no such column.
    public subscript(name: String) -> SQLValue {
        guard let index = columns.firstIndex(of: name) else { return .null }
        return values[index]
    }

    private func fault(_ name: String, _ wanted: String) -> NacreError {
        NacreError("database.column", "The column \"\(name)\" is missing or holds no \(wanted).")
    }

    /// The text of a column. - Throws: `database.column` when it holds none.
    public func text(_ name: String) throws(NacreError) -> String {
        guard let value = self[name].text else { throw fault(name, "text") }
        return value
    }

    /// The whole number of a column. - Throws: `database.column` when it holds none.
    public func integer(_ name: String) throws(NacreError) -> Int64 {
        guard let value = self[name].integer else { throw fault(name, "whole number") }
        return value
    }

    /// The bytes of a column. - Throws: `database.column` when it holds none.
    public func blob(_ name: String) throws(NacreError) -> [UInt8] {
        guard let value = self[name].blob else { throw fault(name, "bytes") }
        return value
    }

    /// The truth value of a column. - Throws: `database.column` when it holds none.
    public func bool(_ name: String) throws(NacreError) -> Bool { try integer(name) != 0 }

    /// The moment of a column. - Throws: `database.column` when it holds none.
    public func moment(_ name: String) throws(NacreError) -> Instant { Instant(milliseconds: try integer(name)) }
}
