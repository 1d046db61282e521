// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CPSL

/// Registrable domains, from the public suffix list that libpsl carries.
public enum PublicSuffix {
    /// Whether nobody can own `host` itself, such as `co.uk`: a cookie for it would reach strangers.
    public static func isPublicSuffix(_ host: String) -> Bool {
        guard let list = psl_builtin() else { return !host.contains(".") }
        return psl_is_public_suffix(list, host) != 0
    }

    /// The registrable domain of a host name, or nil for addresses, single labels and public suffixes.
    public static func registrableDomain(_ host: String) -> String? {
        guard !isAddress(host), host.contains("."), let list = psl_builtin(),
            let domain = psl_registrable_domain(list, host)
        else { return nil }
        return String(cString: domain)
    }

    /// Whether a browser counts both origins to one site (HTML, "schemefully same site"; ports do not matter).
    public static func isSameSite(_ a: Origin, _ b: Origin) -> Bool {
        guard a.scheme == b.scheme else { return false }
        if a.host == b.host { return true }
        guard let site = registrableDomain(a.host) else { return false }
        return site == registrableDomain(b.host)
    }

    /// Whether the host is an IPv4 or bracketed IPv6 address.
    static func isAddress(_ host: String) -> Bool {
        if host.hasPrefix("[") { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    }
}
