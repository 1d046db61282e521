// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Keeps secrets out of logs and messages.
///
/// Redaction is the last line of defence: code does not log secrets in the first place.
public enum Redaction {
    /// What stands where a secret was.
    public static let mark = "[redacted]"

    private static let secretNames: [[UInt8]] = [
        "password", "passwd", "secret", "token", "cookie", "authorization", "verifier", "code_challenge", "assertion",
        "csrf", "private", "apikey", "api_key", "credential", "session_id", "sessionid", "id_token_hint", "jwt",
    ].map { Array($0.utf8) }
    /// Query members whose value may be a secret although their name is an ordinary word.
    private static let secretQuery: Set<String> = [
        "code", "state", "nonce", "key", "flow", "ticket", "sig", "signature",
    ]

    /// Whether a field or parameter of this name holds a secret.
    public static func isSecret(name: String) -> Bool {
        // Every field of every record comes by here: bytes, no Unicode.
        let lower = name.utf8.map { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") ? $0 | 0x20 : $0 }
        return secretNames.contains { lower.contains(subsequence: $0) }
    }

    /// The value of a log field, with secrets taken out by name and URLs cleaned.
    static func field(_ name: String, _ value: JSONValue) -> JSONValue {
        if isSecret(name: name) { return .string(mark) }
        switch value {
        case .string(let text): return .string(url(text))
        case .array(let items): return .array(items.map { field(name, $0) })
        case .object(let members):
            return .object(Dictionary(uniqueKeysWithValues: members.map { ($0.key, field($0.key, $0.value)) }))
        default: return value
        }
    }

    /// The text with the values of secret query members and any user information of URLs replaced.
    ///
    /// Works on anything that looks like `…?a=b&c=d` or `scheme://user:secret@host`; other text passes unchanged.
    public static func url(_ text: String) -> String {
        // Most texts are no URL and hold nothing to take out.
        guard
            text.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") || $0 == UInt8(ascii: "@") })
        else { return text }
        var result = withoutUserInformation(text)
        guard let mark = result.firstIndex(where: { $0 == "?" || $0 == "#" }) else { return result }
        let head = result[...mark]
        let members = result[result.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
        let cleaned = members.map { member -> String in
            guard let equals = member.firstIndex(of: "=") else { return String(member) }
            let name = String(member[..<equals])
            return isSecret(name: name) || secretQuery.contains(name.lowercased())
                ? "\(name)=\(Self.mark)" : String(member)
        }
        result = head + cleaned.joined(separator: "&")
        return result
    }

    private static func withoutUserInformation(_ text: String) -> String {
        guard let scheme = text.firstRange(ofText: "://") else { return text }
        let rest = text[scheme.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" && $0 != " " }
        guard let at = authority.lastIndex(of: "@") else { return text }
        return text[..<scheme.upperBound] + mark + text[at...]
    }
}

extension Array where Element == UInt8 {
    /// Whether these bytes stand somewhere in a row.
    fileprivate func contains(subsequence needle: [UInt8]) -> Bool {
        let count = needle.count
        guard count <= self.count else { return false }
        return (0...(self.count - count)).contains { self[$0..<($0 + count)].elementsEqual(needle) }
    }
}

extension StringProtocol {
    /// The first place of a short ASCII text inside this one.
    package func firstRange(ofText needle: String) -> Range<Index>? {
        guard let first = needle.utf8.first else { return nil }
        var start = utf8.startIndex
        while let found = utf8[start...].firstIndex(of: first) {
            if utf8[found...].starts(with: needle.utf8) {
                return found..<utf8.index(found, offsetBy: needle.utf8.count)
            }
            start = utf8.index(after: found)
        }
        return nil
    }
}
