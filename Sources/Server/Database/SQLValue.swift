// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore

/// A value in a column or a parameter. Moments are whole milliseconds, truth values 0 and 1, on every database.
public enum SQLValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
}

extension SQLValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByNilLiteral,
    ExpressibleByBooleanLiteral
{
    public init(stringLiteral value: String) { self = .text(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(booleanLiteral value: Bool) { self = .integer(value ? 1 : 0) }
    public init(nilLiteral: ()) { self = .null }

    /// Text, or NULL.
    public init(_ text: String?) { self = text.map(SQLValue.text) ?? .null }
    /// A whole number, or NULL.
    public init(_ value: Int64?) { self = value.map(SQLValue.integer) ?? .null }
    /// A whole number.
    public init(_ value: Int) { self = .integer(Int64(value)) }
    /// Bytes, or NULL.
    public init(_ bytes: [UInt8]?) { self = bytes.map(SQLValue.blob) ?? .null }
    /// 1 or 0.
    public init(_ value: Bool) { self = .integer(value ? 1 : 0) }
    /// A moment in milliseconds, or NULL.
    public init(_ moment: Instant?) { self = moment.map { .integer($0.milliseconds) } ?? .null }

    /// The text, when it is text.
    public var text: String? { if case .text(let text) = self { text } else { nil } }
    /// The whole number, when it is one.
    public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    /// The bytes, when it is a blob.
    public var blob: [UInt8]? { if case .blob(let bytes) = self { bytes } else { nil } }
    /// The moment, when it is a whole number of milliseconds.
    public var moment: Instant? { integer.map { Instant(milliseconds: $0) } }
    /// Whether it is NULL.
    public var isNull: Bool { self == .null }
}
