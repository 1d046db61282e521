// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

extension ScriptReader {
    /// One expression; the next token is the first that does not belong to it.
    mutating func expression(depth: Int) throws(NacreError) -> ScriptValue {
        try reach(depth)
        try count()
        let start = at
        guard var value = try operand(depth: depth) else { return try unreadable(from: start) }
        while current.isMark("??") || current.isMark("||") {
            let isOr = current.isMark("||")
            at += 1
            guard let next = try operand(depth: depth) else { return try unreadable(from: start) }
            value = isOr && value.isFalse ? next : choice(value, next)
        }
        guard isAtEnd else { return try unreadable(from: start) }
        return value
    }

    /// Whether the expression is over: a separator, or a line that begins something new.
    private var isAtEnd: Bool {
        switch current.kind {
        case .end: true
        case .mark(let mark): [",", ";", ")", "]", "}"].contains(mark)
        case .word(let word): current.beginsLine && !["instanceof", "in"].contains(word)
        default: false
        }
    }

    /// `a ?? b`: what the environment does not decide is decided already.
    private func choice(_ first: ScriptValue, _ second: ScriptValue) -> ScriptValue {
        switch first {
        case .environment(let names, nil):
            if case .environment(let more, let fallback) = second {
                return .environment(names + more, fallback: fallback)
            }
            return .environment(names, fallback: second)
        case .environment(let names, let fallback?): return .environment(names, fallback: choice(fallback, second))
        case .null: return second
        case .unreadable(let part):
            return .unreadable(.init(text: part.text, variables: part.variables + second.variables))
        default: return first
        }
    }

    /// A primary expression with what follows it; nil where it cannot be read.
    private mutating func operand(depth: Int) throws(NacreError) -> ScriptValue? {
        if current.isMark("<") { try skipBalanced("<", ">") }
        guard let value = try primary(depth: depth) else { return nil }
        while true {
            if current.isMark("!"), !token(1).isMark("=") {
                at += 1
            } else if !current.beginsLine, current.isWord("as") || current.isWord("satisfies") {
                at += 1
                try skipType()
            } else {
                return value
            }
        }
    }

    private mutating func primary(depth: Int) throws(NacreError) -> ScriptValue? {
        switch current.kind {
        case .string(let text):
            at += 1
            return .string(text)
        case .number(let text):
            at += 1
            return Self.number(text, negative: false)
        case .mark("-"):
            guard case .number(let text) = token(1).kind else { return nil }
            at += 2
            return Self.number(text, negative: true)
        case .mark("{"): return try object(depth: depth)
        case .mark("["): return try array(depth: depth)
        case .mark("("):
            guard !token(1).isMark(")") else { return nil }
            at += 1
            let value = try expression(depth: depth + 1)
            guard current.isMark(")") else { return nil }
            at += 1
            // What stands in brackets may be the parameters of a function.
            return current.isMark("=>") ? nil : value
        case .word(let word): return try named(word, depth: depth)
        default: return nil
        }
    }

    private mutating func named(_ word: String, depth: Int) throws(NacreError) -> ScriptValue? {
        if let name = environmentName() { return .environment([name], fallback: nil) }
        at += 1
        switch word {
        case "true": return .bool(true)
        case "false": return .bool(false)
        case "null", "undefined": return .null
        default:
            guard isConstant(word), ![".", "?.", "(", "[", "=>"].contains(where: current.isMark) else { return nil }
            let value = try constantValue(word, depth: depth + 1)
            if case .unreadable = value { return .unreadable(.init(text: word, variables: value.variables)) }
            return value
        }
    }

    /// `process.env.NAME`, `process.env['NAME']` and the same of `import.meta.env`, taken; else nil.
    private mutating func environmentName() -> String? {
        let heads = [["process", "env"], ["import", "meta", "env"]]
        guard
            let head = heads.first(where: { words in
                words.enumerated().allSatisfy { index, word in
                    token(index * 2).isWord(word) && (index == 0 || isMember(index * 2 - 1))
                }
            })
        else { return nil }
        let next = head.count * 2 - 1
        let (name, length): (String, Int)
        if isMember(next), let word = token(next + 1).word {
            (name, length) = (word, next + 2)
        } else if token(next).isMark("["), let text = token(next + 1).string, token(next + 2).isMark("]") {
            (name, length) = (text, next + 3)
        } else {
            return nil
        }
        // A method of the text is code.
        guard ![".", "?.", "(", "["].contains(where: token(length).isMark) else { return nil }
        at += length
        return name
    }

    private func isMember(_ offset: Int) -> Bool { token(offset).isMark(".") || token(offset).isMark("?.") }

    // MARK: Objects and arrays

    private mutating func object(depth: Int) throws(NacreError) -> ScriptValue {
        at += 1
        var members: [ScriptMember] = []
        var places: [String: Int] = [:]
        while !current.isMark("}") {
            let member = try member(depth: depth)
            if let place = places[member.key] {
                members[place].value = member.value
            } else {
                places[member.key] = members.count
                members.append(member)
            }
            guard current.isMark(",") else { break }
            at += 1
        }
        guard current.isMark("}") else { throw fault("an object that does not end where it should") }
        at += 1
        return .object(members)
    }

    private mutating func member(depth: Int) throws(NacreError) -> ScriptMember {
        let start = at
        if current.isMark("...") {
            let part = try unreadablePart(from: start)
            return ScriptMember(part.text, .unreadable(part))
        }
        let key: String?
        switch current.kind {
        case .word(let word): key = word
        case .string(let text): key = text
        case .number(let text): key = text
        default: key = nil
        }
        if let key {
            if token(1).isMark(":") {
                at += 2
                return ScriptMember(key, try expression(depth: depth + 1))
            }
            if token(1).isMark(",") || token(1).isMark("}"), case .word = current.kind {
                return ScriptMember(key, try expression(depth: depth + 1))
            }
        }
        // A computed name, a method, a getter.
        let part = try unreadablePart(from: start)
        return ScriptMember(key ?? part.text, .unreadable(part))
    }

    private mutating func array(depth: Int) throws(NacreError) -> ScriptValue {
        at += 1
        var items: [ScriptValue] = []
        while !current.isMark("]") {
            items.append(
                current.isMark("...") ? .unreadable(try unreadablePart(from: at)) : try expression(depth: depth + 1))
            guard current.isMark(",") else { break }
            at += 1
        }
        guard current.isMark("]") else { throw fault("an array that does not end where it should") }
        at += 1
        return .array(items)
    }

    // MARK: What is not read

    private mutating func unreadable(from start: Int) throws(NacreError) -> ScriptValue {
        .unreadable(try unreadablePart(from: start))
    }

    /// Goes to the end of the expression that began at `start`.
    private mutating func unreadablePart(from start: Int) throws(NacreError) -> ScriptValue.Unreadable {
        at = start
        var open: [String] = []
        let pairs = ["(": ")", "[": "]", "{": "}"]
        let beginnings: Set = [
            "const", "let", "var", "export", "import", "function", "class", "if", "module", "switch", "type",
            "interface", "enum", "declare", "for", "return",
        ]
        scan: while current.kind != .end {
            if case .mark(let mark) = current.kind {
                if let close = pairs[mark] {
                    open.append(close)
                } else if open.last == mark {
                    open.removeLast()
                } else if [")", "]", "}"].contains(mark) {
                    if open.isEmpty { break scan }
                    throw fault("brackets that do not match")
                } else if open.isEmpty, mark == "," || mark == ";" {
                    break scan
                }
            } else if open.isEmpty, at > start, current.beginsLine, let word = current.word, beginnings.contains(word) {
                break scan
            }
            at += 1
        }
        guard open.isEmpty else { throw fault("a bracket without an end") }
        guard at > start else { throw fault("a value is missing") }
        return .init(text: text(from: start, to: at), variables: variables(from: start, to: at))
    }

    private mutating func skipBalanced(_ open: String, _ close: String) throws(NacreError) {
        var depth = 0
        repeat {
            if current.isMark(open) { depth += 1 }
            if current.isMark(close) { depth -= 1 }
            guard current.kind != .end else { throw fault("a bracket without an end") }
            at += 1
        } while depth > 0
    }

    /// A type after `as` or `satisfies`.
    private mutating func skipType() throws(NacreError) {
        while true {
            switch current.kind {
            case .word(let word) where ["typeof", "keyof", "readonly", "unique", "infer"].contains(word):
                at += 1
                continue
            case .word:
                at += 1
                while current.isMark("."), token(1).word != nil { at += 2 }
                if current.isMark("<") { try skipBalanced("<", ">") }
            case .string, .number: at += 1
            case .mark("{"): try skipBalanced("{", "}")
            case .mark("("): try skipBalanced("(", ")")
            case .mark("["): try skipBalanced("[", "]")
            default: throw fault("a type that cannot be read")
            }
            while current.isMark("["), !current.beginsLine { try skipBalanced("[", "]") }
            guard current.isMark("|") || current.isMark("&") else { return }
            at += 1
        }
    }

    private static func number(_ text: String, negative: Bool) -> ScriptValue? {
        let digits = text.filter { $0 != "_" }
        let sign = negative ? "-" : ""
        let lower = digits.lowercased()
        if lower.hasPrefix("0x") {
            return Int64(sign + lower.dropFirst(2), radix: 16).map(ScriptValue.integer)
        }
        guard lower.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 || ".e+-".utf8.contains($0) }) else { return nil }
        // Octal in old scripts, an error in new ones.
        guard lower.count == 1 || !lower.hasPrefix("0") || lower.hasPrefix("0.") || lower.hasPrefix("0e") else {
            return nil
        }
        if let whole = Int64(sign + digits) { return .integer(whole) }
        guard let value = Double(sign + digits), value.isFinite else { return nil }
        return .number(value)
    }
}

extension ScriptValue {
    /// Whether `||` goes on to the other value.
    fileprivate var isFalse: Bool { [.null, .bool(false), .integer(0), .string("")].contains(self) }

    /// The variables of the environment that take part in the value.
    package var variables: [String] {
        switch self {
        case .environment(let names, let fallback): names + (fallback?.variables ?? [])
        case .unreadable(let part): part.variables
        case .array(let items): items.flatMap(\.variables)
        case .object(let members): members.flatMap(\.value.variables)
        default: []
        }
    }
}
