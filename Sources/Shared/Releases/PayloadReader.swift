// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// Reads the members of a signed JSON object; what is missing, of another type or out of range is an error that names the
/// member. Members it does not know are left alone: a later publisher may say more to later apps.
struct PayloadReader {
    private let members: [String: JSONValue]
    private let what: String

    /// Whole numbers that every JSON reader keeps exact.
    static let exact: ClosedRange<Int64> = 0...(1 << 53 - 1)

    init(_ value: JSONValue?, _ what: String) throws(NacreError) {
        guard let members = value?.object else {
            throw NacreError("release.payload", "The release's \(what) is missing.")
        }
        self.members = members
        self.what = what
    }

    init(bytes: [UInt8], _ what: String) throws(NacreError) {
        let value: JSONValue
        do throws(NacreError) { value = try JSONParser.parse(bytes) } catch {
            throw NacreError("release.payload", "The release's \(what) is damaged.", cause: error)
        }
        try self.init(value, what)
    }

    func fault(_ key: String) -> NacreError {
        NacreError("release.payload", "The release's \(what) has no usable \"\(key)\".")
    }

    subscript(key: String) -> JSONValue? {
        guard let value = members[key], !value.isNull else { return nil }
        return value
    }

    func string(_ key: String, upTo limit: Int = 200) throws(NacreError) -> String {
        guard let text = members[key]?.string, !text.isEmpty, text.utf8.count <= limit,
            !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else { throw fault(key) }
        return text
    }

    func optionalString(_ key: String, upTo limit: Int = 200) throws(NacreError) -> String? {
        self[key] == nil ? nil : try string(key, upTo: limit)
    }

    func integer(_ key: String, in range: ClosedRange<Int64> = exact) throws(NacreError) -> Int64 {
        guard let value = members[key]?.integer, range.contains(value) else { throw fault(key) }
        return value
    }

    func size(_ key: String) throws(NacreError) -> Int { Int(try integer(key)) }

    func bool(_ key: String) throws(NacreError) -> Bool {
        guard let value = self[key] else { return false }
        guard let truth = value.bool else { throw fault(key) }
        return truth
    }

    func moment(_ key: String) throws(NacreError) -> Instant { Instant(milliseconds: try integer(key)) }

    func digest(_ key: String) throws(NacreError) -> TreeDigest {
        guard let digest = members[key]?.string.flatMap({ TreeDigest($0) }) else { throw fault(key) }
        return digest
    }

    func list(_ key: String, upTo limit: Int) throws(NacreError) -> [JSONValue] {
        guard let value = self[key] else { return [] }
        guard let items = value.array, items.count <= limit else { throw fault(key) }
        return items
    }

    func object(_ key: String) throws(NacreError) -> PayloadReader {
        guard members[key]?.object != nil else { throw fault(key) }
        return try PayloadReader(members[key], "\(what).\(key)")
    }
}
