// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// What a word says of the value that follows it.
enum ReportName {
    /// `Bearer …`: the value needs no sign before it.
    case scheme
    /// What follows in the line is of the same kind, whatever it calls itself.
    case header
    case secret
    /// An ordinary word, which names a secret in the query of an address.
    case query

    /// Files of programs, whose names and lines a report is read for.
    static let programFiles: Set<String> = [
        "swift", "js", "mjs", "cjs", "ts", "tsx", "jsx", "vue", "css", "map", "wasm", "html", "py", "c", "h", "so",
    ]
    private static let names = [
        "apikey", "accesskey", "passphrase", "passcode", "motdepasse", "passwort", "paßwort", "kennwort",
    ]
    /// Too short to be looked for inside of words.
    private static let words: Set<String> = [
        "pin", "otp", "totp", "pass", "pwd", "passe", "mdp", "sid",
    ]

    init?(_ word: String) {
        let file = word.split(separator: "/").last.map(String.init) ?? word
        if file.split(separator: ".").dropFirst().contains(where: { Self.programFiles.contains(String($0)) }) {
            return nil
        }
        let lower = file.lowercased()
        let joined = String(lower.filter { !"-_.".contains($0) })
        let last = lower.split(separator: ".").last.map(String.init) ?? lower
        if lower == "bearer" || lower == "basic" {
            self = .scheme
        } else if lower.hasSuffix("cookie") || lower.hasSuffix("cookies") || lower.hasSuffix("authorization") {
            self = .header
        } else if Redaction.isSecret(name: lower) || Redaction.isSecret(name: joined)
            || Self.names.contains(where: { joined.firstRange(ofText: $0) != nil })
            || Self.parts(file).contains(where: Self.words.contains)
        {
            self = .secret
        } else if Redaction.url("?\(last)=-").hasSuffix(Redaction.mark) {
            // The log's own rule knows which these are.
            self = .query
        } else {
            return nil
        }
    }

    /// `userPin` and `user_pin` as their words.
    private static func parts(_ name: String) -> [String] {
        var parts = [""]
        var wasLower = false
        for character in name {
            let isBreak = !character.isLetter && !character.isNumber
            if isBreak || (wasLower && character.isUppercase) { parts.append("") }
            if !isBreak { parts[parts.count - 1] += character.lowercased() }
            wasLower = character.isLowercase
        }
        return parts
    }
}
