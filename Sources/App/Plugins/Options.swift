// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreBridge
package import NacreCore

extension JSONValue {
    /// The number, whole or not.
    package var real: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }
}

extension BridgeRejection {
    /// A call whose options cannot be right.
    static func invalid(_ message: String) -> BridgeRejection { BridgeRejection(code: "INVALID", message: message) }
}

/// Options of one call, read by the words of its method.
struct Options {
    let method: String
    let values: JSONValue

    init(_ method: String, _ values: JSONValue) {
        self.method = method
        self.values = values
    }

    subscript(name: String) -> JSONValue? { values[name].flatMap { $0.isNull ? nil : $0 } }

    /// A text that must be there.
    func text(_ name: String) throws -> String {
        guard let text = self[name]?.string else {
            throw BridgeRejection.invalid("\(method) needs {\(name): string}.")
        }
        return text
    }

    /// A truth value that must be there.
    func flag(_ name: String) throws -> Bool {
        guard let flag = self[name]?.bool else { throw BridgeRejection.invalid("\(method) needs {\(name): boolean}.") }
        return flag
    }

    /// One of these words, in upper or lower case; `fallback` where nothing is given and something may be left out.
    func word(_ name: String, of words: [String], fallback: String? = nil) throws -> String {
        guard let given = self[name] else {
            if let fallback { return fallback }
            throw BridgeRejection.invalid("\(method) needs {\(name)}: \(words.joined(separator: ", ")).")
        }
        guard let text = given.string, let known = words.first(where: { $0.lowercased() == text.lowercased() }) else {
            throw BridgeRejection.invalid("\(method): {\(name)} is one of \(words.joined(separator: ", ")).")
        }
        return known
    }
}
