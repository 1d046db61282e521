// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// `POST /api/v1.0/mobile/auth/exchange/` (HO-6): the one-time token against the session.
package struct ExchangeRequest: WireMessage, Equatable {
    /// The token of the hand-off link.
    package let token: String
    /// The PKCE verifier whose S256 challenge began the sign-in.
    package let codeVerifier: String

    package init(token: String, codeVerifier: String) {
        self.token = token
        self.codeVerifier = codeVerifier
    }

    package init(json: JSONValue) throws(NacreError) {
        token = try json.requiredText("token")
        codeVerifier = try json.requiredText("code_verifier")
    }

    package var json: JSONValue { ["token": .string(token), "code_verifier": .string(codeVerifier)] }
}

/// The answer to it, beside `Set-Cookie: sessionid=…`.
package struct ExchangeResponse: WireMessage, Equatable {
    /// What the app returns as `X-CSRFToken` on unsafe methods (NB-3).
    package let csrfToken: String

    package init(csrfToken: String) { self.csrfToken = csrfToken }

    package init(json: JSONValue) throws(NacreError) { csrfToken = try json.requiredText("csrf_token") }

    package var json: JSONValue { ["csrf_token": .string(csrfToken)] }
}
