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
        var found: Substring.UTF8View?
        for field in fields {
            for part in CookieFields.members(field) where part.name.elementsEqual(name.utf8) {
                guard let first = found else {
                    found = part.value
                    continue
                }
                guard part.value.elementsEqual(first) else { return nil }
            }
        }
        guard let found, found.count <= 128 else { return nil }
        let handle = String(Substring(found))
        return Base64URL.decode(handle)?.count == 32 ? handle : nil
    }
}

/// The members of `Cookie` fields.
package enum CookieFields {
    /// Name and value of each member of one field, in bytes: every request with a session comes by here several times.
    static func members(_ field: String) -> [(name: Substring.UTF8View, value: Substring.UTF8View)] {
        field.utf8.split(separator: UInt8(ascii: ";")).compactMap { part in
            guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            return (part[..<equals].drop { $0 == UInt8(ascii: " ") }, part[part.index(after: equals)...])
        }
    }

    /// Names and values, in order.
    package static func pairs(_ fields: [String]) -> [(name: String, value: String)] {
        fields.flatMap(members).map { (String(Substring($0.name)), String(Substring($0.value))) }
    }

    /// The one `Cookie` field value without the members called `names` accepts, or nil when nothing is left.
    package static func text(_ fields: [String], without removes: (String) -> Bool) -> String? {
        var kept = ""
        for field in fields {
            for (name, value) in members(field) {
                let name = String(Substring(name))
                if removes(name) { continue }
                if !kept.isEmpty { kept += "; " }
                kept += name
                kept += "="
                kept += Substring(value)
            }
        }
        return kept.isEmpty ? nil : kept
    }
}
