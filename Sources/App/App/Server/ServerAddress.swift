// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// From what a person types to a server's origin.
enum ServerAddress {
    /// The origin in a typed address. `https://` may be left out, and what follows the host is: people paste what their
    /// browser shows.
    ///
    /// - Parameters:
    ///   - page: `app.origin`, which is nobody else's.
    ///   - isDevelopment: whether cleartext is allowed (NB-8).
    /// - Throws: `server.address`, `server.cleartext`.
    static func origin(of typed: String, page: Origin, isDevelopment: Bool) throws(NacreError) -> Origin {
        let text = typed.trimmingWhitespace()
        let whole = text.contains("://") ? text : "https://" + text
        guard let origin = try? WebURL(whole).origin else {
            throw NacreError(
                "server.address", "This is no server's address; it looks like https://server.example.org.")
        }
        guard origin.scheme == "https" || isDevelopment else {  // guard: server-cleartext
            throw NacreError(
                "server.cleartext", "Anybody on the way could read along with an http address; use one with https.")
        }
        guard origin.authority != page.authority else {
            throw NacreError("server.address", "\(page) is the app itself; type the address of its server.")
        }
        return origin
    }
}

extension String {
    fileprivate func trimmingWhitespace() -> String {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else { return "" }
        return String(self[first...last])
    }
}
