// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreHTTP

/// Where the API's session calls are. The paths are those of the source systems.
package struct SessionEndpoints: Sendable {
    package let origin: Origin

    package init(origin: Origin) { self.origin = origin }

    static let exchangePath = "/api/v1.0/mobile/auth/exchange/"

    private static let anonymousPaths: Set<String> = [exchangePath, "/api/token/obtain/", "/api/token/refresh/"]

    var profile: WebURL { url("/api/v1.0/users/me/") }
    var exchange: WebURL { url(Self.exchangePath) }
    var revocation: WebURL { url("/api/v1.0/mobile/auth/logout/") }

    /// The address the browser opens for a sign-in (HO-1); `prompt` where the person is to be asked who they are.
    func authenticate(scheme: String, challenge: String, flow: String, prompt: String? = nil) -> WebURL {
        var query: FormFields = [
            "mobile_scheme": scheme, "code_challenge": challenge, "code_challenge_method": "S256", "flow": flow,
        ]
        if let prompt { query.append("prompt", prompt) }
        return url("/api/v1.0/authenticate/?" + query.encoded)
    }

    /// The address the browser opens for a sign-out (HO-7); `handoff` says which of the sessions that it has handed over.
    func logout(scheme: String, flow: String, handoff: String?) -> WebURL {
        var query: FormFields = ["mobile_scheme": scheme, "flow": flow]
        if let handoff { query.append("handoff", handoff) }
        return url("/api/v1.0/logout/?" + query.encoded)
    }

    /// Whether a call answers for itself and carries no session (SE-4): its 401 is an answer, not an expiry.
    func isAnonymous(_ path: String) -> Bool { Self.anonymousPaths.contains(path) }

    private func url(_ target: String) -> WebURL { WebURL(origin: origin, target: target) }
}
