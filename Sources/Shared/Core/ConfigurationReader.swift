// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Reads one object of a configuration file: every key must be declared by being read, and what is left over is an error
/// that names the nearest known key.
public struct ConfigurationReader {
    /// Where in the file this object stands, such as `api` (empty at the top).
    public let path: String
    private let file: String
    private let members: [String: JSONValue]
    private var known: [String] = []

    /// The object `value` of `file`.
    ///
    /// - Throws: `configuration.type` when it is not an object.
    public init(_ value: JSONValue, file: String, path: String = "") throws(NacreError) {
        guard let members = value.object else {
            throw NacreError(
                "configuration.type", "\(file): \(path.isEmpty ? "the file" : "\"\(path)\"") must be a JSON object.")
        }
        self.members = members
        self.file = file
        self.path = path
    }

    private func name(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    /// An error about one key, in the form every configuration error has.
    public func fault(_ key: String, _ reason: String) -> NacreError {
        NacreError("configuration.value", "\(file): \"\(name(key))\" \(reason)")
    }

    private mutating func take(_ key: String) -> JSONValue? {
        known.append(key)
        guard let value = members[key], !value.isNull else { return nil }
        return value
    }

    /// The text of `key`, or nil when it is absent or null.
    public mutating func string(_ key: String) throws(NacreError) -> String? {
        guard let value = take(key) else { return nil }
        guard let text = value.string else { throw fault(key, "must be a string.") }
        return text
    }

    /// The text of `key`, which must be there and not empty.
    public mutating func requiredString(_ key: String, example: String) throws(NacreError) -> String {
        guard let text = try string(key), !text.isEmpty else {
            throw fault(key, "is missing; write for example \"\(example)\".")
        }
        return text
    }

    /// The truth value of `key`, or nil.
    public mutating func bool(_ key: String) throws(NacreError) -> Bool? {
        guard let value = take(key) else { return nil }
        guard let result = value.bool else { throw fault(key, "must be true or false.") }
        return result
    }

    /// The whole number of `key` inside `range`, or nil.
    public mutating func integer(_ key: String, in range: ClosedRange<Int64>) throws(NacreError) -> Int64? {
        guard let value = take(key) else { return nil }
        guard let result = value.integer, range.contains(result) else {
            throw fault(key, "must be a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return result
    }

    /// The list of texts of `key`, or nil.
    public mutating func strings(_ key: String) throws(NacreError) -> [String]? {
        guard let value = take(key) else { return nil }
        guard let items = value.array else { throw fault(key, "must be a list of strings.") }
        var result: [String] = []
        for item in items {
            guard let text = item.string else { throw fault(key, "must be a list of strings.") }
            result.append(text)
        }
        return result
    }

    /// Any value of `key`, unread, or nil.
    public mutating func value(_ key: String) -> JSONValue? { take(key) }

    /// A reader of the object under `key`, or nil.
    public mutating func object(_ key: String) throws(NacreError) -> ConfigurationReader? {
        guard let value = take(key) else { return nil }
        return try ConfigurationReader(value, file: file, path: name(key))
    }

    /// Call last: refuses keys that nothing has read.
    ///
    /// - Throws: `configuration.unknown_key` that names the first unknown key and the nearest known one.
    public func finish() throws(NacreError) {
        guard let unknown = members.keys.sorted().first(where: { !known.contains($0) }) else { return }
        let nearest = nearestWord(to: unknown, among: known)
        let hint = nearest.map { " Did you mean \"\($0)\"?" } ?? " Known here: \(known.joined(separator: ", "))."
        throw NacreError("configuration.unknown_key", "\(file): \"\(name(unknown))\" is not a setting.\(hint)")
    }
}

/// The word of `words` that is at most three edits (and less than half its length) away from `word`.
public func nearestWord(to word: String, among words: [String]) -> String? {
    let scored = words.map { (word: $0, distance: editDistance(Array(word.lowercased()), Array($0.lowercased()))) }
    guard let best = scored.min(by: { $0.distance < $1.distance }) else { return nil }
    return best.distance <= min(3, max(1, best.word.count / 2)) ? best.word : nil
}

private func editDistance(_ a: [Character], _ b: [Character]) -> Int {
    var row = Array(0...b.count)
    for i in 1...max(a.count, 1) where !a.isEmpty {
        var previous = row[0]
        row[0] = i
        for j in 1...max(b.count, 1) where !b.isEmpty {
            let substituted = previous + (a[i - 1] == b[j - 1] ? 0 : 1)
            previous = row[j]
            row[j] = min(substituted, row[j] + 1, row[j - 1] + 1)
        }
    }
    return row[b.count]
}
