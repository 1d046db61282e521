// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP
import NacrePorts

/// A link that is taken is one of our own schemes, with a plain host, and says each thing once.
enum DeepLinkProperty {
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        let schemes: Set<String> = ["stmessages", "org.example.app"]
        guard let link = try? DeepLink(parsing: text, schemes: schemes) else { return false }
        try demand(bytes.count <= DeepLink.longest, "longer than a link may be")
        try demand(bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a character that must be escaped")
        try demand(
            schemes.contains { Array($0.utf8) == Array(link.scheme.utf8) }
                && bytes.starts(with: (link.scheme + ":").utf8),
            "a scheme that is not ours")
        let plain = Set("abcdefghijklmnopqrstuvwxyz0123456789-._".utf8)
        try demand(link.host.utf8.allSatisfy(plain.contains), "a host that is no plain name: \(link.host)")
        try demand(link.path.isEmpty || link.path.utf8.first == UInt8(ascii: "/"), "a path out of the blue")
        let names = link.query.pairs.map { Array($0.name.utf8) }
        try demand(Set(names).count == names.count, "one thing said twice")
        for (name, value) in link.query.pairs {
            try demand(link[name]?.utf8.elementsEqual(value.utf8) == true, "another value for \(name)")
        }
        return true
    }
}
