// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreLimits
import NacreRouting
import NacreSessions

/// Tokens for bundles and clients that keep their own (JW-1). Off unless the configuration names a presentation; then the
/// addresses are ours, before that they are the upstream's.
extension GatewayCore {
    private static let maximumBody = 16 * 1024

    func addTokens(_ routes: inout Router.Builder) {
        let policy = configuration.tokens
        guard !policy.presentations.isEmpty else { return }
        routes.post("/api/token/blacklist/") { try await revokeToken($0, $1) }
        if policy.presentations.contains(.pair) {
            routes.post("/api/token/refresh/") { try await refreshToken($0, $1) }
            if let method = parts.credentials {
                routes.post("/api/token/obtain/") { try await obtain($0, $1, method) }
            }
        }
        if policy.fromCookie {
            routes.post("/api/v1.0/sessions/tokens/") { request, _ in try await derive(request) }
        }
    }

    /// The presentation a client asks for; nil when there is none of that name here.
    func presentation(_ name: String?) -> SessionPresentation? {
        guard let name else { return .cookie }
        guard let presentation = SessionPresentation(rawValue: name),
            presentation == .cookie || configuration.tokens.presentations.contains(presentation)
        else { return nil }
        return presentation
    }

    static let unknownPresentation = HTTPResponse.failure(
        .badRequest, code: "presentation.unknown", message: "This server does not give sessions in that presentation.")

    /// Exactly `{access, refresh}` for a pair (JW-1); RFC 6750's members for one bearer token.
    static func answer(_ issued: IssuedTokens) -> HTTPResponse {
        guard let refresh = issued.refresh else {
            return .json([
                "access": .string(issued.access), "token_type": "Bearer", "expires_in": .integer(issued.lifetime),
            ])
        }
        return .json(["access": .string(issued.access), "refresh": .string(refresh)])
    }

    /// `detail` is where clients of the source system look.
    private static var notValid: HTTPResponse {
        .json(
            [
                "code": "token_not_valid", "detail": "Token is invalid or expired",
                "message": "This token is not valid or has expired; sign in again.",
            ], status: .unauthorized)
    }

    /// The texts under these names, or nil: a JSON object of a sane size in which all of them are strings. Those of
    /// `optional` may be absent or null.
    private func texts(_ names: [String], optional: [String] = [], _ request: HTTPRequest) async throws -> [String:
        String]?
    {
        let type = request.fields.mediaType
        guard type == "application/json" else { return nil }
        let body = try await request.body.collect(upTo: Self.maximumBody)
        guard let object = (try? JSONParser.parse(body))?.object else { return nil }
        var texts: [String: String] = [:]
        for name in names {
            guard let text = object[name]?.string else { return nil }
            texts[name] = text
        }
        for name in optional {
            guard let value = object[name], !value.isNull else { continue }
            guard let text = value.string else { return nil }
            texts[name] = text
        }
        return texts
    }

    private static func malformed(_ names: String) -> HTTPResponse {
        .failure(
            .badRequest, code: "token.malformed", message: "This takes a JSON object with \(names), each a string.")
    }

    private func tooManyTokens(_ context: RequestContext) async throws -> HTTPResponse? {
        let wait = try await limiter.take([limits.tokens.of(network(context))])
        return wait.map(Self.tooMany)  // guard: token-rate
    }

    /// `POST /api/token/refresh/ {refresh}` (JW-1): a new pair, once; a second use of the old one ends the session.
    private func refreshToken(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        if let refusal = try await tooManyTokens(context) { return refusal }
        guard let texts = try await texts(["refresh"], request) else { return Self.malformed("refresh") }
        do {
            guard let issued = try await sessionTokens.refresh(texts["refresh"] ?? "") else {
                parts.log.notice("token.refused", ["client": .string(context.clientAddress)])
                return Self.notValid
            }
            return Self.answer(issued)
        } catch let error as NacreError where error.code == "session.refresh_unknown" {
            parts.log.error("token.refresh_unknown", ["error": .string(error.description)])
            // No Retry-After: the same token again may be its second use, which ends the session.
            return .failure(
                .serviceUnavailable, code: "refresh_unknown",
                message: "It is not known whether this refresh token was used up; sign in again if it is refused.")
        }
    }

    /// `POST /api/token/blacklist/ {refresh}` (JW-1): ends the session, whatever of it is presented. Harmless when repeated.
    private func revokeToken(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        if let refusal = try await tooManyTokens(context) { return refusal }
        guard let texts = try await texts(["refresh"], request) else { return Self.malformed("refresh") }
        guard try await sessionTokens.revoke(texts["refresh"] ?? "") else { return Self.notValid }
        return .json([:])
    }

    /// `POST /api/v1.0/sessions/tokens/ {presentation?, device?}`: tokens for a page that is signed in by cookie. They end
    /// with its session.
    private func derive(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await withSession(request) { session in
            guard session.presentation == .cookie else {  // guard: token-from-token
                return .failure(
                    .forbidden, code: "token.from_token", message: "Tokens are given to a session with a cookie only.")
            }
            if let wait = try await limiter.take([limits.tokens.of("session " + session.id)]) {  // guard: derive-rate
                return Self.tooMany(wait)
            }
            guard let texts = try await texts([], optional: ["presentation", "device"], request) else {
                return Self.malformed("presentation and device")
            }
            guard let presentation = presentation(texts["presentation"] ?? "pair"), presentation != .cookie else {
                return Self.unknownPresentation
            }
            let issued = try await sessionTokens.issue(
                presentation, from: .session(session), device: texts["device"])
            guard let issued else { return gate.refusal(.nobody(presented: false)) }
            parts.log.info("token.derived", ["session": .string(session.id), "for": .string(issued.session.id)])
            return Self.answer(issued)
        }
    }

    /// `POST /api/token/obtain/ {email, password}` (JW-1).
    private func obtain(
        _ request: HTTPRequest, _ context: RequestContext, _ method: any CredentialMethod
    ) async throws -> HTTPResponse {
        guard let texts = try await texts(["email", "password"], optional: ["device"], request),
            let email = texts["email"],
            let password = texts["password"]
        else { return Self.malformed("email and password") }
        let keys = [
            limits.guessesByNetwork.of(network(context)), limits.guessesByAccount.of(email.lowercased()),
        ]
        // Taken before the password is looked at, so that many guesses at once do not slip through.
        if let wait = try await limiter.take(keys, outage: .refuse) {  // guard: obtain-rate
            return Self.tooMany(wait)
        }
        guard let person = try await method.authenticate(email: email, password: password),
            let issued = try await sessionTokens.issue(
                .pair, from: .person(person), device: Self.device(request, named: texts["device"]))
        else {
            parts.log.notice("token.wrong_password", ["client": .string(context.clientAddress)])
            return .json(
                [
                    "code": "credentials.wrong", "detail": "No active account found with the given credentials",
                    "message": "There is no account with this address and password.",
                ], status: .unauthorized)
        }
        try await limiter.giveBack(keys)
        return Self.answer(issued)
    }
}
