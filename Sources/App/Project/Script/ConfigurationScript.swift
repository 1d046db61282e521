// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// The configuration object of a `capacitor.config.ts` or `.js`, read without running the file.
package struct ConfigurationScript: Sendable {
    /// The object's value.
    package let value: ScriptValue
    /// Places where the file handles its configuration further, which only running it would show: `line 12: config.server`.
    package let laterChanges: [String]

    /// Finds `export default …`, `module.exports = …` or `const config: CapacitorConfig = …` and reads what it stands for.
    ///
    /// - Throws: `init.script` that names the line; `init.no_configuration` when there is no such object.
    package init(_ bytes: [UInt8], file: String) throws(NacreError) {
        var reader = ScriptReader(try ScriptLexer.tokens(bytes, file: file), file: file)
        (value, laterChanges) = try reader.configuration()
    }
}

/// Reads expressions out of tokens: literals, constants of the file, `process.env`; the rest is said to be unreadable.
struct ScriptReader {
    /// How deep values may nest.
    static let maximumDepth = 130
    /// How many values are read, constants that are used again counted each time.
    static let maximumValues = 20_000

    let tokens: [ScriptToken]
    let file: String
    var at = 0
    private var constants: [String: Constant] = [:]
    private var resolving: Set<String> = []
    private var values = 0
    private var read: [String: (value: ScriptValue, size: Int, height: Int)] = [:]
    /// The depth of the deepest value so far.
    var deepest = 0

    private struct Constant {
        /// Where its value begins.
        let start: Int
        let isConfiguration: Bool
    }

    init(_ tokens: [ScriptToken], file: String) {
        self.tokens = tokens
        self.file = file
    }

    var current: ScriptToken { tokens[at] }
    func token(_ offset: Int) -> ScriptToken { tokens[min(at + offset, tokens.count - 1)] }

    func fault(_ reason: String) -> NacreError {
        NacreError("init.script", "\(file), line \(current.line): \(reason).")
    }

    mutating func configuration() throws(NacreError) -> (ScriptValue, [String]) {
        var exported: Int?
        var order: [String] = []
        var depth = 0
        while current.kind != .end {
            if depth == 0, current.isWord("const"), let name = token(1).word, let constant = constant() {
                constants[name] = constant
                order.append(name)
            } else if depth == 0, current.isWord("export"), token(1).isWord("default") {
                exported = at + 2
            } else if depth == 0, current.isWord("module"), token(1).isMark("."), token(2).isWord("exports"),
                token(3).isMark("=")
            {
                exported = at + 4
            }
            if ["(", "[", "{"].contains(where: current.isMark) { depth += 1 }
            if [")", "]", "}"].contains(where: current.isMark) { depth -= 1 }
            at += 1
        }
        if let exported {
            at = exported
            let root = current.word.flatMap { constants[$0] == nil ? nil : $0 }
            let value = try expression(depth: 0)
            if case .object = value { return (value, uses(of: root)) }
            // Something is done to it before it is exported: what is written down is still the best there is.
            guard let name = order.first(where: { constants[$0]?.isConfiguration ?? false }) else { throw absent() }
            let written = try constantValue(name, depth: 0)
            guard case .object = written else { throw absent() }
            return (written, ["line \(tokens[exported].line): export default \(text(from: exported, to: at))"])
        }
        guard let name = order.first(where: { constants[$0]?.isConfiguration ?? false }),
            case .object(let members) = try constantValue(name, depth: 0)
        else { throw absent() }
        return (.object(members), uses(of: name))
    }

    private func absent() -> NacreError {
        NacreError(
            "init.no_configuration",
            "\(file) exports no object that can be read without running it; write it as `export default { appId: … }`, "
                + "or as a capacitor.config.json.")
    }

    /// The constant declared here, or nil when it has no name or no value of its own.
    private func constant() -> Constant? {
        var place = at + 2
        var isConfiguration = token(1).isWord("config")
        if tokens[place].isMark(":") {
            let start = place
            while !tokens[place].isMark("="), !tokens[place].isMark(";"), tokens[place].kind != .end { place += 1 }
            if tokens[start..<place].contains(where: { $0.isWord("CapacitorConfig") }) { isConfiguration = true }
        }
        guard tokens[place].isMark("=") else { return nil }
        return Constant(start: place + 1, isConfiguration: isConfiguration)
    }

    /// Other places that name the configuration: they may change it.
    private func uses(of name: String?) -> [String] {
        guard let name else { return [] }
        var found: [String] = []
        for (index, token) in tokens.enumerated() where token.isWord(name) {
            let before = index > 0 ? tokens[index - 1] : nil
            if before?.isMark(".") ?? false || before?.isWord("const") ?? false || before?.isWord("default") ?? false {
                continue
            }
            let next = tokens[min(index + 1, tokens.count - 1)]
            if next.isMark(":") { continue }
            if before?.isMark("=") ?? false, index >= 4, tokens[index - 2].isWord("exports") { continue }
            found.append("line \(token.line): \(text(from: index, to: min(index + 5, tokens.count - 1)))")
        }
        return Array(found.prefix(20))
    }

    /// The value of a constant of the file, read where it stands.
    mutating func constantValue(_ name: String, depth: Int) throws(NacreError) -> ScriptValue {
        if let known = read[name] {
            try count(known.size)
            try reach(depth + known.height)
            return known.value
        }
        guard let constant = constants[name], resolving.insert(name).inserted else {
            return .unreadable(.init(text: name, variables: []))
        }
        let (place, before, deepestBefore) = (at, values, deepest)
        at = constant.start
        deepest = depth
        let value = try expression(depth: depth)
        read[name] = (value, values - before, deepest - depth)
        deepest = max(deepest, deepestBefore)
        at = place
        resolving.remove(name)
        return value
    }

    func isConstant(_ name: String) -> Bool { constants[name] != nil }

    mutating func reach(_ depth: Int) throws(NacreError) {
        guard depth < Self.maximumDepth else { throw fault("values nested too deep") }  // guard: init-script-depth
        deepest = max(deepest, depth)
    }

    mutating func count(_ more: Int = 1) throws(NacreError) {
        values += more
        guard values <= Self.maximumValues else { throw fault("too many values") }  // guard: init-script-values
    }

    /// The tokens as text, without the contents of their strings: those may be secrets.
    func text(from start: Int, to end: Int) -> String {
        var text = ""
        var wasWord = false
        for token in tokens[start..<max(start, end)] {
            var isWord = false
            let piece: String
            switch token.kind {
            case .word(let word): (piece, isWord) = (word, true)
            case .string: piece = "'…'"
            case .template: piece = "`…`"
            case .number(let number): (piece, isWord) = (number, true)
            case .pattern: piece = "/…/"
            case .mark(let mark): piece = mark
            case .end: piece = ""
            }
            let isOperator = ["?", ":", "??", "||", "&&", "===", "!==", "==", "!=", "=", "=>", "+"].contains(piece)
            text += isOperator ? " \(piece) " : wasWord && isWord ? " \(piece)" : piece
            wasWord = isWord
            if text.count > 60 { return String(text.prefix(59)) + "…" }
        }
        return text
    }

    /// The variables of the environment that the tokens name.
    func variables(from start: Int, to end: Int) -> [String] {
        var found: [String] = []
        for index in start..<max(start, end) where tokens[index].isWord("env") && index + 2 < tokens.count {
            guard tokens[index + 1].isMark(".") || tokens[index + 1].isMark("?.") || tokens[index + 1].isMark("[")
            else {
                continue
            }
            if let name = tokens[index + 2].word ?? tokens[index + 2].string, !found.contains(name) {
                found.append(name)
            }
        }
        return found
    }
}
