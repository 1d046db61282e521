// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// A field such as `text/plain; charset="utf-8"; name*=UTF-8''caf%C3%A9` (RFC 2045, RFC 2231).
struct HeaderParameters {
    /// What stands before the first semicolon, in lower case.
    let value: String
    private var parameters: [String: String] = [:]

    subscript(name: String) -> String? { parameters[name] }

    init(_ text: String?) {
        let parts = Self.parts(text ?? "")
        value = (parts.first ?? "").trimmingSpace().lowercased()
        var pieces: [String: [(number: Int, text: String, encoded: Bool)]] = [:]
        for part in parts.dropFirst().prefix(100) {
            guard let equals = part.firstIndex(of: "=") else { continue }
            var name = String(part[..<equals]).trimmingSpace().lowercased()
            let text = Self.unquoted(String(part[part.index(after: equals)...]).trimmingSpace())
            let isEncoded = name.hasSuffix("*")
            if isEncoded { name.removeLast() }
            let halves = name.split(separator: "*", maxSplits: 1)
            if halves.count == 2, let number = Int(halves[1]) {
                pieces[String(halves[0]), default: []].append((number, text, isEncoded))
            } else if isEncoded {
                pieces[name, default: []].append((0, text, true))
            } else if parameters[name] == nil {
                parameters[name] = EncodedWord.decode(text)
            }
        }
        for (name, list) in pieces {
            let sorted = list.sorted { $0.number < $1.number }
            // The first piece begins with the character set: charset'language'text.
            var charset: String?
            var bytes: [UInt8] = []
            for (index, piece) in sorted.enumerated() {
                var text = piece.text
                if index == 0, piece.encoded {
                    let head = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
                    if head.count == 3 { (charset, text) = (String(head[0]), String(head[2])) }
                }
                bytes += piece.encoded ? Self.percentDecoded(text) : Array(text.utf8)
            }
            parameters[name] = Charset.decode(bytes, charset)
        }
    }

    /// Splits at semicolons outside of quotes.
    private static func parts(_ text: String) -> [String] {
        var parts = [""]
        var isQuoted = false
        var isEscaped = false
        for character in text {
            if character == ";", !isQuoted {
                parts.append("")
                continue
            }
            if character == "\"", !isEscaped { isQuoted.toggle() }
            isEscaped = character == "\\" && !isEscaped
            parts[parts.count - 1].append(character)
        }
        return parts
    }

    private static func unquoted(_ text: String) -> String {
        guard text.count > 1, text.first == "\"", text.last == "\"" else { return text }
        var out = ""
        var isEscaped = false
        for character in text.dropFirst().dropLast() {
            if character == "\\", !isEscaped {
                isEscaped = true
                continue
            }
            isEscaped = false
            out.append(character)
        }
        return out
    }

    private static func percentDecoded(_ text: String) -> [UInt8] {
        TransferEncoding.quotedPrintable(text.utf8.map { $0 == UInt8(ascii: "%") ? UInt8(ascii: "=") : $0 })
    }
}
