// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// Text in header fields that is more than ASCII (RFC 2047).
enum EncodedWord {
    /// The text with its encoded words decoded; the space between two of them is none.
    static func decode(_ text: String) -> String {
        var out = ""
        var pending: (charset: String, bytes: [UInt8])?
        var rest = text[...]
        func flush() {
            if let word = pending { out += Charset.decode(word.bytes, word.charset) }
            pending = nil
        }
        while let start = rest.firstRange(ofText: "=?") {
            guard let word = Self.word(rest[start.lowerBound...]) else {
                flush()
                out += rest[..<start.upperBound]
                rest = rest[start.upperBound...]
                continue
            }
            let between = rest[..<start.lowerBound]
            if pending == nil || !between.allSatisfy(\.isWhitespace) {
                flush()
                out += between
            }
            // A letter of several bytes may be cut between two words of one character set.
            if pending?.charset == word.charset {
                pending?.bytes += word.bytes
            } else {
                flush()
                pending = (word.charset, word.bytes)
            }
            rest = rest[word.end...]
        }
        flush()
        return out + rest
    }

    private static func word(_ text: Substring) -> (charset: String, bytes: [UInt8], end: Substring.Index)? {
        // Never longer than a line; so a broken one costs little to look at.
        let parts = text.dropFirst(2).prefix(1000).split(separator: "?", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, parts[3].first == "=", parts[1].count == 1, !parts[2].contains(where: \.isNewline)
        else {
            return nil
        }
        let charset = parts[0].prefix { $0 != "*" }.lowercased()
        let bytes: [UInt8]
        switch parts[1].lowercased() {
        case "b": bytes = TransferEncoding.base64(parts[2].utf8)
        case "q": bytes = TransferEncoding.quotedPrintable(parts[2].utf8, underscore: true)
        default: return nil
        }
        return (charset, bytes, text.index(after: parts[3].startIndex))
    }

    /// The text fit for a header field: as it is when it is plain ASCII, else as encoded words of at most 75 characters.
    static func encode(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { (32...126).contains($0) } && !text.contains("=?")
        guard !isPlain else { return text }
        var words: [String] = []
        var chunk: [UInt8] = []
        func flush() {
            if !chunk.isEmpty { words.append("=?UTF-8?B?\(Base64.encode(chunk))?=") }
            chunk = []
        }
        for scalar in text.unicodeScalars {
            // No line break survives: it would begin a header field of its own.
            let isControl = scalar.value < 32 || scalar.value == 127
            let bytes = isControl ? [32] : Array(String(scalar).utf8)  // guard: header-line
            if chunk.count + bytes.count > 45 { flush() }
            chunk += bytes
        }
        flush()
        return words.joined(separator: "\r\n ")
    }
}
