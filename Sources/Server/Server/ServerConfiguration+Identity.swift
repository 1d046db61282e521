// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreGateway
import NacreHTTP

/// The settings about who signs people in: a provider elsewhere, or the embedded one.
extension ServerConfiguration {
    mutating func readOpenID(
        _ reader: inout ConfigurationReader, _ file: String, _ environment: EnvironmentReader,
        _ readFile: (String) throws -> String
    ) throws(NacreError) {
        var object = try reader.object("oidc")
        let issuer = try object?.string("issuer")
        openID.issuer = environment.text("OIDC_OP_URL") ?? issuer
        let clientID = try object?.string("clientID")
        openID.clientID = environment.text("OIDC_RP_CLIENT_ID") ?? clientID
        let secret = try object?.string("clientSecret")
        let secretFile = try object?.string("clientSecretFile").map { Self.path($0, besides: file) }
        openID.clientSecret = environment.text("OIDC_RP_CLIENT_SECRET") ?? secret
        if let path = environment.text("OIDC_RP_CLIENT_SECRET_FILE") ?? secretFile, openID.clientSecret == nil {
            do { openID.clientSecret = try readFile(path).trimmingNewlines() } catch {
                throw NacreError(
                    "configuration.value",
                    "The client secret's file \(path) cannot be read; check OIDC_RP_CLIENT_SECRET_FILE.",
                    cause: error)
            }
        }
        guard openID.clientSecret != "" else {
            throw reader.fault("oidc.clientSecret", "is empty; leave it out instead.")
        }
        let authentication = try object?.string("clientAuthentication")
        openID.clientAuthentication = authentication ?? openID.clientAuthentication
        guard OIDCConfiguration.ClientAuthentication(rawValue: openID.clientAuthentication) != nil else {
            throw reader.fault("oidc.clientAuthentication", "must be basic, post or discovered.")
        }
        let scopes = try object?.strings("scopes")
        openID.scopes =
            environment.text("OIDC_RP_SCOPES")?.split(separator: " ").map(String.init) ?? scopes ?? openID.scopes
        if !openID.scopes.contains("openid") { openID.scopes.insert("openid", at: 0) }
        let algorithm = try object?.string("signAlgorithm")
        openID.signAlgorithm = environment.text("OIDC_RP_SIGN_ALGO") ?? algorithm
        if let algorithm = openID.signAlgorithm, !["RS256", "ES256", "EdDSA", "HS256"].contains(algorithm) {
            throw reader.fault("oidc.signAlgorithm", "(OIDC_RP_SIGN_ALGO) must be RS256, ES256, EdDSA or HS256.")
        }
        guard openID.signAlgorithm != "HS256" || (openID.clientSecret?.utf8.count ?? 0) >= 32 else {
            throw reader.fault("oidc.signAlgorithm", "HS256 needs a client secret of at least 32 characters.")
        }
        try readParameters(&object, reader, environment)
        openID.essentialLevels = try object?.strings("essentialLevels") ?? []
        openID.untypedLogoutTokens = try object?.bool("untypedLogoutTokens") ?? openID.untypedLogoutTokens
        try object?.finish()
    }

    private mutating func readParameters(
        _ object: inout ConfigurationReader?, _ reader: ConfigurationReader, _ environment: EnvironmentReader
    ) throws(NacreError) {
        var parameters: [String: String] = [:]
        for (name, value) in object?.value("extraParameters")?.object ?? [:] {
            guard let text = value.string else { throw reader.fault("oidc.extraParameters", "must hold strings only.") }
            parameters[name] = text
        }
        parameters = try environment.object("OIDC_AUTH_REQUEST_EXTRA_PARAMS") ?? parameters
        for name in parameters.keys.sorted() where OIDCConfiguration.reservedParameters.contains(name) {
            throw reader.fault(
                "oidc.extraParameters", "(OIDC_AUTH_REQUEST_EXTRA_PARAMS) must not set \(name); the gateway does.")
        }
        openID.extraParameters = parameters
    }

    func checkOpenID(_ reader: ConfigurationReader) throws(NacreError) {
        guard let issuer = openID.issuer else {
            throw reader.fault(
                "oidc.issuer",
                "(OIDC_OP_URL) is missing; write the identity provider's issuer, such as "
                    + "\"https://auth.example.org\", or set provider.enabled.")
        }
        let url: WebURL
        do { url = try WebURL(issuer) } catch {
            throw reader.fault("oidc.issuer", "(OIDC_OP_URL) is wrong: \(error.message)")
        }
        guard url.origin.scheme == "https" || url.origin.isLoopback else {
            throw reader.fault("oidc.issuer", "(OIDC_OP_URL) must be https, because people and secrets go there.")
        }
        guard openID.clientID?.isEmpty == false else {
            throw reader.fault(
                "oidc.clientID", "(OIDC_RP_CLIENT_ID) is missing; write the identifier the provider gave.")
        }
    }
}

extension String {
    func trimmingNewlines() -> String {
        var text = self[...]
        while let last = text.last, last.isNewline || last == " " { text.removeLast() }
        return String(text)
    }
}
