// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Request fields that only the gateway may set, or that an upstream could take for another field.
enum ReservedFields {
    private static let names: Set<String> = [
        "forwarded", "x-remote-user", "remote-user", "x-real-ip", "x-client-ip", "x-cluster-client-ip",
        "true-client-ip", "proxy", "x-forwarded", "x-original-forwarded-for", "proxy-client-ip", "wl-proxy-client-ip",
        "x-originating-ip", "x-scheme", "front-end-https",
        "cf-connecting-ip", "fastly-client-ip", "x-original-url", "x-original-host", "x-rewrite-url", "x-host",
        "x-request-id",
        // Settled between the client and us.
        "expect", "http2-settings",
    ]

    /// Whether a field of this name must not be passed on as a client sent it.
    static func contains(_ name: String) -> Bool {
        // CGI turns "-" into "_", so "Content_Length" would come out as the real one: as nginx does, we pass on no field with
        // an underscore. Some servers turn every other sign too ("X.Nacre.User"), so ours are known in all spellings.
        if name.utf8.contains(UInt8(ascii: "_")) { return true }  // guard: spoofed-underscores
        let name = withHyphensOnly(name)
        // guard: spoofed-fields
        return name.hasPrefix("x-nacre-") || name.hasPrefix("x-forwarded-") || names.contains(name)
    }

    /// The lower-case name with every sign of it written as a hyphen. In bytes: each field of each request comes by here.
    private static func withHyphensOnly(_ name: String) -> String {
        let isPlain = name.utf8.allSatisfy { isWord($0) || $0 == UInt8(ascii: "-") }
        if isPlain { return name }
        // guard: spoofed-spellings
        return String(decoding: name.utf8.map { isWord($0) ? $0 : UInt8(ascii: "-") }, as: UTF8.self)
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        (byte >= 0x61 && byte <= 0x7A) || (byte >= 0x30 && byte <= 0x39)
    }
}
