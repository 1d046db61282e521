// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// A value of a configuration script, as far as it can be read without running it.
package indirect enum ScriptValue: Equatable, Sendable {
    /// `null` or `undefined`.
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([ScriptValue])
    /// The members in the order in which they stand; a key that stands twice has its last value.
    case object([ScriptMember])
    /// The first of these variables of the environment that is set, else `fallback` (`process.env.A ?? 'x'`).
    case environment([String], fallback: ScriptValue?)
    /// What only running the script would tell.
    case unreadable(Unreadable)

    /// Why a part could not be read, and which variables of the environment it looks at.
    package struct Unreadable: Equatable, Sendable {
        /// The part as it stands, its strings left out: `process.env.X ? {…} : {…}`.
        package let text: String
        package let variables: [String]

        package init(text: String, variables: [String]) {
            self.text = text
            self.variables = variables
        }
    }
}

/// One member of an object; `key` is the name, or the text of a spread or a computed name.
package struct ScriptMember: Equatable, Sendable {
    package let key: String
    package var value: ScriptValue

    package init(_ key: String, _ value: ScriptValue) {
        self.key = key
        self.value = value
    }
}

extension ScriptValue {
    /// The text, when it is a string.
    package var string: String? { if case .string(let text) = self { text } else { nil } }
    /// The members, when it is an object.
    package var members: [ScriptMember]? { if case .object(let members) = self { members } else { nil } }

    /// The value of a JSON text; members in alphabetical order.
    package init(_ json: JSONValue) {
        switch json {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .integer(let value): self = .integer(value)
        case .number(let value): self = .number(value)
        case .string(let text): self = .string(text)
        case .array(let items): self = .array(items.map(ScriptValue.init))
        case .object(let members):
            self = .object(members.sorted { $0.key < $1.key }.map { ScriptMember($0.key, ScriptValue($0.value)) })
        }
    }

    /// The value as JSON, or nil where a part of it is not known without running the script.
    package var json: JSONValue? {
        switch self {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .integer(let value): return .integer(value)
        case .number(let value): return .number(value)
        case .string(let text): return .string(text)
        case .array(let items):
            let read = items.compactMap(\.json)
            return read.count == items.count ? .array(read) : nil
        case .object(let members):
            var read: [String: JSONValue] = [:]
            for member in members {
                guard let value = member.value.json else { return nil }
                read[member.key] = value
            }
            return .object(read)
        case .environment, .unreadable: return nil
        }
    }
}
