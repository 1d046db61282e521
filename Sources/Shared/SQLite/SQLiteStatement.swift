// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CSQLite
package import NacreCore

/// A prepared statement, owned by whoever prepared it and finalized when it goes out of scope.
///
/// Bind every parameter, then `step()` until it answers false, then `reset()` to use it again.
package struct SQLiteStatement: ~Copyable {
    private let handle: OpaquePointer
    private let database: OpaquePointer
    /// The names of the result columns, in order.
    package let columns: [String]
    /// Which parameters there are: `slots[n]` is SQLite's index of the parameter written `$n+1` or `?n+1`.
    private let slots: [Int32]

    init(_ sql: String, in database: OpaquePointer) throws(NacreError) {
        var handle: OpaquePointer?
        var rest: UnsafePointer<CChar>?
        var trailing = false
        let result = sql.withCString { text in
            let result = sqlite3_prepare_v3(database, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, &rest)
            if let rest { trailing = !String(cString: rest).allSatisfy { $0.isWhitespace || $0 == ";" } }
            return result
        }
        guard result == SQLITE_OK else { throw Self.fault(result, database, "Preparing a statement failed") }
        guard let handle else {
            throw NacreError("sqlite.statement", "The statement is empty; write one SQL statement.")
        }
        let slots = Self.slots(of: handle)
        guard !trailing, let slots else {
            sqlite3_finalize(handle)
            throw trailing
                ? NacreError("sqlite.statement", "There is text after the first statement; write one statement.")
                : NacreError("sqlite.statement", "Parameters are written $1, $2 and so on.")
        }
        self.handle = handle
        self.database = database
        self.slots = slots
        columns = (0..<sqlite3_column_count(handle)).map { String(cString: sqlite3_column_name(handle, $0)) }
    }

    /// "$2" and "?2" are numbered by us; a bare "?" has no name and counts in order. Nil when one is named otherwise.
    private static func slots(of handle: OpaquePointer) -> [Int32]? {
        var slots: [Int32] = []
        for index in stride(from: 1, through: sqlite3_bind_parameter_count(handle), by: 1) {
            let name = sqlite3_bind_parameter_name(handle, index).map { String(cString: $0) }
            let number = name.map { Int($0.dropFirst()) ?? 0 } ?? Int(index)
            guard (1...999).contains(number) else { return nil }
            while slots.count < number { slots.append(0) }
            slots[number - 1] = index
        }
        return slots
    }

    deinit { sqlite3_finalize(handle) }

    private static func fault(_ result: Int32, _ database: OpaquePointer, _ doing: String) -> NacreError {
        SQLiteFault.error(
            result, extended: sqlite3_extended_errcode(database),
            detail: String(cString: sqlite3_errmsg(database)), doing: doing)
    }

    /// How many parameters it takes.
    package var parameterCount: Int { slots.count }
    /// Whether it leaves the database as it is.
    package var isReadOnly: Bool { sqlite3_stmt_readonly(handle) != 0 }

    /// Binds parameter `$number` (from 1).
    package func bind(_ number: Int, _ value: SQLiteValue) throws(NacreError) {
        guard (1...slots.count).contains(number) else {
            throw NacreError("sqlite.statement", "The statement has no parameter $\(number).")
        }
        let index = slots[number - 1]
        guard index > 0 else { return }
        let result =
            switch value {
            case .null: sqlite3_bind_null(handle, index)
            case .integer(let value): sqlite3_bind_int64(handle, index, value)
            case .real(let value): sqlite3_bind_double(handle, index, value)
            case .text(var text):
                text.withUTF8 { bytes in
                    bytes.withMemoryRebound(to: CChar.self) {
                        // An empty Swift string may have no address, which SQLite would read as NULL.
                        $0.baseAddress == nil
                            ? nacre_sqlite_bind_text(handle, index, "", 0)
                            : nacre_sqlite_bind_text(handle, index, $0.baseAddress, Int32($0.count))
                    }
                }
            case .blob(let bytes):
                bytes.isEmpty
                    ? sqlite3_bind_zeroblob(handle, index, 0)
                    : nacre_sqlite_bind_blob(handle, index, bytes, Int32(bytes.count))
            }
        guard result == SQLITE_OK else { throw Self.fault(result, database, "Binding a parameter failed") }
    }

    /// Binds all parameters in order; there must be exactly as many values as parameters.
    package func bind(_ values: [SQLiteValue]) throws(NacreError) {
        guard values.count == slots.count else {
            throw NacreError("sqlite.statement", "The statement takes \(slots.count) values, not \(values.count).")
        }
        for (index, value) in values.enumerated() { try bind(index + 1, value) }
    }

    /// Goes to the next row; false at the end.
    package func step() throws(NacreError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let result: throw Self.fault(result, database, "A statement failed")
        }
    }

    /// Makes it ready to be used again and lets go of the values it held.
    package func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    /// The value of column `index` (from 0) of the present row.
    package func value(_ index: Int) -> SQLiteValue {
        let index = Int32(index)
        switch sqlite3_column_type(handle, index) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(handle, index))
        case SQLITE_FLOAT: return .real(sqlite3_column_double(handle, index))
        case SQLITE_TEXT:
            guard let text = sqlite3_column_text(handle, index) else { return .text("") }
            let count = Int(sqlite3_column_bytes(handle, index))
            return .text(String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self))
        case SQLITE_BLOB:
            guard let bytes = sqlite3_column_blob(handle, index) else { return .blob([]) }
            let count = Int(sqlite3_column_bytes(handle, index))
            return .blob([UInt8](UnsafeRawBufferPointer(start: bytes, count: count)))
        default: return .null
        }
    }

    /// The values of the present row, in the order of the columns.
    package func values() -> [SQLiteValue] { columns.indices.map { value($0) } }
}
