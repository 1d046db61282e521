// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// One token of a JavaScript or TypeScript file.
struct ScriptToken: Equatable {
    enum Kind: Equatable {
        case word(String)
        case string(String)
        /// A template string with substitutions.
        case template
        case number(String)
        case pattern
        case mark(String)
        case end
    }

    let kind: Kind
    let line: Int
    /// Whether a line ends between the token before and this one.
    let beginsLine: Bool

    func isMark(_ text: String) -> Bool { kind == .mark(text) }
    func isWord(_ text: String) -> Bool { kind == .word(text) }
    var word: String? { if case .word(let text) = kind { text } else { nil } }
    var string: String? { if case .string(let text) = kind { text } else { nil } }
}

/// Splits a script into tokens (ECMA-262 section 12, as far as configuration files go).
struct ScriptLexer {
    /// The longest file that is read.
    static let maximumBytes = 1 << 20
    /// How deep template strings may nest.
    private static let maximumNesting = 16
    private static let marks = ["...", "===", "!==", "=>", "==", "!=", "??", "||", "&&", "?.", "++", "--"].map {
        Array($0.utf8)
    }

    private let bytes: [UInt8]
    private let file: String
    private var at = 0
    private var line = 1
    private var tokens: [ScriptToken] = []
    private var beginsLine = true

    /// Every token of the text, the last one being `.end`.
    ///
    /// - Throws: `init.script` that names the line.
    static func tokens(_ bytes: [UInt8], file: String) throws(NacreError) -> [ScriptToken] {
        var lexer = ScriptLexer(bytes: bytes, file: file)
        try lexer.run()
        return lexer.tokens
    }

    private init(bytes: [UInt8], file: String) {
        self.bytes = bytes
        self.file = file
    }

    private func fault(_ reason: String) -> NacreError {
        NacreError("init.script", "\(file), line \(line): \(reason).")
    }

    private var current: UInt8? { at < bytes.count ? bytes[at] : nil }
    private func byte(_ offset: Int) -> UInt8? { at + offset < bytes.count ? bytes[at + offset] : nil }
    private func starts(_ text: [UInt8]) -> Bool { bytes[at...].starts(with: text) }

    private mutating func run() throws(NacreError) {
        guard bytes.count <= Self.maximumBytes else { throw fault("the file is larger than 1 MiB") }
        guard String(validating: bytes, as: UTF8.self) != nil else { throw fault("the file is not UTF-8") }
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { at = 3 }
        if starts(Array("#!".utf8)) { skipLine() }
        while true {
            try skipSpace()
            guard let byte = current else { break }
            try token(byte)
        }
        add(.end)
    }

    private mutating func add(_ kind: ScriptToken.Kind) {
        tokens.append(ScriptToken(kind: kind, line: line, beginsLine: beginsLine))
        beginsLine = false
    }

    private mutating func skipLine() {
        while let byte = current, byte != 0x0A, byte != 0x0D { at += 1 }
    }

    private mutating func skipSpace() throws(NacreError) {
        while let byte = current {
            if byte == 0x0A || byte == 0x0D {
                if byte == 0x0A || self.byte(1) != 0x0A { line += 1 }
                beginsLine = true
                at += 1
            } else if byte == 0x20 || byte == 0x09 || byte == 0x0B || byte == 0x0C {
                at += 1
            } else if starts([0xC2, 0xA0]) {
                at += 2
            } else if starts(Array("//".utf8)) {
                skipLine()
            } else if starts(Array("/*".utf8)) {
                at += 2
                while !starts(Array("*/".utf8)) {
                    guard let inside = current else { throw fault("a comment without an end") }
                    if inside == 0x0A {
                        line += 1
                        beginsLine = true
                    }
                    at += 1
                }
                at += 2
            } else {
                return
            }
        }
    }

    private mutating func token(_ byte: UInt8) throws(NacreError) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): add(.string(try string(quote: byte)))
        case UInt8(ascii: "`"): try template()
        case UInt8(ascii: "0")...UInt8(ascii: "9"): add(.number(number()))
        case UInt8(ascii: ".") where self.byte(1).map(Self.isDigit) ?? false: add(.number(number()))
        case UInt8(ascii: "/") where patternMayStand: try pattern()
        case _ where Self.isWordPart(byte): add(.word(word()))
        case 0x21...0x7E where byte != UInt8(ascii: "\\"):
            let mark = Self.marks.first(where: starts) ?? [byte]
            add(.mark(String(decoding: mark, as: UTF8.self)))
            at += mark.count
        default: throw fault("a character that is no part of a script")
        }
    }

    /// A slash begins a pattern where a value may stand, and divides where one has just ended.
    private var patternMayStand: Bool {
        switch tokens.last?.kind {
        case .word(let word): ["return", "typeof", "case", "in", "of", "void", "delete"].contains(word)
        case .string, .template, .number, .pattern: false
        case .mark(let mark): ![")", "]", "}"].contains(mark)
        default: true
        }
    }

    private mutating func pattern() throws(NacreError) {
        at += 1
        var inClass = false
        while let byte = current, byte != 0x0A {
            at += 1
            if byte == UInt8(ascii: "\\") {
                at += 1
            } else if byte == UInt8(ascii: "[") {
                inClass = true
            } else if byte == UInt8(ascii: "]") {
                inClass = false
            } else if byte == UInt8(ascii: "/"), !inClass {
                while let flag = current, Self.isWordPart(flag) { at += 1 }
                return add(.pattern)
            }
        }
        throw fault("a pattern without an end")
    }

    private mutating func word() -> String {
        let start = at
        while let byte = current, Self.isWordPart(byte) { at += 1 }
        return String(decoding: bytes[start..<at], as: UTF8.self)
    }

    private mutating func number() -> String {
        let start = at
        while let byte = current {
            let isSign = byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
            let afterExponent = at > start && bytes[at - 1] | 0x20 == UInt8(ascii: "e")
            let isHex = at >= start + 2 && bytes[start + 1] | 0x20 == UInt8(ascii: "x")
            guard Self.isWordPart(byte) || byte == UInt8(ascii: ".") || (isSign && afterExponent && !isHex) else {
                break
            }
            at += 1
        }
        return String(decoding: bytes[start..<at], as: UTF8.self)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 48 && byte <= 57 }

    private static func isWordPart(_ byte: UInt8) -> Bool {
        isDigit(byte) || (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z"))
            || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$") || byte >= 0x80
    }

    // MARK: Strings

    private mutating func string(quote: UInt8) throws(NacreError) -> String {
        at += 1
        var text: [UInt8] = []
        while let byte = current {
            if byte == quote {
                at += 1
                return String(decoding: text, as: UTF8.self)
            }
            guard byte != 0x0A, byte != 0x0D else { break }
            at += 1
            if byte == UInt8(ascii: "\\") { try escape(into: &text) } else { text.append(byte) }
        }
        throw fault("a string without an end")
    }

    private mutating func template() throws(NacreError) {
        let start = at
        at += 1
        var text: [UInt8] = []
        while let byte = current {
            if byte == UInt8(ascii: "`") {
                at += 1
                return add(.string(String(decoding: text, as: UTF8.self)))
            }
            if starts(Array("${".utf8)) {
                at = start
                try skipTemplate(nesting: 0)
                return add(.template)
            }
            at += 1
            switch byte {
            case UInt8(ascii: "\\"): try escape(into: &text)
            case 0x0D:
                // A template's line ends are line feeds, however the file is stored.
                if current != 0x0A { text.append(0x0A) }
            case 0x0A:
                line += 1
                text.append(byte)
            default: text.append(byte)
            }
        }
        throw fault("a template string without an end")
    }

    private mutating func skipTemplate(nesting: Int) throws(NacreError) {
        guard nesting < Self.maximumNesting else { throw fault("nested too deep") }  // guard: init-template-depth
        at += 1
        while let byte = current {
            if byte == UInt8(ascii: "`") {
                at += 1
                return
            }
            if byte == 0x0A { line += 1 }
            if byte == UInt8(ascii: "\\") {
                at += 2
            } else if starts(Array("${".utf8)) {
                at += 2
                try skipSubstitution(nesting: nesting)
            } else {
                at += 1
            }
        }
        throw fault("a template string without an end")
    }

    private mutating func skipSubstitution(nesting: Int) throws(NacreError) {
        var open = 1
        while open > 0 {
            try skipSpace()
            guard let byte = current else { throw fault("a template string without an end") }
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "'"): _ = try string(quote: byte)
            case UInt8(ascii: "`"): try skipTemplate(nesting: nesting + 1)
            case UInt8(ascii: "{"):
                open += 1
                at += 1
            case UInt8(ascii: "}"):
                open -= 1
                at += 1
            default: at += 1
            }
        }
    }

    private mutating func escape(into text: inout [UInt8]) throws(NacreError) {
        guard let byte = current else { throw fault("a string without an end") }
        at += 1
        switch byte {
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "v"): text.append(0x0B)
        case UInt8(ascii: "x"): try append(try digits(2), to: &text)
        case UInt8(ascii: "u"):
            var code = try unicode()
            if code >= 0xD800, code < 0xDC00 {
                guard starts(Array("\\u".utf8)) else { throw fault("half of a surrogate pair") }
                at += 2
                let low = try unicode()
                guard low >= 0xDC00, low < 0xE000 else { throw fault("half of a surrogate pair") }
                code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            }
            try append(code, to: &text)
        case 0x0D:
            // The end of a line after a backslash is no part of the string.
            line += 1
            if current == 0x0A { at += 1 }
        case 0x0A: line += 1
        case UInt8(ascii: "0") where !(current.map(Self.isDigit) ?? false): text.append(0)
        case UInt8(ascii: "0")...UInt8(ascii: "9"): throw fault("an octal escape, which modules do not know")
        default: text.append(byte)
        }
    }

    private mutating func unicode() throws(NacreError) -> UInt32 {
        guard current == UInt8(ascii: "{") else { return try digits(4) }
        at += 1
        var code: UInt32 = 0
        var count = 0
        while let byte = current, byte != UInt8(ascii: "}") {
            guard let digit = Self.hex(byte), code <= 0xFFFFF else { throw fault("an escape that is no character") }
            code = code << 4 | digit
            count += 1
            at += 1
        }
        guard current != nil, count > 0 else { throw fault("an escape without digits") }
        at += 1
        return code
    }

    private mutating func digits(_ count: Int) throws(NacreError) -> UInt32 {
        var code: UInt32 = 0
        for _ in 0..<count {
            guard let digit = current.flatMap(Self.hex) else { throw fault("an escape without digits") }
            code = code << 4 | digit
            at += 1
        }
        return code
    }

    private static func hex(_ byte: UInt8) -> UInt32? {
        switch byte {
        case 48...57: UInt32(byte) - 48
        case 97...102: UInt32(byte) - 87
        case 65...70: UInt32(byte) - 55
        default: nil
        }
    }

    private func append(_ code: UInt32, to text: inout [UInt8]) throws(NacreError) {
        guard let scalar = Unicode.Scalar(code) else { throw fault("half of a surrogate pair") }
        text.append(contentsOf: String(Character(scalar)).utf8)
    }
}
