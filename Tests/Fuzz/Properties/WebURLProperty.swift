// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP

/// A URL that is taken has one reading: http or https, a host, a port, a target, nothing of a person or a fragment in it.
enum WebURLProperty {
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        guard let url = try? WebURL(String(decoding: bytes, as: UTF8.self)) else { return false }
        let (host, target) = (Array(url.origin.host.utf8), Array(url.target.utf8))
        try demand(url.origin.scheme == "http" || url.origin.scheme == "https", "the scheme \(url.origin.scheme)")
        try demand((1...65535).contains(url.origin.port), "the port \(url.origin.port)")
        try demand(!host.isEmpty && host != Array("[]".utf8), "no host")
        let outside = Set("@/?#\\ %".utf8)
        try demand(!host.contains(where: outside.contains), "a host that ends early: \(url.origin.host)")
        try demand(host.first == UInt8(ascii: "[") || !host.contains(UInt8(ascii: ":")), "a port in the host")
        try demand(target.first == UInt8(ascii: "/"), "a target that is no path")
        try demand(target.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a target with a character that must be escaped")
        try demand(!target.contains(UInt8(ascii: "#")), "a fragment")
        let again: WebURL
        do { again = try WebURL(url.description) } catch { throw Violation("not read again: \(url)") }
        try demand(again == url && again.description.utf8.elementsEqual(url.description.utf8), "two readings: \(url)")
        let rebuilt = url.path + (url.query.map { "?" + $0 } ?? "")
        try demand(rebuilt.utf8.elementsEqual(url.target.utf8), "path and query are not the target")
        return true
    }
}
