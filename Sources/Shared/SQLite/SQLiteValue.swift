// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// A value in a column or a parameter: SQLite's five storage classes.
package enum SQLiteValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
}

extension SQLiteValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByNilLiteral {
    package init(stringLiteral value: String) { self = .text(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(nilLiteral: ()) { self = .null }

    /// Text, or NULL.
    package init(_ text: String?) { self = text.map(SQLiteValue.text) ?? .null }
    /// A whole number, or NULL.
    package init(_ value: Int64?) { self = value.map(SQLiteValue.integer) ?? .null }
    /// Bytes, or NULL.
    package init(_ bytes: [UInt8]?) { self = bytes.map(SQLiteValue.blob) ?? .null }
    /// 1 or 0.
    package init(_ value: Bool) { self = .integer(value ? 1 : 0) }

    /// The text, when it is text.
    package var text: String? { if case .text(let text) = self { text } else { nil } }
    /// The whole number, when it is one.
    package var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    /// The bytes, when it is a blob.
    package var blob: [UInt8]? { if case .blob(let bytes) = self { bytes } else { nil } }
    /// Whether it is NULL.
    package var isNull: Bool { self == .null }
}

/// One row of an answer: values by the names of the columns.
package struct SQLiteRow: Sendable {
    /// The names of the columns, in order.
    package let columns: [String]
    /// The values, in the same order.
    package let values: [SQLiteValue]

    /// The value of the column called `name`; NULL when there is no such column.
    package subscript(name: String) -> SQLiteValue {
        guard let index = columns.firstIndex(of: name) else { return .null }
        return values[index]
    }
}
