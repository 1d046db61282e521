// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// Finds what looks like a secret in a file that ships inside the app (design section 3).
enum SecretLiterals {
    private static let names = [
        "secret", "password", "passwd", "passphrase", "privatekey", "private_key", "apikey", "api_key", "credential",
        "token",
    ]
    private static let prefixes = ["ghp_", "gho_", "github_pat_", "glpat-", "sk_live_", "rk_live_", "xoxb-", "xoxp-"]

    /// - Throws: `configuration.secret` that names the key and never repeats the value.
    static func refuse(_ value: JSONValue, file: String) throws(NacreError) {
        guard let path = find(value, path: "") else { return }  // guard: configuration-secret
        throw NacreError(
            "configuration.secret",
            "\(file): \"\(path)\" looks like a secret, and this file ships inside the app; keep secrets on the server.")
    }

    private static func find(_ value: JSONValue, path: String) -> String? {
        switch value {
        case .string(let text): return looksSecret(text) ? path : nil
        case .array(let items):
            for (index, item) in items.enumerated() {
                if let found = find(item, path: "\(path)[\(index)]") { return found }
            }
            return nil
        case .object(let members):
            for (key, member) in members.sorted(by: { $0.key < $1.key }) {
                let inner = path.isEmpty ? key : "\(path).\(key)"
                let lower = key.lowercased()
                if let text = member.string, !text.isEmpty, names.contains(where: lower.contains) { return inner }
                if let found = find(member, path: inner) { return found }
            }
            return nil
        default: return nil
        }
    }

    private static func looksSecret(_ text: String) -> Bool {
        if text.contains("PRIVATE KEY-----") { return true }
        if prefixes.contains(where: text.hasPrefix) { return true }
        if text.hasPrefix("AKIA"), text.utf8.count == 20 { return true }
        // A JSON web token: two base64url objects and a signature.
        return text.hasPrefix("eyJ") && text.split(separator: ".").count == 3
    }
}
