// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// A cookie that is kept is one pair for its own site, whatever the `Set-Cookie` field says.
enum CookieProperty {
    private static let now = Instant(seconds: 1_700_000_000)

    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let url = try? WebURL("https://mail.example.org/a/b") else { throw Violation("no URL") }
        guard let cookie = Cookie(setCookie: text, from: url, now: now) else { return false }
        let (name, value) = (Array(cookie.name.utf8), Array(cookie.value.utf8))
        try demand(!name.isEmpty, "no name")
        try demand((name + value).allSatisfy { ($0 >= 32 && $0 != 127) || $0 == 9 }, "a control character")
        try demand(!name.contains(UInt8(ascii: "=")), "an equals sign in the name")
        try demand(!(name + value).contains(UInt8(ascii: ";")), "a semicolon in name or value: two cookies when sent")
        try demand(name.count + value.count <= 4096, "more than 4096 bytes")
        try demand(
            cookie.domain == "mail.example.org" || (cookie.domain == "example.org" && !cookie.isHostOnly),
            "a cookie for \(cookie.domain)")
        try demand(cookie.path.utf8.first == UInt8(ascii: "/"), "a path that is none")
        if let expires = cookie.expires {
            try demand(expires <= now + .seconds(400 * 24 * 3600), "outlives 400 days")
        }
        let prefix = String(decoding: name.prefix(7), as: UTF8.self).lowercased()
        if prefix == "__host-" {
            try demand(cookie.isSecure && cookie.isHostOnly && cookie.path == "/", "__Host- without its conditions")
        }
        let jar = CookieJar()
        jar.store(["Set-Cookie": text], from: url, now: now)
        let copy = CookieJar()
        copy.restore(jar.archive)
        try demand(copy.archive.bytes == jar.archive.bytes, "another cookie out of the archive")
        if let header = jar.header(for: url, now: now) {
            try demand(header.utf8.elementsEqual("\(cookie.name)=\(cookie.value)".utf8), "sent as \(header)")
        }
        return true
    }
}
