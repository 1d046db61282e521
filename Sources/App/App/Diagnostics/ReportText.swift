// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// Takes out of a text what a person would not hand to somebody who is to help: what looks like a secret, addresses of mail,
/// and what is known to be theirs. It rather takes too much.
///
/// The log's own redaction goes by the names of fields; here a page's words are in the text too, and they keep to no names.
struct ReportText: Sendable {
    /// The person's own: their name, their id, their folder.
    private let personal: [String]
    /// How many layers of percent-encoding have been taken off.
    private let depth: Int

    init(personal: [String]) {
        // A short name would be taken out of the middle of words.
        self.personal = personal.filter { $0.utf8.count >= 3 }.sorted { $0.utf8.count > $1.utf8.count }
        depth = 0
    }

    private init(within outer: ReportText) {
        personal = outer.personal
        depth = outer.depth + 1
    }

    func clean(_ text: String) -> String {
        let line = ReportLine(withoutPersonal(text))
        var result = ""
        var index = 0
        while index < line.count {
            let start = index
            let word = line.word(at: start)
            guard !word.isEmpty else {
                result.append(line[index])
                index += 1
                continue
            }
            result += isSecret(word) ? Redaction.mark : word
            index += word.count
            let value = line.value(of: word, at: start) ?? index..<index
            guard !value.isEmpty else { continue }  // guard: report-named-secret
            // Between the name and the value stand signs alone.
            result += line.text(index..<value.lowerBound) + Redaction.mark
            index = value.upperBound
        }
        return result
    }

    private func withoutPersonal(_ text: String) -> String {
        var text = text
        for value in personal {
            var cleaned = ""
            // What was put in is not looked at again: a name may be a part of it.
            while let place = Self.place(of: value, in: text) {
                cleaned += text[..<place.lowerBound] + "[…]"
                text.removeSubrange(..<place.upperBound)
            }
            text = cleaned + text
        }
        return text
    }

    /// Where the value stands first, in capitals or not.
    private static func place(of value: String, in text: String) -> Range<String.Index>? {
        guard text.lowercased().firstRange(ofText: value.lowercased()) != nil else { return nil }
        let wanted = value.map { $0.lowercased() }
        var start = text.startIndex
        while start < text.endIndex {
            var end = start
            var matched = 0
            while matched < wanted.count, end < text.endIndex, text[end].lowercased() == wanted[matched] {
                end = text.index(after: end)
                matched += 1
            }
            if matched == wanted.count { return start..<end }
            start = text.index(after: start)
        }
        return text.firstRange(ofText: value)
    }

    /// A word of an address is judged by what it says once it is decoded.
    private func isSecret(_ word: String) -> Bool {
        if let decoded = Self.decoded(word) {
            guard depth < 4 else { return true }  // guard: report-encoded-depth
            return ReportText(within: self).clean(decoded) != decoded
        }
        if Self.looksSecret(word) { return true }
        // A plus is a space in the query of an address.
        guard word.contains("+") else { return false }
        let spaced = String(word.map { $0 == "+" ? " " : $0 })
        return ReportText(within: self).clean(spaced) != spaced
    }

    /// The word without its percent-encoding; nil where it has none, or is no text.
    private static func decoded(_ word: String) -> String? {
        guard word.contains("%") else { return nil }
        var bytes: [UInt8] = []
        var rest = Array(word.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2,
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        let text = String(validating: bytes, as: UTF8.self)
        return text == word ? nil : text
    }

    private static func looksSecret(_ word: String) -> Bool {
        if word.contains("@") || word.hasPrefix("eyJ") { return true }
        // A path or a version has short parts; what is long and mixed is made by a machine to be kept.
        return word.split(separator: "/").contains { component in
            let parts = component.split(separator: ".")
            if parts.dropFirst().contains(where: { ReportName.programFiles.contains(String($0)) }) { return false }
            return parts.contains { part in
                let isLong = part.utf8.count >= 20  // guard: report-machine-text
                return isLong && part.contains(where: \.isNumber) && part.contains(where: \.isLetter)
            }
        } || word.split(separator: ".").contains(where: MixedText.isSecret)
    }
}
