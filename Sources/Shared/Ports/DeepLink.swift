// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP

/// A link of one of the app's own schemes, split: `scheme://host/path?query` or `scheme:/path?query`.
///
/// Strict: printable ASCII, no user information, no port, no backslash, escapes that decode, no name twice.
package struct DeepLink: Sendable {
    /// No link is longer.
    package static let longest = 8192

    package let scheme: String
    /// Empty in `scheme:/path`.
    package let host: String
    /// Decoded; empty or from `/` on.
    package let path: String
    package let query: FormFields

    /// The value of a query member.
    package subscript(name: String) -> String? { query[name] }
    /// Whether it says more than where to go.
    package var hasQuery: Bool { !query.pairs.isEmpty }

    /// Splits `text` when its scheme is one of `schemes`.
    ///
    /// - Throws: `link.too_long`, `link.foreign` for another scheme, `link.malformed`. No message repeats the link.
    package init(parsing text: String, schemes: Set<String>) throws(NacreError) {
        guard text.utf8.count <= Self.longest else {  // guard: link-length
            throw NacreError("link.too_long", "A link of more than \(Self.longest) bytes was refused.")
        }
        func malformed(_ reason: String) -> NacreError {
            NacreError("link.malformed", "A link was refused: \(reason).")
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else {
            throw malformed("it has characters that must be escaped")
        }
        guard let colon = text.firstIndex(of: ":") else { throw malformed("it has no scheme") }
        scheme = String(text[..<colon])
        guard schemes.contains(scheme) else {  // guard: link-scheme
            throw NacreError("link.foreign", "A link of another app's scheme was ignored.")
        }
        var rest = text[text.index(after: colon)...].prefix { $0 != "#" }
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            let authority = rest.prefix { $0 != "/" && $0 != "?" }
            guard authority.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "-" || $0 == "." || $0 == "_" }) else {
                throw malformed("its host is not a plain name")
            }
            host = authority.lowercased()
            rest = rest[authority.endIndex...]
        } else {
            guard rest.hasPrefix("/") else { throw malformed("it has neither host nor path") }
            host = ""
        }
        guard let path = PercentEncoding.decode(rest.prefix { $0 != "?" }) else {
            throw malformed("its path has a broken escape")
        }
        self.path = path
        let mark = rest.firstIndex(of: "?")
        guard let query = FormFields(decoding: mark.map { rest[rest.index(after: $0)...] } ?? "") else {
            throw malformed("its query has a broken escape")
        }
        guard Set(query.pairs.map(\.name)).count == query.pairs.count else {  // guard: link-duplicate-name
            throw malformed("its query names one thing twice")
        }
        self.query = query
    }
}

/// The grammar of a scheme that can be registered everywhere: RFC 3986 section 3.1, lower case, no `_`.
package enum LinkScheme {
    /// Schemes that belong to the web or the system; an app may not claim them.
    private static let reserved: Set<String> = [
        "http", "https", "file", "ftp", "mailto", "tel", "sms", "data", "javascript", "about", "blob", "ws", "wss",
    ]

    /// What is wrong with `scheme`, or nil.
    package static func fault(_ scheme: String) -> String? {
        guard let first = scheme.utf8.first else { return "is empty; write for example \"stmessages\"." }
        guard (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first) else {
            return "must begin with a lower-case letter."
        }
        let allowed = Set("abcdefghijklmnopqrstuvwxyz0123456789+.-".utf8)
        guard scheme.utf8.allSatisfy(allowed.contains) else {
            return "may hold lower-case letters, digits, \"+\", \"-\" and \".\" only (RFC 3986), no \"_\"."
        }
        guard !reserved.contains(scheme) else { return "belongs to the system; choose a name of your own." }
        return nil
    }
}
