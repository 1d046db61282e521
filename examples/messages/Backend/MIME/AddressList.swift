// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// The people of a field such as To (RFC 5322 section 3.4), read with the tolerance that real mail needs.
enum AddressList {
    static let maximum = 500

    static func parse(_ text: String?) -> [Address] {
        guard let text else { return [] }
        return entries(text).prefix(maximum).compactMap(address)
    }

    /// Splits at commas outside of quotes, angle brackets and comments; comments go, and the names of groups.
    private static func entries(_ text: String) -> [String] {
        var entries = [""]
        var isQuoted = false
        var isEscaped = false
        var isAngle = false
        var depth = 0
        for character in text {
            if isEscaped {
                if depth == 0 { entries[entries.count - 1].append(character) }
                isEscaped = false
                continue
            }
            switch character {
            case "\\" where isQuoted || depth > 0:
                isEscaped = true
                if isQuoted { entries[entries.count - 1].append(character) }
                continue
            case "\"" where depth == 0: isQuoted.toggle()
            case "(" where !isQuoted: depth += 1
            case ")" where !isQuoted && depth > 0:
                depth -= 1
                continue
            case "<" where !isQuoted && depth == 0: isAngle = true
            case ">" where !isQuoted && depth == 0: isAngle = false
            case ",", ";":
                if !isQuoted, !isAngle, depth == 0 {
                    entries.append("")
                    continue
                }
            case ":" where !isQuoted && !isAngle && depth == 0:
                entries[entries.count - 1] = ""
                continue
            default: break
            }
            if depth == 0 { entries[entries.count - 1].append(character) }
        }
        return entries
    }

    private static func address(_ entry: String) -> Address? {
        let text = entry.trimmingSpace()
        guard let close = text.lastIndex(of: ">"), let open = text[..<close].lastIndex(of: "<") else {
            return text.contains("@") ? Address(name: "", email: text) : nil
        }
        let email = String(text[text.index(after: open)..<close]).trimmingSpace()
        guard !email.isEmpty else { return nil }
        var name = String(text[..<open]).trimmingSpace()
        if name.count > 1, name.first == "\"", name.last == "\"" {
            var plain = ""
            var isEscaped = false
            for character in name.dropFirst().dropLast() {
                if character == "\\", !isEscaped {
                    isEscaped = true
                } else {
                    plain.append(character)
                    isEscaped = false
                }
            }
            name = plain
        }
        return Address(name: EncodedWord.decode(name), email: email)
    }
}
