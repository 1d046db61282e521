// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// The line under a subject in a list: the beginning of what the newest message itself says.
enum Snippet {
    static let length = 160

    /// The beginning of a message, on one line, without what it quotes.
    static func make(text: String?, html: String?) -> String {
        if let text {
            let own = text.split(separator: "\n").filter { !$0.hasPrefix(">") }.joined(separator: " ")
            let line = oneLine(own)
            if !line.isEmpty { return line }
            return oneLine(text)
        }
        return oneLine(html.map(plainText) ?? "")
    }

    private static func oneLine(_ text: String) -> String {
        var out = ""
        var count = 0
        for word in text.split(whereSeparator: \.isWhitespace) {
            if count > 0 {
                out.append(" ")
                count += 1
            }
            out += word.prefix(length - count)
            count += min(word.count, length - count)
            if count >= length { break }
        }
        return out
    }

    /// The words of an HTML text, for search and lists; never shown as HTML.
    static func plainText(_ html: String) -> String {
        var out = ""
        var rest = html[...]
        while let open = rest.firstIndex(of: "<") {
            out += rest[..<open]
            rest = rest[open...]
            if rest.hasPrefix("<!--") {
                rest = skip(rest, past: "-->")
                continue
            }
            let name = rest.dropFirst().prefix { $0.isLetter }.lowercased()
            rest = skip(rest, past: ">")
            // What stands in these is no text of the message.
            if name == "style" || name == "script" || name == "title" { rest = skip(rest, past: "</\(name)") }
            if rest.first == ">" { rest = rest.dropFirst() }
            out.append(" ")
        }
        return entities(out + rest)
    }

    private static func skip(_ text: Substring, past end: String) -> Substring {
        var rest = text
        while let first = rest.firstIndex(where: { $0 == end.first }) {
            rest = rest[first...]
            if rest.prefix(end.count).lowercased() == end { return rest.dropFirst(end.count) }
            rest = rest.dropFirst()
        }
        return rest.dropFirst(rest.count)
    }

    private static func entities(_ text: String) -> String {
        let names = [
            "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "nbsp": " ", "zwnj": "", "#847": "", "rarr": "→",
        ]
        var out = ""
        var rest = text[...]
        while let mark = rest.firstIndex(of: "&") {
            out += rest[..<mark]
            rest = rest[mark...].dropFirst()
            let name = rest.prefix { $0.isLetter || $0.isNumber || $0 == "#" }
            if let value = names[String(name)], rest.dropFirst(name.count).first == ";" {
                out += value
                rest = rest.dropFirst(name.count + 1)
            } else {
                out.append("&")
            }
        }
        return out + rest
    }
}
