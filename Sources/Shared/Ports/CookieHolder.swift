// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP

/// Somebody who keeps cookies, as far as a page's script may use them: never one that is HttpOnly.
package protocol CookieHolder: Sendable {
    /// Names and values that a script may see at this address.
    func visibleCookies(for url: WebURL) async -> [(name: String, value: String)]
    /// Keeps what `text` sets, in the words of `Set-Cookie`; false when an HttpOnly cookie of that name stands there, or
    /// the cookie cannot be kept.
    func setCookie(_ text: String, name: String, from url: WebURL) async -> Bool
    /// Forgets the cookies that go to this address, or all, HttpOnly ones too.
    func clearCookies(for url: WebURL?) async
}

extension CookieJar {
    /// The rules of `CookieHolder` over a jar (RFC 6265bis section 5.7.3: a script neither sets nor replaces HttpOnly).
    package func setFromScript(_ text: String, name: String, from url: WebURL, now: Instant) -> Bool {
        guard let cookie = Cookie(setCookie: text, from: url, now: now), !cookie.isHTTPOnly else { return false }
        let hidden = cookies(for: url, now: now).contains { $0.isHTTPOnly && $0.name == name }
        guard !hidden else { return false }  // guard: cookies-http-only-kept
        store(["Set-Cookie": text], from: url, now: now)
        return true
    }

    /// What a script may see.
    package func visible(for url: WebURL, now: Instant) -> [(name: String, value: String)] {
        let cookies = cookies(for: url, now: now)
        return cookies.filter { !$0.isHTTPOnly }.map { ($0.name, $0.value) }  // guard: cookies-http-only-hidden
    }

    /// Forgets what goes to this address, or everything.
    package func clear(for url: WebURL?, now: Instant) {
        guard let url else { return removeAll() }
        let going = Set(cookies(for: url, now: now))
        removeAll { going.contains($0) }
    }
}
