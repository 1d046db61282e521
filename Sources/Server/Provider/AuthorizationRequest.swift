// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// Why an authorization request is not served.
enum AuthorizationFault: Error {
    /// Shown here, because client or redirect address are not to be trusted.
    case page(any KeyPath<PageText, String> & Sendable)
    /// Told to the client.
    case redirect(AuthorizationAnswer, error: String, description: String)
}

/// Where an answer goes and what it repeats.
struct AuthorizationAnswer: Sendable {
    let client: ProviderClient
    let redirectURI: String
    let state: String?

    /// The origin of the redirect address, for `form-action`; nil for custom schemes, which PV-4 leaves out.
    var origin: String? { (try? WebURL(redirectURI))?.origin.description }

    /// The redirect address with these members, `state` and the RFC 9207 issuer.
    func location(_ members: KeyValuePairs<String, String>, issuer: String) -> String {
        var fields = FormFields()
        for (name, value) in members { fields.append(name, value) }
        if let state { fields.append("state", state) }
        fields.append("iss", issuer)
        return redirectURI + (redirectURI.contains("?") ? "&" : "?") + fields.encoded
    }
}

/// A valid authorization request (OpenID Connect Core section 3.1.2.1, RFC 7636).
struct AuthorizationRequest: Sendable {
    let answer: AuthorizationAnswer
    let scope: String
    let nonce: String?
    let challenge: String?
    let prompts: Set<String>
    let maximumAge: Duration?
    let levels: [String]
    let loginHint: String?
    let idTokenHint: String?

    init(_ fields: FormFields, configuration: ProviderConfiguration) throws(AuthorizationFault) {
        func single(_ name: String) -> String? {
            let values = fields.values(name)
            return values.count == 1 && !values[0].isEmpty ? values[0] : nil
        }
        guard let client = single("client_id").flatMap({ configuration.client($0) }) else {
            throw .page(\.unknownClient)
        }
        guard let redirect = single("redirect_uri"), client.allows(redirect: redirect) else {
            throw .page(\.wrongRedirect)
        }
        let answer = AuthorizationAnswer(client: client, redirectURI: redirect, state: single("state"))
        func refused(_ error: String, _ description: String) -> AuthorizationFault {
            .redirect(answer, error: error, description: description)
        }
        let names = fields.pairs.map(\.name)
        guard Set(names).count == names.count else {
            throw refused("invalid_request", "A parameter stands twice.")
        }
        guard fields["request"] == nil else { throw refused("request_not_supported", "Send plain parameters.") }
        guard fields["request_uri"] == nil else { throw refused("request_uri_not_supported", "Send plain parameters.") }
        guard single("response_type") == "code" else {
            throw refused("unsupported_response_type", "The response_type must be code.")
        }
        guard fields["response_mode"] == nil || fields["response_mode"] == "query" else {
            throw refused("invalid_request", "The response_mode must be query.")
        }
        let scopes = (single("scope") ?? "").parts(at: " ").map(String.init)
        guard scopes.contains("openid") else { throw refused("invalid_scope", "The scope must hold openid.") }
        challenge = try Self.challenge(fields, isPublic: client.isPublic, refused)
        prompts = Set((single("prompt") ?? "").parts(at: " ").map(String.init))
        guard !prompts.contains("none") || prompts.count == 1 else {
            throw refused("invalid_request", "The prompt none stands alone.")
        }
        if let text = fields["max_age"] {
            guard let seconds = Int64(text), (0...Int64(Int32.max)).contains(seconds) else {
                throw refused("invalid_request", "The max_age must be a number of seconds.")
            }
            maximumAge = .seconds(seconds)
        } else {
            maximumAge = nil
        }
        let long = ["state", "nonce", "login_hint"].first { (fields[$0] ?? "").utf8.count > 2048 }
        guard long == nil else { throw refused("invalid_request", "A parameter is longer than 2048 bytes.") }
        self.answer = answer
        scope = scopes.filter { ["openid", "profile", "email"].contains($0) }.joined(separator: " ")
        nonce = single("nonce")
        levels = (single("acr_values") ?? "").parts(at: " ").map(String.init)
        loginHint = single("login_hint")
        idTokenHint = single("id_token_hint")
    }

    private static func challenge(
        _ fields: FormFields, isPublic: Bool, _ refused: (String, String) -> AuthorizationFault
    ) throws(AuthorizationFault) -> String? {
        guard let challenge = fields["code_challenge"] else {
            guard !isPublic else {  // guard: provider-public-pkce
                throw refused("invalid_request", "A public client must send a code_challenge.")
            }
            guard fields["code_challenge_method"] == nil else {
                throw refused("invalid_request", "There is a code_challenge_method but no code_challenge.")
            }
            return nil
        }
        guard fields["code_challenge_method"] == "S256" else {  // guard: provider-pkce-method
            throw refused("invalid_request", "The code_challenge_method must be S256.")
        }
        guard challenge.utf8.count == 43, Base64URL.decode(challenge) != nil else {
            throw refused("invalid_request", "The code_challenge must be 43 base64url characters.")
        }
        return challenge
    }
}
