// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// A cookie that presents a handle: the values of `Set-Cookie` and how to find it in `Cookie`.
package struct SessionCookie: Sendable {
    /// The cookie's name.
    package let name: String
    /// The paths it is sent to.
    package let path: String
    /// Whether it is sent over TLS only: whenever the gateway's public origin is https.
    package let secure: Bool

    package init(name: String = "sessionid", path: String = "/", secure: Bool) {
        self.name = name
        self.path = path
        self.secure = secure
    }

    private func text(_ value: String, age: Int64) -> String {
        "\(name)=\(value); Path=\(path); Max-Age=\(age); HttpOnly; SameSite=Lax" + (secure ? "; Secure" : "")
    }

    /// The field value that gives the client this handle for so long.
    package func set(_ handle: String, age: Duration) -> String { text(handle, age: age.inMilliseconds / 1000) }

    /// The field value that takes it away.
    package var removal: String { text("", age: 0) }

    /// The handle in these `Cookie` field values; nil when there is none, more than one, or one that cannot be ours.
    package func handle(in fields: [String]) -> String? {
        let values = CookieFields.pairs(fields).filter { $0.name == name }.map(\.value)
        guard let first = values.first, values.allSatisfy({ $0 == first }), first.utf8.count <= 128,
            Base64URL.decode(first)?.count == 32
        else { return nil }
        return first
    }
}

/// The members of `Cookie` fields.
package enum CookieFields {
    /// Names and values, in order.
    package static func pairs(_ fields: [String]) -> [(name: String, value: String)] {
        // In bytes: every request with a session comes by here.
        fields.flatMap { $0.utf8.split(separator: UInt8(ascii: ";")) }.compactMap { part in
            guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            let name = part[..<equals].drop { $0 == UInt8(ascii: " ") }
            return (String(Substring(name)), String(Substring(part[part.index(after: equals)...])))
        }
    }

    /// The one `Cookie` field value without the members called `names` accepts, or nil when nothing is left.
    package static func text(_ fields: [String], without removes: (String) -> Bool) -> String? {
        let kept = pairs(fields).filter { !removes($0.name) }
        return kept.isEmpty ? nil : kept.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }
}
