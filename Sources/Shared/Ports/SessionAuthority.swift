// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreHTTP

/// The one owner of the session on the device: what the page channel and the offline engine ask.
package protocol SessionAuthority: Sendable {
    /// The request with this session's cookies, CSRF token and Origin attached (NB-3), and the generation it belongs to.
    /// Waits while the secret store is locked.
    func authorize(_ request: HTTPRequest) async throws -> AuthorizedRequest
    /// Looks at the answer: keeps cookies, and on 401 to the current generation ends or renews the session once (SE-4).
    func observe(_ response: HTTPResponse, to request: AuthorizedRequest) async
}

/// A request with the session attached, and which session that was.
package struct AuthorizedRequest: Sendable {
    /// The request to send.
    package var request: HTTPRequest
    /// The session generation its credentials came from; an answer to an older one leaves a newer session alone.
    package let generation: UInt64

    package init(request: HTTPRequest, generation: UInt64) {
        self.request = request
        self.generation = generation
    }
}
