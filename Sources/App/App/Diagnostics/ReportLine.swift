// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// A line of the log, read for the values that follow the names of secrets.
struct ReportLine {
    private let characters: [Character]
    /// A record of the log is JSON: its texts end at a quote, and a new line in them is written `\n`.
    private let isRecord: Bool

    /// Where a value ends.
    private enum Ending {
        /// At the quote that opened it, which had so many backslashes before it.
        case quote(Character, escapes: Int)
        /// With the line.
        case line
        /// Where the next value of a list begins: `password: correct horse, page: 3`.
        case list
        /// At a space: `?token=abc HTTP/1.1`.
        case space
    }

    init(_ text: String) {
        characters = Array(text)
        isRecord = characters.first == "{"
    }

    var count: Int { characters.count }
    subscript(_ index: Int) -> Character { characters[index] }
    func text(_ range: Range<Int>) -> String { String(characters[range]) }

    /// The word that begins there.
    func word(at start: Int) -> String { String(characters[start...].prefix(while: Self.isWord)) }

    private static func isWord(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || "_-+.~%@/".contains(character)
    }

    /// Where the value stands that belongs to this word, if it names a secret.
    func value(of word: String, at start: Int) -> Range<Int>? {
        let end = start + word.count
        guard let name = ReportName(word), var place = sign(after: end, name) else { return nil }
        let isAssigned = place == end && characters[end] == "=" && end + 1 < count && characters[end + 1] != "="
        // `GET /api/token: 502` is said of a path.
        if word.hasPrefix("/"), place < count, characters[place] == ":" { return nil }
        while place < count, characters[place].isWhitespace || "=:>".contains(characters[place]) { place += 1 }
        let isInQuery = isAssigned && start > 0 && "?&#".contains(characters[start - 1])
        switch name {
        case .header where !"\"'\\".contains(characters[end]): return range(from: place, .line)
        case .scheme:
            let ending = quoted(&place) ?? .space
            let own = range(from: place, ending)
            // `bearer token: …`: what is announced announces in its turn.
            let further = value(of: self.word(at: place), at: place)
            return further.map { own.lowerBound..<max(own.upperBound, $0.upperBound) } ?? own
        case .secret, .header:
            let ending = quoted(&place) ?? (isInQuery ? .space : .list)
            return range(from: place, ending)
        case .query:
            let ending = quoted(&place) ?? .space
            let value = range(from: place, ending)
            // A code of six digits is one that somebody was sent; other codes and states say what went wrong.
            let isSent = value.count >= 6 && characters[value].allSatisfy(\.isNumber)
            return isAssigned || isSent ? value : nil
        }
    }

    /// The sign between a name and its value.
    private func sign(after end: Int, _ name: ReportName) -> Int? {
        var index = end
        while index < count, !Self.isWord(characters[index]), !"&,;({[".contains(characters[index]) {
            if "=:".contains(characters[index]) { return index }
            if characters[index].isNewline { return nil }
            index += 1
        }
        if case .scheme = name, end < count, characters[end].isWhitespace { return end }
        return nil
    }

    /// Steps over an opening quote.
    private func quoted(_ place: inout Int) -> Ending? {
        var index = place
        while index < count, characters[index] == "\\" { index += 1 }
        guard index < count, "\"'`".contains(characters[index]) else { return nil }
        defer { place = index + 1 }
        return .quote(characters[index], escapes: index - place)
    }

    private func range(from start: Int, _ ending: Ending) -> Range<Int> {
        var index = start
        if case .list = ending { index = afterBrackets(start) }
        while index < count, !ends(index, start, ending) { index += 1 }
        if case .quote(_, let opening) = ending {
            // The backslashes before the closing quote are its own.
            index -= characters[start..<index].suffix(opening).reversed().prefix { $0 == "\\" }.count
        }
        return start..<index
    }

    private func ends(_ index: Int, _ start: Int, _ ending: Ending) -> Bool {
        let character = characters[index]
        let escapes = characters[start..<index].reversed().prefix { $0 == "\\" }.count
        let next = index + 1 < count ? characters[index + 1] : " "
        let isOuterEnd = isRecord && character == "\"" && escapes.isMultiple(of: 2)
        if isOuterEnd { return true }  // guard: report-record-end
        let isNewLine = character.isNewline || (isRecord && character == "\\" && escapes == 0 && "nr".contains(next))
        switch ending {
        case .quote(let quote, let opening):
            let isClosing = opening == 0 ? escapes.isMultiple(of: 2) : escapes <= opening
            return character == quote && isClosing && !Self.isWord(next)
        case .line: return isNewLine
        case .list:
            let isComma = character == "," && (next.isWhitespace || "\"'\\".contains(next))
            return isNewLine || isComma || "&;".contains(character)
        case .space: return character.isWhitespace || "&\"'`\\<>".contains(character)
        }
    }

    /// `["a", "b"]` is one value.
    private func afterBrackets(_ start: Int) -> Int {
        guard start < count, "[{".contains(characters[start]) else { return start }
        var depth = 0
        for index in start..<count {
            if "[{".contains(characters[index]) { depth += 1 }
            if "]}".contains(characters[index]) { depth -= 1 }
            if depth == 0 { return index + 1 }
        }
        return count
    }
}
