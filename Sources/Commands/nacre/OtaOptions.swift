// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// The words and options of `nacre ota`.
struct OtaOptions {
    private static let everywhere: Set<String> = ["--project", "--app", "--channel", "--bucket", "--public-url"]
    private static let withValue: Set<String> = everywhere.union([
        "--version", "--builtin", "--from", "--platform", "--native-min", "--native-below", "--storage-epoch",
        "--rollout",
        "--expires", "--gateway", "--release", "--freshness", "--root", "--threshold", "--after", "--days", "--hours",
    ])
    private static let plain: Set<String> = [
        "--roots", "--fast", "--stage-only", "--force", "--reset-storage", "--json", "--no-read-back",
    ]

    let words: [String]
    private var named: [String: [String]] = [:]
    private var flags: Set<String> = []

    /// - Throws: `usage`.
    init(_ arguments: [String]) throws(NacreError) {
        var words: [String] = []
        var rest = arguments[...]
        while let word = rest.popFirst() {
            if Self.plain.contains(word) {
                flags.insert(word)
            } else if Self.withValue.contains(word) {
                guard let value = rest.popFirst() else { throw OtaCommand.fault("\(word) needs a value.") }
                named[word, default: []].append(value)
            } else {
                guard !word.hasPrefix("-") || word == "-" else {
                    throw OtaCommand.fault("\(word) is not an option of ota.")
                }
                words.append(word)
            }
        }
        self.words = words
    }

    var isJSON: Bool { flags.contains("--json") }
    func has(_ flag: String) -> Bool { flags.contains(flag) }
    func value(_ name: String) -> String? { named[name]?.last }
    func values(_ name: String) -> [String] { named[name] ?? [] }

    /// - Throws: `usage`.
    func number(_ name: String, in range: ClosedRange<Int>) throws(NacreError) -> Int? {
        guard let text = value(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw OtaCommand.fault("\(name) takes a number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    /// A percentage with up to two decimals, in basis points.
    func percent(_ name: String) throws(NacreError) -> Int? {
        guard let text = value(name) else { return nil }
        guard let number = Double(text), (0...100).contains(number) else {
            throw OtaCommand.fault("\(name) takes a percentage from 0 to 100, such as 2.5.")
        }
        return Int((number * 100).rounded())
    }

    /// What a task takes; anything else is a mistake and does nothing.
    func take(
        _ words: [String], _ count: ClosedRange<Int>, _ task: String, options: Set<String> = [], flags: Set<String> = []
    ) throws(NacreError) {
        guard count.contains(words.count) else {
            throw OtaCommand.fault(
                "\(task) takes \(count.upperBound == 0 ? "no" : "\(count.upperBound)") words after it.")
        }
        let allowed = options.union(flags).union(Self.everywhere).union(["--json", "--no-read-back"])
        if let other = Set(named.keys).union(self.flags).subtracting(allowed).sorted().first {
            throw OtaCommand.fault("\(task) does not take \(other).")
        }
    }

    func take(
        _ words: [String], _ count: Int, _ task: String, options: Set<String> = [], flags: Set<String> = []
    ) throws(NacreError) {
        try take(words, count...count, task, options: options, flags: flags)
    }
}
