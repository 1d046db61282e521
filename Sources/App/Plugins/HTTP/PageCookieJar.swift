// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP
package import NacrePorts

/// The cookies of the native requests: the API's are the session's, those of other hosts stay in memory.
package final class PageCookieJar: Sendable {
    private let api: Origin
    private let session: any CookieHolder
    private let others = CookieJar()
    private let time: any TimeSource

    package init(api: Origin, session: any CookieHolder, time: any TimeSource) {
        self.api = api
        self.session = session
        self.time = time
    }

    func isAPI(_ url: WebURL) -> Bool { url.origin == api }

    /// For a request to another host than the API's.
    func header(for url: WebURL) -> String? { others.header(for: url, now: time.now) }
    func keep(_ fields: HTTPFields, from url: WebURL) { others.store(fields, from: url, now: time.now) }

    func visible(for url: WebURL) async -> [(name: String, value: String)] {
        isAPI(url) ? await session.visibleCookies(for: url) : others.visible(for: url, now: time.now)
    }

    func set(_ text: String, name: String, from url: WebURL) async -> Bool {
        isAPI(url)
            ? await session.setCookie(text, name: name, from: url)
            : others.setFromScript(text, name: name, from: url, now: time.now)
    }

    func clear(for url: WebURL?) async {
        if url.map(isAPI) ?? true { await session.clearCookies(for: url) }
        if url.map({ !isAPI($0) }) ?? true { others.clear(for: url, now: time.now) }
    }
}
