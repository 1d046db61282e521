// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// How text is compared in a search: without case, accents and vowel points, so that `ete` finds `Été`.
enum SearchText {
    private static let plain: [Unicode.Scalar: String] = {
        let groups = [
            "a": "àáâãäåāăą", "c": "çćĉċč", "d": "ďđ", "e": "èéêëēĕėęě", "g": "ĝğġģ", "h": "ĥħ", "i": "ìíîïĩīĭįı",
            "j": "ĵ", "k": "ķ", "l": "ĺļľŀł", "n": "ñńņňŉ", "o": "òóôõöøōŏő", "r": "ŕŗř", "s": "śŝşš", "t": "ţťŧ",
            "u": "ùúûüũūŭůűų", "w": "ŵ", "y": "ýÿŷ", "z": "źżž", "ae": "æ", "oe": "œ", "ss": "ß", "'": "’‘",
        ]
        var result: [Unicode.Scalar: String] = [:]
        for (plain, accented) in groups {
            for scalar in accented.unicodeScalars { result[scalar] = plain }
        }
        return result
    }()

    /// The text as it is stored and looked for.
    static func folded(_ text: String) -> String {
        var out = String.UnicodeScalarView()
        for scalar in text.lowercased().unicodeScalars {
            if scalar.isASCII {
                out.append(scalar)
            } else if let letters = plain[scalar] {
                out.append(contentsOf: letters.unicodeScalars)
            } else if scalar.properties.generalCategory != .nonspacingMark {
                out.append(scalar)
            }
        }
        return String(out)
    }

    /// The words of a query as patterns for `LIKE … ESCAPE '\'`; each must be found.
    static func patterns(_ query: String) -> [String] {
        folded(query).split(whereSeparator: \.isWhitespace).map { word in
            var pattern = "%"
            for character in word {
                if "%_\\".contains(character) { pattern.append("\\") }  // guard: like-escape
                pattern.append(character)
            }
            return pattern + "%"
        }
    }
}
