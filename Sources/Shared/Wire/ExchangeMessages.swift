// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// `POST /api/v1.0/mobile/auth/exchange/` (HO-6): the one-time token against the session.
package struct ExchangeRequest: WireMessage, Equatable {
    /// The token of the hand-off link.
    package let token: String
    /// The PKCE verifier whose S256 challenge began the sign-in.
    package let codeVerifier: String
    /// What the person calls the device; shown in the list of sessions.
    package let device: String?
    /// `cookie` (what is meant without it), `bearer` or `pair`.
    package let presentation: String?

    package init(token: String, codeVerifier: String, device: String? = nil, presentation: String? = nil) {
        self.token = token
        self.codeVerifier = codeVerifier
        self.device = device
        self.presentation = presentation
    }

    package init(json: JSONValue) throws(NacreError) {
        token = try json.requiredText("token")
        codeVerifier = try json.requiredText("code_verifier")
        device = try json.optionalText("device")
        presentation = try json.optionalText("presentation")
    }

    package var json: JSONValue {
        var members: [String: JSONValue] = ["token": .string(token), "code_verifier": .string(codeVerifier)]
        members["device"] = device.map(JSONValue.string)
        members["presentation"] = presentation.map(JSONValue.string)
        return .object(members)
    }
}

/// The answer to it, beside `Set-Cookie: sessionid=…`.
package struct ExchangeResponse: WireMessage, Equatable {
    /// What the app returns as `X-CSRFToken` on unsafe methods (NB-3).
    package let csrfToken: String

    package init(csrfToken: String) { self.csrfToken = csrfToken }

    package init(json: JSONValue) throws(NacreError) { csrfToken = try json.requiredText("csrf_token") }

    package var json: JSONValue { ["csrf_token": .string(csrfToken)] }
}
