// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Any JSON value. Integers stay exact; objects keep no order and no duplicate keys.
public enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])
}

extension JSONValue {
    /// The member of an object, or nil.
    public subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }

    /// The text, when it is a string.
    public var string: String? { if case .string(let text) = self { text } else { nil } }
    /// The truth value, when it is one.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The whole number, when it is one.
    public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    /// The elements, when it is an array.
    public var array: [JSONValue]? { if case .array(let items) = self { items } else { nil } }
    /// The members, when it is an object.
    public var object: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }
    /// Whether it is `null`.
    public var isNull: Bool { self == .null }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { _, last in last }))
    }
    public init(nilLiteral: ()) { self = .null }

    /// A string, or `null`.
    public init(_ text: String?) { self = text.map(JSONValue.string) ?? .null }
    /// An integer.
    public init(_ value: some BinaryInteger) { self = .integer(Int64(clamping: value)) }
}
