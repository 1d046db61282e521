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
    /// With which requests of other sites a browser would send it. Kept and told, not enforced: the jar's requests are
    /// the app's own, first-party whatever site the page is on (NB-1).
    public var sameSite: SameSite
    /// When it ends; nil for a session cookie.
    public var expires: Instant?
    /// When it was first set; the order in the header.
    public var created: Instant

    /// The `SameSite` attribute (RFC 6265bis section 5.6.7).
    public enum SameSite: String, Sendable {
        case strict, lax, none
        /// There was none, or none that is known.
        case unset
    }
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
        let attributes = Attributes(parts.dropFirst(), now: now)
        domain = url.origin.host
        isHostOnly = true
        path = attributes.path ?? Cookie.defaultPath(of: url.path)
        isSecure = attributes.isSecure
        isHTTPOnly = attributes.isHTTPOnly
        sameSite = attributes.sameSite
        expires = attributes.expires
        created = now
        if let name = attributes.domain, !name.isEmpty {
            guard applyDomain(name, host: url.origin.host) else { return nil }
        }
        guard !isSecure || url.origin.scheme == "https" || url.origin.isLoopback else { return nil }
        guard sameSite != .none || isSecure else { return nil }  // guard: cookie-none-needs-secure
        guard satisfiesPrefix(of: url, namesRoot: attributes.path == "/") else { return nil }
    }

    /// The attributes of a field; of several of one name the last counts (section 5.7.3).
    private struct Attributes {
        var isSecure = false
        var isHTTPOnly = false
        var sameSite = SameSite.unset
        /// Nil where the default path holds.
        var path: String?
        var domain: String?
        private var date: Instant?
        private var maxAge: Instant?
        /// Max-Age before Expires, whatever their order.
        var expires: Instant? { maxAge ?? date }

        init(_ parts: ArraySlice<Substring>, now: Instant) {
            for part in parts {
                let pair = part.parts(at: "=", most: 2, keepingEmpty: true)
                let text = pair.count > 1 ? pair[1].trimmingSpaces() : ""
                guard text.utf8.count <= 1024 else { continue }
                switch pair[0].trimmingSpaces().asciiLowercased {
                case "secure": isSecure = true
                case "httponly": isHTTPOnly = true
                case "samesite": sameSite = SameSite(attribute: text)
                case "path": path = text.utf8.first == UInt8(ascii: "/") ? text : nil
                case "max-age": maxAge = Cookie.end(ofMaxAge: text, now: now) ?? maxAge
                case "expires": date = CookieDate.parse(text).map { min($0, now + Cookie.maximumAge) } ?? date
                case "domain": domain = (text.hasPrefix(".") ? String(text.dropFirst()) : text).asciiLowercased
                default: continue
                }
            }
        }
    }

    /// Section 5.6.2: digits with an optional minus sign, else nothing; however large, 400 days are the most.
    private static func end(ofMaxAge text: String, now: Instant) -> Instant? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        guard !text.hasPrefix("-"), digits.contains(where: { $0 != "0" }) else { return Instant(milliseconds: 0) }
        return now + min(.seconds(Int64(digits) ?? .max), maximumAge)
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

    private func satisfiesPrefix(of url: WebURL, namesRoot: Bool) -> Bool {
        let lower = name.lowercased().utf8
        if lower.starts(with: "__secure-".utf8) { return isSecure && url.origin.scheme == "https" }
        if lower.starts(with: "__host-".utf8) {
            return isSecure && url.origin.scheme == "https" && isHostOnly && namesRoot
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
        guard host == domain || (!isHostOnly && Cookie.isBelow(host, domain)) else { return false }
        guard !isSecure || url.origin.scheme == "https" || url.origin.isLoopback else { return false }
        return Cookie.path(url.path, isWithin: path)
    }

    /// Section 5.1.3, for names that differ; never for addresses.
    static func isBelow(_ host: String, _ domain: String) -> Bool {
        host.hasSuffix("." + domain) && !PublicSuffix.isAddress(host)
    }

    /// Section 5.1.4, byte by byte.
    static func path(_ target: String, isWithin path: String) -> Bool {
        guard target.utf8.starts(with: path.utf8) else { return false }
        let rest = target.utf8.dropFirst(path.utf8.count)
        return rest.isEmpty || path.utf8.last == UInt8(ascii: "/") || rest.first == UInt8(ascii: "/")
    }
}

extension Cookie.SameSite {
    fileprivate init(attribute: String) { self = Self(rawValue: attribute.asciiLowercased) ?? .unset }
}
