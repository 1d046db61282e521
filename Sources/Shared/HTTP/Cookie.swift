// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore

/// One cookie as kept in a jar (RFC 6265bis section 5.7).
public struct Cookie: Hashable, Sendable {
    /// The name; never empty here.
    public var name: String
    /// The value as sent.
    public var value: String
    /// The host it belongs to, in lower case.
    public var domain: String
    /// Whether it goes to exactly that host, not to names below it.
    public var isHostOnly: Bool
    /// The path prefix it goes to.
    public var path: String
    /// Whether it goes over TLS only.
    public var isSecure: Bool
    /// Whether scripts may not see it.
    public var isHTTPOnly: Bool
    /// When it ends; nil for a session cookie.
    public var expires: Instant?
    /// When it was first set; the order in the header.
    public var created: Instant
}

extension Cookie {
    /// RFC 6265bis section 5.7.3: at most 4096 bytes of name and value, 1024 of an attribute.
    static let maximumSize = 4096
    /// RFC 6265bis section 5.5: no cookie outlives 400 days.
    static let maximumAge: Duration = .seconds(400 * 24 * 3600)

    /// The cookie that a `Set-Cookie` field of a response from `url` sets, or nil when the jar must ignore it.
    public init?(setCookie text: String, from url: WebURL, now: Instant) {
        guard text.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }) else { return nil }
        // In bytes, as whoever gets it will: a combining mark behind a semicolon makes another character of it.
        let parts = text.parts(at: ";", keepingEmpty: true)
        let pair = parts[0].parts(at: "=", most: 2, keepingEmpty: true)
        guard pair.count == 2 else { return nil }
        name = pair[0].trimmingSpaces()
        value = pair[1].trimmingSpaces()
        guard !name.isEmpty, name.utf8.count + value.utf8.count <= Self.maximumSize else { return nil }
        domain = url.origin.host
        isHostOnly = true
        path = Cookie.defaultPath(of: url.path)
        isSecure = false
        isHTTPOnly = false
        expires = nil
        created = now
        guard applyAttributes(parts.dropFirst(), host: url.origin.host, now: now) else { return nil }
        guard !isSecure || url.origin.scheme == "https" || url.origin.isLoopback else { return nil }
        guard satisfiesPrefix(of: url) else { return nil }
    }

    private mutating func applyAttributes(_ parts: ArraySlice<Substring>, host: String, now: Instant) -> Bool {
        var maxAge: Instant?
        for part in parts {
            let pair = part.parts(at: "=", most: 2, keepingEmpty: true)
            let text = pair.count > 1 ? pair[1].trimmingSpaces() : ""
            guard text.utf8.count <= 1024 else { continue }
            switch pair[0].trimmingSpaces().lowercased() {
            case "secure": isSecure = true
            case "httponly": isHTTPOnly = true
            case "path": path = text.hasPrefix("/") ? text : path
            case "max-age":
                guard let seconds = Int64(text) else { continue }
                maxAge = seconds <= 0 ? Instant(milliseconds: 0) : now + min(.seconds(seconds), Self.maximumAge)
            case "expires":
                guard let date = CookieDate.parse(text) else { continue }
                expires = min(date, now + Self.maximumAge)
            case "domain":
                let name = (text.hasPrefix(".") ? String(text.dropFirst()) : text).lowercased()
                guard !name.isEmpty else { continue }
                guard applyDomain(name, host: host) else { return false }
            default: continue
            }
        }
        if let maxAge { expires = maxAge }
        return true
    }

    /// A cookie may widen to a parent domain of its host, never to a public suffix and never to somebody else's name.
    private mutating func applyDomain(_ name: String, host: String) -> Bool {
        if name == host {
            isHostOnly = PublicSuffix.isPublicSuffix(name) || PublicSuffix.isAddress(host)
            domain = name
            return true
        }
        guard !PublicSuffix.isAddress(host), host.hasSuffix("." + name) else { return false }
        guard !PublicSuffix.isPublicSuffix(name) else { return false }  // guard: cookie-public-suffix
        domain = name
        isHostOnly = false
        return true
    }

    private func satisfiesPrefix(of url: WebURL) -> Bool {
        let lower = name.lowercased().utf8
        if lower.starts(with: "__secure-".utf8) { return isSecure && url.origin.scheme == "https" }
        if lower.starts(with: "__host-".utf8) {
            return isSecure && url.origin.scheme == "https" && isHostOnly && path == "/"
        }
        return true
    }

    /// RFC 6265bis section 5.1.4.
    static func defaultPath(of path: String) -> String {
        guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    /// Whether it goes with a request to `url` now.
    func matches(_ url: WebURL, now: Instant) -> Bool {
        if let expires, expires <= now { return false }
        let host = url.origin.host
        guard host == domain || (!isHostOnly && host.hasSuffix("." + domain)) else { return false }
        guard !isSecure || url.origin.scheme == "https" || url.origin.isLoopback else { return false }
        let target = url.path
        return target == path
            || (target.hasPrefix(path) && (path.hasSuffix("/") || target.dropFirst(path.count).hasPrefix("/")))
    }
}
