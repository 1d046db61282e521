// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreJOSE

/// What a provider says of itself (OpenID Connect Discovery section 3), as far as the gateway needs it.
struct ProviderMetadata: Sendable {
    let authorizationEndpoint: WebURL
    let tokenEndpoint: WebURL
    let keysURL: WebURL
    let userInfoEndpoint: WebURL?
    let endSessionEndpoint: WebURL?
    let supportsPKCE: Bool
    let sendsIssuer: Bool
    let authenticationMethods: [String]?
    /// The values of `prompt` that it knows; nil where it does not say.
    let prompts: [String]?

    /// Reads the document of `issuer`.
    ///
    /// - Throws: `oidc.issuer_mismatch` when it is another issuer's, `oidc.discovery` when a needed member is missing.
    init(_ value: JSONValue, issuer: String) throws(NacreError) {
        let stated = value["issuer"]?.string ?? ""
        guard areIdentical(stated, issuer) else {  // guard: discovery-issuer
            throw NacreError(
                "oidc.issuer_mismatch",
                "The identity provider calls itself \"\(Redaction.url(String(stated.prefix(200))))\", not \"\(issuer)\"; "
                    + "write the issuer exactly as it does, also with or without a final slash.")
        }
        let base = try WebURL(issuer)
        func optional(_ name: String) throws(NacreError) -> WebURL? {
            guard let text = value[name]?.string else { return nil }
            let url: WebURL
            do { url = try WebURL(text) } catch {
                throw NacreError("oidc.discovery", "The identity provider's \(name) is no URL.", cause: error)
            }
            // A provider on TLS must not send secrets or people over plain text.
            guard url.origin.scheme == "https" || base.origin.scheme == "http" else {
                throw NacreError("oidc.discovery", "The identity provider's \(name) is not https.")
            }
            return url
        }
        func required(_ name: String) throws(NacreError) -> WebURL {
            guard let url = try optional(name) else {
                throw NacreError("oidc.discovery", "The identity provider's discovery document has no \(name).")
            }
            return url
        }
        authorizationEndpoint = try required("authorization_endpoint")
        tokenEndpoint = try required("token_endpoint")
        keysURL = try required("jwks_uri")
        userInfoEndpoint = try optional("userinfo_endpoint")
        endSessionEndpoint = try optional("end_session_endpoint")
        let methods = value["code_challenge_methods_supported"]?.array?.compactMap(\.string) ?? []
        supportsPKCE = methods.contains("S256")
        sendsIssuer = value["authorization_response_iss_parameter_supported"]?.bool ?? false
        authenticationMethods = value["token_endpoint_auth_methods_supported"]?.array?.compactMap(\.string)
        prompts = value["prompt_values_supported"]?.array?.compactMap(\.string)
    }

    /// The value of `prompt` for this wish, beside what the configuration asks for anyway. A provider that has no choice of
    /// an account asks for the password again, which lets another person in as well.
    func prompt(_ wish: String, beside configured: String?) -> String {
        let isKnown = prompts.map { $0.contains(wish) || !$0.contains("login") } ?? true
        let others = (configured ?? "").split(separator: " ").map(String.init).filter { $0 != wish && $0 != "none" }
        return ([isKnown ? wish : "login"] + others.filter { isKnown || $0 != "login" }).joined(separator: " ")
    }
}
