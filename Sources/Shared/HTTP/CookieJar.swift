// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
import Synchronization

/// The cookies of one purpose (RFC 6265bis): the API origin's, an OAuth flow's. Jars share nothing.
///
/// Bounded: 50 cookies a domain and 500 in all; the oldest go first.
public final class CookieJar: Sendable {
    private let cookies = Mutex<[Cookie]>([])
    private static let perDomain = 50
    private static let total = 500

    /// An empty jar.
    public init() {}

    /// Keeps what the `Set-Cookie` fields of a response from `url` set. Returns whether anything changed.
    @discardableResult
    public func store(_ fields: HTTPFields, from url: WebURL, now: Instant) -> Bool {
        let texts = fields.values("Set-Cookie")
        guard !texts.isEmpty else { return false }
        return cookies.withLock { cookies in
            let before = cookies
            for text in texts {
                guard let cookie = Cookie(setCookie: text, from: url, now: now) else { continue }
                Self.put(cookie, into: &cookies, from: url, now: now)
            }
            return cookies != before
        }
    }

    private static func put(_ cookie: Cookie, into cookies: inout [Cookie], from url: WebURL, now: Instant) {
        var cookie = cookie
        // RFC 6265bis section 5.7.3 step 16: a plain-http response never overwrites a Secure cookie.
        let isPlain = url.origin.scheme == "http"
        if isPlain, !cookie.isSecure,
            cookies.contains(where: { $0.isSecure && $0.name == cookie.name && $0.domain == cookie.domain })
        {
            return
        }
        if let index = cookies.firstIndex(where: {
            $0.name == cookie.name && $0.domain == cookie.domain && $0.path == cookie.path
                && $0.isHostOnly == cookie.isHostOnly
        }) {
            cookie.created = cookies[index].created
            cookies.remove(at: index)
        }
        if let expires = cookie.expires, expires <= now { return }
        cookies.append(cookie)
        cookies.removeAll { $0.expires.map { $0 <= now } ?? false }
        while cookies.filter({ $0.domain == cookie.domain }).count > perDomain,
            let oldest = cookies.firstIndex(where: { $0.domain == cookie.domain })
        { cookies.remove(at: oldest) }
        while cookies.count > total { cookies.removeFirst() }
    }

    /// The `Cookie` field for a request to `url`, or nil when none goes with it.
    public func header(for url: WebURL, now: Instant) -> String? {
        let matching = cookies.withLock { $0.filter { $0.matches(url, now: now) } }
        guard !matching.isEmpty else { return nil }
        // Longer paths first, then older cookies (section 5.8.3).
        let sorted = matching.sorted {
            $0.path.utf8.count != $1.path.utf8.count ? $0.path.utf8.count > $1.path.utf8.count : $0.created < $1.created
        }
        return sorted.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }

    /// The cookies that go to `url`.
    public func cookies(for url: WebURL, now: Instant) -> [Cookie] {
        cookies.withLock { $0.filter { $0.matches(url, now: now) } }
    }

    /// Forgets everything.
    public func removeAll() { cookies.withLock { $0 = [] } }

    /// Forgets the cookies for which `condition` is true.
    public func removeAll(where condition: (Cookie) -> Bool) { cookies.withLock { $0.removeAll(where: condition) } }

    /// Whether there is nothing in it.
    public var isEmpty: Bool { cookies.withLock { $0.isEmpty } }

    /// All cookies as JSON, for sealed storage. Session cookies too: an app's session outlives its process.
    public var archive: JSONValue { .array(cookies.withLock { $0 }.map(\.archive)) }

    /// Replaces the content by an archive; what cannot be read is left out.
    public func restore(_ archive: JSONValue) {
        let restored = (archive.array ?? []).compactMap(Cookie.init(archive:))
        cookies.withLock { $0 = restored }
    }
}

extension Cookie {
    fileprivate var archive: JSONValue {
        [
            "name": .string(name), "value": .string(value), "domain": .string(domain), "hostOnly": .bool(isHostOnly),
            "path": .string(path), "secure": .bool(isSecure), "httpOnly": .bool(isHTTPOnly),
            "expires": expires.map { .integer($0.milliseconds) } ?? .null, "created": .integer(created.milliseconds),
        ]
    }

    fileprivate init?(archive: JSONValue) {
        guard let name = archive["name"]?.string, let value = archive["value"]?.string,
            let domain = archive["domain"]?.string, let isHostOnly = archive["hostOnly"]?.bool,
            let path = archive["path"]?.string, let isSecure = archive["secure"]?.bool,
            let isHTTPOnly = archive["httpOnly"]?.bool, let created = archive["created"]?.integer
        else { return nil }
        self.init(
            name: name, value: value, domain: domain, isHostOnly: isHostOnly, path: path, isSecure: isSecure,
            isHTTPOnly: isHTTPOnly, expires: archive["expires"]?.integer.map(Instant.init(milliseconds:)),
            created: Instant(milliseconds: created))
    }
}
