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
        // In bytes: every field of every log record comes by here, and a search by characters took half of a request.
        var lower = Array(name.utf8)
        if lower.contains(where: { $0 >= 0x80 }) { lower = Array(name.lowercased().utf8) }
        for index in lower.indices where lower[index] >= 0x41 && lower[index] <= 0x5A { lower[index] |= 0x20 }
        return secretNames.contains { holds(lower, $0) }
    }

    private static func holds(_ text: [UInt8], _ needle: [UInt8]) -> Bool {
        guard text.count >= needle.count else { return false }
        return (0...(text.count - needle.count)).contains { start in
            var offset = 0
            while offset < needle.count, text[start + offset] == needle[offset] { offset += 1 }
            return offset == needle.count
        }
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
        let mayHold = text.utf8.contains {
            $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") || $0 == UInt8(ascii: "@")
        }
        guard mayHold else { return text }
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
