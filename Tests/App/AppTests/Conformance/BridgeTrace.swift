// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore

/// One golden trace: rows of calls, listeners and events, in the order in which they happen
/// (Tests/ContractTests/Fixtures/README.md).
struct BridgeTrace: Sendable {
    let name: String
    let plugin: String
    let rows: [JSONValue]

    /// All of them, as the shell's own run reads them too.
    static let all: [BridgeTrace] = {
        let folder = root + "/Tests/ContractTests/Fixtures/bridge"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasSuffix(".json") }.sorted().compactMap { name in
            guard let content = FileManager.default.contents(atPath: folder + "/" + name),
                let value = try? JSONParser.parse([UInt8](content)), let plugin = value["plugin"]?.string
            else { return nil }
            return BridgeTrace(name: String(name.dropLast(5)), plugin: plugin, rows: value["rows"]?.array ?? [])
        }
    }()

    /// The repository.
    static let root: String = {
        var url = URL(fileURLWithPath: #filePath)
        for _ in 0..<5 { url.deleteLastPathComponent() }
        return url.path
    }()
}

/// What a row expects of a value. `$string` and its like name a type; an object's `"...": true` allows further members.
enum BridgePattern {
    static func fault(_ value: JSONValue?, _ pattern: JSONValue, _ place: String = "data") -> String? {
        let seen = value?.text ?? "nothing"
        if let word = pattern.string, word.hasPrefix("$") {
            let fits =
                switch word {
                case "$any": true
                case "$absent": value == nil
                case "$string": value?.string != nil
                case "$boolean": value?.bool != nil
                case "$array": value?.array != nil
                case "$object": value?.object != nil
                case "$number":
                    switch value {
                    case .integer, .number: true
                    default: false
                    }
                default: false
                }
            return fits ? nil : "\(place): saw \(seen), wanted \(word)"
        }
        if let members = pattern.object {
            guard let given = value?.object else { return "\(place): saw \(seen), wanted an object" }
            let isOpen = members["..."] != nil
            for (name, inner) in members.sorted(by: { $0.key < $1.key }) where name != "..." {
                if let fault = fault(given[name], inner, place + "." + name) { return fault }
            }
            if let extra = given.keys.sorted().first(where: { members[$0] == nil }), !isOpen {
                return "\(place).\(extra) was not expected"
            }
            return nil
        }
        if let items = pattern.array {
            guard let given = value?.array, given.count == items.count else {
                return "\(place): saw \(seen), wanted \(items.count) elements"
            }
            for (index, item) in items.enumerated() {
                if let fault = fault(given[index], item, "\(place)[\(index)]") { return fault }
            }
            return nil
        }
        // 300 and 300.0 are one number on the wire.
        if same(value, pattern) { return nil }
        return "\(place): saw \(seen), wanted \(pattern.text)"
    }

    private static func same(_ a: JSONValue?, _ b: JSONValue) -> Bool {
        switch (a, b) {
        case (.number(let x), .integer(let y)): x == Double(y)
        case (.integer(let x), .number(let y)): Double(x) == y
        default: a == b
        }
    }
}
