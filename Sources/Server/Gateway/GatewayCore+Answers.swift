// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase
import NacreHTTP
import NacreRouting
import NacreSessions
import NacreWire

extension GatewayCore {
    /// `GET /api/v1.0/csrf/`: what a web page sends as `X-CSRFToken`.
    func csrf(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        try await withSession(request) { session in
            .json(ExchangeResponse(csrfToken: CSRFToken.make(secret: session.csrfSecret, random: parts.random)).json)
        }
    }

    /// `GET /api/v1.0/config/`: for everybody.
    func config() -> HTTPResponse {
        .json(
            ConfigResponse(
                environment: configuration.environment, version: configuration.version,
                updateManifest: configuration.updateManifest, freshness: configuration.freshness()
            ).json)
    }

    /// `GET /api/v1.0/users/me/`: who is signed in (SE-3).
    func me(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        try await withSession(request) { session in
            let profile = session.profile
            let parts = ["given_name", "family_name"].compactMap { profile[$0]?.string }
            let joined = parts.isEmpty ? nil : parts.joined(separator: " ")
            return .json(
                UserProfile(
                    id: session.userID, email: profile["email"]?.string, fullName: profile["name"]?.string ?? joined,
                    language: profile["locale"]?.string
                ).json)
        }
    }

    func withSession(
        _ request: HTTPRequest, _ body: (Session) async throws -> HTTPResponse
    ) async throws -> HTTPResponse {
        let sender = try await gate.sender(of: request)
        guard case .session(let session, let cookie) = sender else { return gate.refusal(sender) }
        guard gate.isMeant(request, by: session) else { return SessionGate.csrfRefusal }  // guard: session-csrf
        var response = try await body(session)
        response.fields["Vary"] = gate.tokens == nil ? "Cookie" : "Cookie, Authorization"
        if let cookie { response.fields.append("Set-Cookie", cookie) }
        let token = gate.csrf.cookieField(for: request, session, secure: gate.cookie.secure, random: parts.random)
        if let token { response.fields.append("Set-Cookie", token) }
        return response
    }

    /// `GET /readyz`: whether requests should be sent here.
    func ready() async -> HTTPResponse {
        guard parts.isAccepting() else {
            return .failure(.serviceUnavailable, code: "stopping", message: "The server is stopping.")
        }
        do {
            _ = try await parts.database.read { sql in try sql.query("SELECT 1 AS one") }
            return .json(["status": "ready"])
        } catch {
            parts.log.error("ready.database", ["error": .string("\(error)")])
            return .failure(.serviceUnavailable, code: "database", message: "The database does not answer.")
        }
    }

    /// `GET /.well-known/jwks.json`: the keys under the identity tokens.
    func keys() async -> HTTPResponse {
        HTTPResponse(
            fields: ["Content-Type": "application/jwk-set+json", "Cache-Control": "public, max-age=300"],
            body: .bytes(await identityKeys.published()))
    }
}
