// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Tells what a machine made from the words of a path: base64 has slashes too, and each of its pieces may be short.
enum MixedText {
    /// Whether what is left of the text without its words and numbers is as long as a secret.
    static func isSecret(_ text: Substring) -> Bool {
        guard text.utf8.count >= 20 else { return false }
        let pieces = text.split { "/-_+~".contains($0) }.filter(isMixed)
        let length = pieces.reduce(0) { $0 + $1.utf8.count }
        guard length >= 16 else { return false }  // guard: report-whole-word
        let kinds = Set(pieces.joined().utf8.compactMap(Kind.init))
        return kinds.count == 3
    }

    private enum Kind {
        case capital, small, digit
        init?(_ byte: UInt8) {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): self = .capital
            case UInt8(ascii: "a")...UInt8(ascii: "z"): self = .small
            case UInt8(ascii: "0")...UInt8(ascii: "9"): self = .digit
            default: return nil
            }
        }
    }

    /// Two neighbours of a random text differ in kind in two of three places, those of a name such as `ResponseWriter` seldom.
    private static func isMixed(_ piece: Substring) -> Bool {
        let kinds = piece.utf8.map { Kind($0) }
        let turns = zip(kinds, kinds.dropFirst()).filter { $0 != $1 }.count
        return turns * 5 >= (kinds.count - 1) * 2
    }
}
