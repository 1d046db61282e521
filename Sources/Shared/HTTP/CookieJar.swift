// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
import Synchronization

/// The cookies of one purpose (RFC 6265bis): the API origin's, an OAuth flow's. Jars share nothing.
///
/// Bounded: 50 cookies a domain and 500 in all. Beyond that expired ones go first, then those without `Secure`, then the
/// ones that have not been sent for the longest time (section 5.7.3).
public final class CookieJar: Sendable {
    private struct Entry {
        var cookie: Cookie
        /// When it was last stored or sent, as a count.
        var used: UInt64
    }

    private struct State {
        var entries: [Entry] = []
        var count: UInt64 = 0
        var cookies: [Cookie] { entries.map(\.cookie) }

        mutating func tick() -> UInt64 {
            count += 1
            return count
        }
    }

    private let state = Mutex(State())
    private static let perDomain = 50
    private static let total = 500

    /// An empty jar.
    public init() {}

    /// Keeps what the `Set-Cookie` fields of a response from `url` set. Returns whether anything changed.
    @discardableResult
    public func store(_ fields: HTTPFields, from url: WebURL, now: Instant) -> Bool {
        let texts = fields.values("Set-Cookie")
        guard !texts.isEmpty else { return false }
        return state.withLock { state in
            let before = state.cookies
            for text in texts {
                guard let cookie = Cookie(setCookie: text, from: url, now: now) else { continue }
                Self.put(cookie, into: &state, from: url, now: now)
            }
            return state.cookies != before
        }
    }

    private static func put(_ cookie: Cookie, into state: inout State, from url: WebURL, now: Instant) {
        var cookie = cookie
        // Section 5.7.3: a plain-http response neither overwrites nor shadows a Secure cookie.
        let isPlain = url.origin.scheme == "http" && !cookie.isSecure
        let hides = state.entries.contains { $0.cookie.isShadowed(by: cookie) }  // guard: cookie-shadow
        if isPlain && hides { return }
        let index = state.entries.firstIndex { entry in
            let old = entry.cookie
            return old.name == cookie.name && old.domain == cookie.domain && old.path == cookie.path
                && old.isHostOnly == cookie.isHostOnly
        }
        let isOver = cookie.expires.map { $0 <= now } ?? false
        if let index {
            cookie.created = state.entries[index].cookie.created
            if isOver {
                state.entries.remove(at: index)
            } else {
                state.entries[index] = Entry(cookie: cookie, used: state.tick())
            }
        } else if !isOver {
            state.entries.append(Entry(cookie: cookie, used: state.tick()))
        }
        state.entries.removeAll { $0.cookie.expires.map { $0 <= now } ?? false }
        evict(from: &state, beyond: perDomain) { $0.domain == cookie.domain }  // guard: cookie-domain-limit
        evict(from: &state, beyond: total) { _ in true }  // guard: cookie-total-limit
    }

    private static func evict(from state: inout State, beyond limit: Int, _ isCounted: (Cookie) -> Bool) {
        while true {
            let counted = state.entries.indices.filter { isCounted(state.entries[$0].cookie) }
            guard counted.count > limit else { return }
            let plain = counted.filter { !state.entries[$0].cookie.isSecure }
            let candidates = plain.isEmpty ? counted : plain
            guard let oldest = candidates.min(by: { state.entries[$0].used < state.entries[$1].used }) else { return }
            state.entries.remove(at: oldest)
        }
    }

    /// The `Cookie` field for a request to `url`, or nil when none goes with it.
    public func header(for url: WebURL, now: Instant) -> String? {
        let matching = state.withLock { state -> [Cookie] in
            let indices = state.entries.indices.filter { state.entries[$0].cookie.matches(url, now: now) }
            let used = indices.isEmpty ? 0 : state.tick()
            for index in indices { state.entries[index].used = used }
            return indices.map { state.entries[$0].cookie }
        }
        guard !matching.isEmpty else { return nil }
        // Longer paths first, then older cookies (section 5.8.3); of one moment, as they came.
        let sorted = matching.enumerated().sorted { one, other in
            let (a, b) = (one.element, other.element)
            if a.path.utf8.count != b.path.utf8.count { return a.path.utf8.count > b.path.utf8.count }
            return a.created != b.created ? a.created < b.created : one.offset < other.offset
        }
        return sorted.map { "\($0.element.name)=\($0.element.value)" }.joined(separator: "; ")
    }

    /// The cookies that go to `url`.
    public func cookies(for url: WebURL, now: Instant) -> [Cookie] {
        state.withLock { $0.cookies.filter { $0.matches(url, now: now) } }
    }

    /// Forgets everything.
    public func removeAll() { state.withLock { $0.entries = [] } }

    /// Forgets the cookies for which `condition` is true.
    public func removeAll(where condition: (Cookie) -> Bool) {
        state.withLock { state in state.entries.removeAll { condition($0.cookie) } }
    }

    /// Whether there is nothing in it.
    public var isEmpty: Bool { state.withLock { $0.entries.isEmpty } }

    /// All cookies as JSON, for sealed storage. Session cookies too: an app's session outlives its process.
    public var archive: JSONValue { .array(state.withLock { $0.cookies }.map(\.archive)) }

    /// Replaces the content by an archive; what cannot be read is left out.
    public func restore(_ archive: JSONValue) {
        let restored = (archive.array ?? []).compactMap(Cookie.init(archive:))
        state.withLock { state in
            state.entries = restored.map { Entry(cookie: $0, used: 0) }
        }
    }
}

extension Cookie {
    fileprivate var archive: JSONValue {
        [
            "name": .string(name), "value": .string(value), "domain": .string(domain), "hostOnly": .bool(isHostOnly),
            "path": .string(path), "secure": .bool(isSecure), "httpOnly": .bool(isHTTPOnly),
            "sameSite": .string(sameSite.rawValue),
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
            isHTTPOnly: isHTTPOnly, sameSite: archive["sameSite"]?.string.flatMap(SameSite.init(rawValue:)) ?? .unset,
            expires: archive["expires"]?.integer.map(Instant.init(milliseconds:)),
            created: Instant(milliseconds: created))
    }
}

extension Cookie {
    /// Whether this Secure cookie would be hidden by a plain one.
    fileprivate func isShadowed(by plain: Cookie) -> Bool {
        isSecure && name == plain.name
            && (domain == plain.domain || Cookie.isBelow(domain, plain.domain) || Cookie.isBelow(plain.domain, domain))
            && Cookie.path(plain.path, isWithin: path)
    }
}
