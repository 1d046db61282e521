// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// Takes out of a text what a person would not hand to somebody who is to help: what looks like a secret, addresses of mail,
/// and what is known to be theirs. It rather takes too much.
///
/// The log's own redaction goes by the names of fields; here a page's words are in the text too, and they keep to no names.
struct ReportText: Sendable {
    /// The person's own: their name, their id, their folder.
    private let personal: [String]

    init(personal: [String]) {
        // A short name would be taken out of the middle of words.
        self.personal = personal.filter { $0.utf8.count >= 3 }.sorted { $0.utf8.count > $1.utf8.count }
    }

    func clean(_ text: String) -> String {
        var result = ""
        var before = ""
        var between = ""
        var word = ""
        var isHeader = false
        func end() {
            guard !word.isEmpty else { return }
            let isValue = Self.announces(before, between)  // guard: report-named-secret
            isHeader = isValue && (before.lowercased().hasSuffix("cookie") || before.lowercased() == "authorization")
            result += isValue || Self.looksSecret(word) ? Redaction.mark : word
            before = word
            between = ""
            word = ""
        }
        for character in withoutPersonal(text) {
            // What follows in such a header is of the same kind, whatever it calls itself.
            if isHeader, character != "\"", !character.isNewline { continue }
            isHeader = false
            if character.isLetter || character.isNumber || "_-+.~%@/".contains(character) {
                word.append(character)
            } else {
                end()
                if isHeader, character != "\"", !character.isNewline { continue }
                result.append(character)
                between.append(character)
            }
        }
        end()
        return result
    }

    private func withoutPersonal(_ text: String) -> String {
        var text = text
        for value in personal {
            var cleaned = ""
            // What was put in is not looked at again: a name may be a part of it.
            while let place = text.firstRange(ofText: value) {
                cleaned += text[..<place.lowerBound] + "[…]"
                text.removeSubrange(..<place.upperBound)
            }
            text = cleaned + text
        }
        return text
    }

    /// `token=…`, `"password": "…"`, `Bearer …`.
    private static func announces(_ name: String, _ between: String) -> Bool {
        if ["bearer", "basic"].contains(name.lowercased()) { return true }
        return Redaction.isSecret(name: name) && between.contains { $0 == "=" || $0 == ":" }
    }

    private static func looksSecret(_ word: String) -> Bool {
        if word.contains("@") { return true }
        if word.hasPrefix("eyJ") { return true }
        // A path or a version has short parts; what is long and mixed is made by a machine to be kept.
        return word.split(whereSeparator: { $0 == "/" || $0 == "." }).contains { part in
            let isLong = part.utf8.count >= 20  // guard: report-machine-text
            return isLong && part.contains(where: \.isNumber) && part.contains(where: \.isLetter)
        }
    }
}
